#if LocalProvider
/// Hexadecimal as the vendors' services read it.
enum Hexadecimal {
    private static let digits = Array("0123456789abcdef".utf8)

    /// Returns lower-case digits, two for each byte.
    static func text(_ octets: some Sequence<UInt8>) -> String {
        String(decoding: octets.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }

    /// Returns the bytes of lower-case digits; nil for anything else, including an odd number of digits.
    static func lowerCaseOctets(_ text: String) -> [UInt8]? {
        let digits = Array(text.utf8)
        guard digits.count.isMultiple(of: 2) else { return nil }
        var octets: [UInt8] = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = value(digits[index]), let low = value(digits[index + 1]) else { return nil }
            octets.append(high << 4 | low)
        }
        return octets
    }

    /// Returns the bytes of digits in either case: consoles show secrets and keys in both.
    static func octets(_ text: String) -> [UInt8]? { lowerCaseOctets(text.lowercased()) }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
#endif
