// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The result of one pass over the bytes of a text: a canonical name, the required changes, or the mistake.
enum HostNameScan {
    /// The text is a canonical name.
    case canonical
    /// The text is a name after conversion to lower case and, if `dropsDot`, without its last byte.
    case normalizable(dropsDot: Bool)
    /// The text has letters outside ASCII, and no forbidden characters.
    case international
    /// The text is not a name.
    case fault(String)

    /// RFC 1035 section 2.3.4: 255 bytes on the wire, which is 253 in text.
    static let maximumNameBytes = 253
    /// RFC 1035 section 2.3.4.
    static let maximumLabelBytes = 63
    /// 253 letters of 4 bytes: no longer text can become a name, regardless of the mapping.
    static let maximumInternationalBytes = 4 * maximumNameBytes

    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self = HostNameScan.isPlain(bytes) ? .canonical : HostNameScan(whole: bytes)
    }

    /// Returns whether the text is canonical, and its last label begins with no digit. Nearly all names are, and every request
    /// checks it.
    static func isPlain(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        guard bytes.count <= maximumNameBytes else { return false }
        var start = 0
        var place = 0
        while true {
            while place < bytes.count, bytes[place].isPlainInLabel { place += 1 }
            guard 1...maximumLabelBytes ~= place - start else { return false }
            guard place < bytes.count else { return !bytes[start].isDecimalDigit }
            guard bytes[place] == UInt8(ascii: ".") else { return false }
            place += 1
            start = place
        }
    }

    init(whole bytes: UnsafeBufferPointer<UInt8>) {
        var end = bytes.count
        let dropsDot = end > 1 && bytes[end - 1] == UInt8(ascii: ".")
        if dropsDot { end -= 1 }
        let isRoot = bytes.count == 1 && bytes[0] == UInt8(ascii: ".")
        guard end > 0, !isRoot else {
            self = .fault(bytes.isEmpty ? "it is empty" : "it is the root; a name has at least one label")
            return
        }

        var label = LabelScan()
        var hasUpperCase = false
        var isInternational = false
        for index in 0..<end {
            let byte = bytes[index]
            if byte == UInt8(ascii: ".") {
                if let fault = label.fault(isInternational: isInternational) {
                    self = .fault(fault)
                    return
                }
                label = LabelScan()
                continue
            }
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "-"), UInt8(ascii: "_"):
                break
            case UInt8(ascii: "A")...UInt8(ascii: "Z"):
                hasUpperCase = true
            case 0x80...:
                isInternational = true
            default:
                self = .fault(HostNameScan.forbidden(byte, in: bytes))
                return
            }
            label.append(byte)
        }
        if let fault = label.fault(isInternational: isInternational) {
            self = .fault(fault)
        } else if isInternational {
            self =
                bytes.count <= HostNameScan.maximumInternationalBytes
                ? .international : .fault("it has \(bytes.count) bytes, and a name has 253 at most")
        } else if end > HostNameScan.maximumNameBytes {
            self = .fault("it has \(end) bytes, and a name has 253 at most")
        } else if label.looksLikeNumber {
            self = .fault(
                "its last label is a number, so programs would read it as an address; "
                    + "an IPv4 address has four decimal parts without leading zeros, such as 203.0.113.7"
            )
        } else {
            self = hasUpperCase || dropsDot ? .normalizable(dropsDot: dropsDot) : .canonical
        }
    }

    private static func forbidden(_ byte: UInt8, in bytes: UnsafeBufferPointer<UInt8>) -> String {
        let allowed = "allowed are letters, digits, \"-\", \"_\" and dots between labels"
        switch byte {
        case UInt8(ascii: ":"):
            let colons = bytes.count { $0 == byte }
            return colons == 1
                ? "it has a colon; a port is given apart from the name"
                : "it has colons; an IPv6 address is not a name, and stands in brackets in a URL"
        case UInt8(ascii: "/"):
            return "it has a \"/\"; give the name alone, not a URL"
        case UInt8(ascii: "@"):
            return "it has an \"@\"; give the name alone, without a user"
        case UInt8(ascii: "*"):
            return
                "it has a \"*\"; only patterns of routes and mappings have one, as a whole first label: *.shop.example"
        case UInt8(ascii: "%"):
            return "it has a \"%\"; percent-encoding is not decoded in names, and \(allowed)"
        case UInt8(ascii: " "):
            return "it has a space; \(allowed)"
        case 0..<0x20, 0x7f:
            return "it has the control character \(Unicode.Scalar(byte).displayText); \(allowed)"
        default:
            return "it has the character \(Unicode.Scalar(byte).displayText); \(allowed)"
        }
    }
}

/// The state of one label during the scan.
private struct LabelScan {
    private var count = 0
    private var first: UInt8 = 0
    private var second: UInt8 = 0
    private var isDecimal = true
    private var isHexadecimalAfterPrefix = true

    mutating func append(_ byte: UInt8) {
        switch count {
        case 0: first = byte
        case 1: second = byte
        default: isHexadecimalAfterPrefix = isHexadecimalAfterPrefix && byte.isHexadecimalDigit
        }
        isDecimal = isDecimal && byte.isDecimalDigit
        count += 1
    }

    /// Whether address parsers would read the label as a number: decimal, or `0x` with or without hexadecimal digits (WHATWG
    /// URL, "ends in a number").
    var looksLikeNumber: Bool {
        isDecimal || (first == UInt8(ascii: "0") && second | 0x20 == UInt8(ascii: "x") && isHexadecimalAfterPrefix)
    }

    /// Returns the mistake in the label at its end. A label outside ASCII is measured after its mapping.
    func fault(isInternational: Bool) -> String? {
        if count == 0 { return "it has an empty label; one trailing dot is allowed, two dots in a row are not" }
        if isInternational { return nil }
        if count > HostNameScan.maximumLabelBytes {
            return "it has a label of \(count) bytes, and a label has 63 at most"
        }
        return nil
    }
}

extension UInt8 {
    /// Differences instead of ranges, which cost several times as much in a loop: values below the first of a range wrap
    /// around.
    @inline(__always)
    fileprivate var isPlainInLabel: Bool {
        self &- UInt8(ascii: "a") < 26 || self &- UInt8(ascii: "0") < 10 || self == UInt8(ascii: "-")
            || self == UInt8(ascii: "_")
    }

    fileprivate var isDecimalDigit: Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= self }

    fileprivate var isHexadecimalDigit: Bool { isDecimalDigit || UInt8(ascii: "a")...UInt8(ascii: "f") ~= self | 0x20 }
}
