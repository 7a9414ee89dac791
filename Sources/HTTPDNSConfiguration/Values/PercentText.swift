/// The text form of percentages in the file: digits, and at most two more after a point.
package enum PercentText {
    private static let allowed = "allowed: a number from 0 to 100 with at most two decimals, such as 25 or 0.5"

    /// Parses a percentage from 0 to 100.
    package static func parse(_ text: String) throws(ValueMistake) -> Double {
        guard let digits = digits(text), digits == text, let percent = Double(text) else {
            let hint = digits(text).map { "write \($0)" }
            throw ValueMistake("\(quoted(text)) is not a percentage; \(allowed)", hint: hint)
        }
        guard percent <= 100 else { throw ValueMistake("\(quoted(text)) is out of range; \(allowed)") }
        return percent
    }

    /// Returns the number in a text that may end with a percent sign; nil when there is none.
    static func digits(_ text: String) -> String? {
        var number = Substring(text)
        if number.hasSuffix("%") { number.removeLast() }
        while number.hasSuffix(" ") { number.removeLast() }
        let parts = number.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        let areDigits = parts.allSatisfy { part in
            !part.isEmpty && part.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        }
        guard areDigits, let whole = parts.first, whole.count <= 3, whole == "0" || !whole.hasPrefix("0") else {
            return nil
        }
        return parts.count == 1 || parts[1].count <= 2 ? String(number) : nil
    }
}
