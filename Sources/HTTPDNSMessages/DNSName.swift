// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// A domain name as in messages: length-prefixed labels with the root's zero at the end, letters in lower case.
///
/// A label may contain any octet (RFC 2181 section 11). Names are therefore compared in this form and never as text. A dot or a
/// NUL inside a label cannot be confused with a separator or an end.
package struct DNSName: Hashable, Sendable, CustomStringConvertible {
    /// The maximum number of octets in a name, length octets and root included (RFC 1035 section 2.3.4).
    package static let maximumOctets = 255
    /// The maximum number of octets in a label (RFC 1035 section 2.3.4).
    static let maximumLabelOctets = 63

    /// The uncompressed wire form in lower case.
    package let octets: [UInt8]

    /// The name of the DNS root, a lone zero octet.
    package static let root = DNSName(validatedOctets: [0])

    /// - Parameter octets: A well-formed name in lower case, as ``DNSMessageReader`` makes it.
    package init(validatedOctets octets: [UInt8]) { self.octets = octets }

    /// Returns whether this name is `other`, or is below it.
    package func isAtOrBelow(_ other: DNSName) -> Bool {
        var rest = octets[...]
        while rest.count > other.octets.count, let length = rest.first {
            rest = rest.dropFirst(Int(length) + 1)
        }
        return rest.elementsEqual(other.octets)
    }

    /// The presentation form of RFC 4343 section 2.1: a dot, a backslash and unprintable octets are escaped.
    package var description: String {
        var text = ""
        var rest = octets[...]
        while let length = rest.first, length > 0 {
            let label = rest.dropFirst().prefix(Int(length))
            for octet in label { text += Self.presentation(of: octet) }
            text += "."
            rest = rest.dropFirst(label.count + 1)
        }
        return text.isEmpty ? "." : text
    }

    private static func presentation(of octet: UInt8) -> String {
        switch octet {
        case UInt8(ascii: "."), UInt8(ascii: "\\"):
            return "\\" + String(UnicodeScalar(octet))
        case 0x21...0x7e:
            return String(UnicodeScalar(octet))
        default:
            let digits = String(octet)
            return "\\" + String(repeating: "0", count: 3 - digits.utf8.count) + digits
        }
    }

    /// Returns an octet with ASCII letters in lower case (RFC 4343 section 3); all other octets keep their value.
    static func lowercased(_ octet: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(octet) ? octet | 0x20 : octet
    }

    /// Returns whether a lower-case octet is an ASCII letter.
    static func isLetter(_ octet: UInt8) -> Bool { (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(octet) }
}

extension DNSName {
    /// Parses the presentation form (RFC 1035 section 5.1): labels between dots, with an optional last one; `\.`, `\\` and
    /// `\DDD` stand for octets. Returns `nil` for an empty label, a label of more than 63 octets, and a name of more than 255.
    ///
    /// ASCII letters become lower case; any other octet keeps its value (RFC 4343 section 3).
    package init?(presentation text: String) {
        if text == "." {
            self = .root
            return
        }
        var octets: [UInt8] = []
        var label: [UInt8] = []
        var hasOpenLabel = false

        func close() -> Bool {
            guard (1...Self.maximumLabelOctets).contains(label.count) else { return false }
            octets.append(UInt8(label.count))
            octets += label
            label = []
            return octets.count < Self.maximumOctets
        }
        var rest = Array(text.utf8)[...]
        while let octet = rest.popFirst() {
            hasOpenLabel = true
            switch octet {
            case UInt8(ascii: "."):
                guard close() else { return nil }
                hasOpenLabel = false
            case UInt8(ascii: "\\"):
                guard let escaped = Self.escapedOctet(&rest) else { return nil }
                label.append(Self.lowercased(escaped))
            default:
                label.append(Self.lowercased(octet))
            }
        }
        if hasOpenLabel || octets.isEmpty {
            guard close() else { return nil }
        }
        self.init(validatedOctets: octets + [0])
    }

    private static func escapedOctet(_ rest: inout ArraySlice<UInt8>) -> UInt8? {
        guard let first = rest.popFirst() else { return nil }
        guard let hundreds = digit(first) else { return first }
        guard let tens = rest.popFirst().flatMap(digit), let ones = rest.popFirst().flatMap(digit) else { return nil }
        return UInt8(exactly: hundreds * 100 + tens * 10 + ones)
    }

    private static func digit(_ octet: UInt8) -> Int? {
        octet.isDigit ? Int(octet - UInt8(ascii: "0")) : nil
    }
}
