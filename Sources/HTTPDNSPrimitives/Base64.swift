// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The text forms of bytes that RFC 4648 defines in sections 4 and 5.
///
/// Foundation has the first of them alone, and accepts several texts for the same bytes.
package enum Base64 {
    private static let shared = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
    private static let alphabet = Array("\(shared)+/".utf8)
    private static let urlAlphabet = Array("\(shared)-_".utf8)
    private static let padding = UInt8(ascii: "=")

    /// Returns Base64 with padding (section 4).
    package static func text(_ bytes: [UInt8]) -> String {
        var text = digits(of: bytes, in: alphabet)
        while !text.count.isMultiple(of: 4) { text.append(padding) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns Base64 with the alphabet for URLs and file names, without padding (sections 3.2 and 5).
    package static func urlText(_ bytes: [UInt8]) -> String {
        String(decoding: digits(of: bytes, in: urlAlphabet), as: UTF8.self)
    }

    private static func digits(of bytes: [UInt8], in alphabet: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: (bytes.count + 2) / 3 * 4) { digits, count in
            // At most 13 bits of the buffer are used.
            var (buffer, bits) = (0, 0)
            for byte in bytes {
                buffer = (buffer << 8 | Int(byte)) & 0xffff
                bits += 8
                while bits >= 6 {
                    bits -= 6
                    digits[count] = alphabet[buffer >> bits & 0x3f]
                    count += 1
                }
            }
            if bits > 0 {
                digits[count] = alphabet[buffer << (6 - bits) & 0x3f]
                count += 1
            }
        }
    }

    /// Returns the bytes of Base64 with padding (section 4).
    ///
    /// Each sequence of bytes has one text. The result is `nil` for other characters (section 3.3), for wrong or missing padding
    /// (section 3.2), and for padding bits that are not zero (section 3.5).
    package static func bytes(_ text: some StringProtocol) -> [UInt8]? {
        let characters = Array(text.utf8)
        guard characters.count.isMultiple(of: 4) else { return nil }
        let missing = characters.reversed().prefix { $0 == padding }.count
        guard missing <= 2 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(characters.count / 4 * 3)
        var (buffer, bits) = (0, 0)
        for character in characters.dropLast(missing) {
            guard let value = value(of: character) else { return nil }
            buffer = (buffer << 6 | Int(value)) & 0xffff
            bits += 6
            if bits >= 8 {
                bits -= 8
                bytes.append(UInt8(truncatingIfNeeded: buffer >> bits))
            }
        }
        return buffer & (1 << bits - 1) == 0 ? bytes : nil
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
