/// Base64 with padding (RFC 4648 section 4), the vendors' form of cipher texts inside JSON.
package enum Base64Text {
    /// Returns the bytes of `text`; `nil` for other characters, for wrong or missing padding, and for nonzero padding bits (RFC
    /// 4648 section 3.5).
    package static func octets(_ text: String) -> [UInt8]? {
        let characters = Array(text.utf8)
        guard characters.count.isMultiple(of: 4) else { return nil }
        let padding = characters.reversed().prefix { $0 == UInt8(ascii: "=") }.count
        guard padding <= 2 else { return nil }
        var octets: [UInt8] = []
        octets.reserveCapacity(characters.count / 4 * 3)
        var buffer = 0
        var bits = 0
        for character in characters.dropLast(padding) {
            guard let value = value(of: character) else { return nil }
            buffer = (buffer << 6 | Int(value)) & 0xffff
            bits += 6
            if bits >= 8 {
                bits -= 8
                octets.append(UInt8(truncatingIfNeeded: buffer >> bits))
            }
        }
        return buffer & (1 << bits - 1) == 0 ? octets : nil
    }

    private static func value(of character: UInt8) -> UInt8? {
        switch character {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
        case UInt8(ascii: "+"): 62
        case UInt8(ascii: "/"): 63
        default: nil
        }
    }
}
