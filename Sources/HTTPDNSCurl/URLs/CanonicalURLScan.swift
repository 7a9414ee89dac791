// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The positions of a URL's parts, for a text that is already canonical and as plain as nearly all URLs of programs.
///
/// libcurl's parser takes about 300 ns and eight allocations to return such a text unchanged. The definition of plain is
/// narrow, so that no parser can read it in another way: `http://` or `https://` in lower case; a name of letters, digits,
/// hyphens and underscores whose last label begins with a letter (so that no program reads an address in it); a port without
/// leading zeros that is not the scheme's own; and a path of at least a slash, with an optional query, in which every byte is
/// allowed in a URL (RFC 3986 section 3.3 and 3.4).
///
/// For everything else the scan returns `nil`, and libcurl parses the text: user information, fragments, capitals, addresses,
/// trailing dots, bytes outside ASCII, and all errors. libcurl gets the same text in the end, and connects to the host that it
/// finds in it.
struct CanonicalURLScan {
    let scheme: ParsedURL.Scheme
    let host: Range<Int>
    /// Whether the host is also a name by the lengths of the DNS (RFC 1035): no label has more than 63 bytes, and all together
    /// have at most 253.
    let hasHostName: Bool
    let port: UInt16
    /// The start of the path, which ends with the text unless a query follows it.
    let targetStart: Int

    /// The maximum length. libcurl accepts or refuses a longer text; it refuses 8 MB.
    private static let maximumBytes = 65_536

    init?(_ bytes: UnsafeBufferPointer<UInt8>) {
        let count = bytes.count
        guard count > 8, count <= Self.maximumBytes, Self.begins(bytes, with: "http") else { return nil }
        let isSecure = bytes[4] == UInt8(ascii: "s")
        var place = isSecure ? 5 : 4
        guard bytes[place] == UInt8(ascii: ":"), bytes[place + 1] == UInt8(ascii: "/"),
            bytes[place + 2] == UInt8(ascii: "/")
        else { return nil }
        place += 3
        scheme = isSecure ? .https : .http

        let hostStart = place
        var labelStart = place
        var hasHostName = true
        while true {
            while place < count, bytes[place].isPlainInHost { place += 1 }
            guard place > labelStart, place < count else { return nil }
            if place - labelStart > 63 { hasHostName = false }
            guard bytes[place] == UInt8(ascii: ".") else { break }
            place += 1
            labelStart = place
        }
        guard UInt8(ascii: "a")...UInt8(ascii: "z") ~= bytes[labelStart] else { return nil }
        host = hostStart..<place
        self.hasHostName = hasHostName && place - hostStart <= 253

        if bytes[place] == UInt8(ascii: ":") {
            place += 1
            guard let port = Self.port(bytes, &place), port != scheme.defaultPort else { return nil }
            self.port = port
        } else {
            port = scheme.defaultPort
        }

        guard place < count, bytes[place] == UInt8(ascii: "/") else { return nil }
        targetStart = place
        while place < count, bytes[place].isPlainInTarget { place += 1 }
        // The versions of libcurl differ (libcurl quirk "Empty queries are dropped").
        guard place == count, bytes[count - 1] != UInt8(ascii: "?") else { return nil }
    }

    private static func begins(_ bytes: UnsafeBufferPointer<UInt8>, with word: StaticString) -> Bool {
        for place in 0..<word.utf8CodeUnitCount where bytes[place] != word.utf8Start[place] { return false }
        return true
    }

    /// Returns the port at a position, and moves the position behind it; `nil` unless the digits are a port in its only short
    /// spelling.
    private static func port(_ bytes: UnsafeBufferPointer<UInt8>, _ place: inout Int) -> UInt16? {
        let start = place
        var value = 0
        while place < bytes.count, UInt8(ascii: "0")...UInt8(ascii: "9") ~= bytes[place] {
            guard place - start < 5 else { return nil }
            value = value * 10 + Int(bytes[place] - UInt8(ascii: "0"))
            place += 1
        }
        guard place > start, bytes[start] != UInt8(ascii: "0") else { return nil }
        return UInt16(exactly: value)
    }
}

// Differences instead of ranges, which cost several times as much in these loops: values below the first one wrap around.
extension UInt8 {
    @inline(__always)
    private func isWithin(_ count: UInt8, from first: Unicode.Scalar) -> Bool { self &- UInt8(ascii: first) < count }

    /// Whether the byte may be in a label of a canonical name.
    @inline(__always)
    fileprivate var isPlainInHost: Bool {
        isWithin(26, from: "a") || isWithin(10, from: "0") || self == UInt8(ascii: "-") || self == UInt8(ascii: "_")
    }

    /// RFC 3986 section 3.3 and 3.4: pchar, slash and question mark. The second row is `?@A...Z`, the third `$%&'()*+,-./0...9:;`.
    @inline(__always)
    fileprivate var isPlainInTarget: Bool {
        isWithin(26, from: "a") || isWithin(28, from: "?") || isWithin(24, from: "$") || self == UInt8(ascii: "=")
            || self == UInt8(ascii: "_") || self == UInt8(ascii: "!") || self == UInt8(ascii: "~")
    }
}
