/// The text form of whole numbers in the file: decimal digits.
package enum WholeNumberText {
    /// Parses a number in `range`.
    package static func parse(_ text: String, in range: ClosedRange<Int>) throws(ValueMistake) -> Int {
        let allowed = "allowed: a whole number from \(range.lowerBound) to \(range.upperBound)"
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        guard !digits.isEmpty, digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
            throw ValueMistake("\(quoted(text)) is not a whole number; \(allowed)")
        }
        guard digits == "0" || !digits.hasPrefix("0") else {
            throw ValueMistake("\(quoted(text)) has leading zeros; \(allowed)")
        }
        guard let number = Int(text), range.contains(number) else {
            throw ValueMistake("\(quoted(text)) is out of range; \(allowed)")
        }
        return number
    }
}
