/// A domain name as in messages: length-prefixed labels with the root's zero at the end, letters in lower case.
///
/// A label may contain any octet (RFC 2181 section 11). Names are therefore compared in this form and never as text. A dot or a
/// NUL inside a label cannot be confused with a separator or an end.
package struct DNSName: Hashable, Sendable, CustomStringConvertible {
    /// The maximum number of octets in a name, length octets and root included (RFC 1035 section 2.3.4).
    package static let maximumOctets = 255
    /// The maximum number of octets in a label (RFC 1035 section 2.3.4).
    package static let maximumLabelOctets = 63

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
}
