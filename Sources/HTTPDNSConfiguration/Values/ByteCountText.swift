internal import HTTPDNSPrimitives

/// The text form of byte counts in the file: a whole number and one unit.
package enum ByteCountText {
    /// The units, each 1,024 times the previous one.
    package static let units = ["B", "KiB", "MiB", "GiB"]
    private static let allowed = "allowed: a whole number with B, KiB, MiB or GiB, such as 64KiB or 4MiB"
    /// Other spellings of a unit, and the unit that is probably meant.
    private static let otherUnits = [
        "b": "B", "byte": "B", "bytes": "B", "k": "KiB", "K": "KiB", "kb": "KiB", "kB": "KiB", "KB": "KiB",
        "kib": "KiB", "Ki": "KiB", "m": "MiB", "M": "MiB", "mb": "MiB", "MB": "MiB", "mib": "MiB", "Mi": "MiB",
        "g": "GiB", "G": "GiB", "gb": "GiB", "GB": "GiB", "gib": "GiB", "Gi": "GiB",
    ]

    /// Parses `512B`, `64KiB`, `4MiB`, `1GiB`: 1 byte to 1,024 GiB, or the part of that in `range`.
    package static func parse(_ text: String, in range: ClosedRange<Int> = 1...(1 << 40)) throws(ValueMistake) -> Int {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let unit = String(text.dropFirst(digits.count))
        guard !digits.isEmpty else { throw ValueMistake("\(quoted(text)) is not a byte count; \(allowed)") }
        guard let power = units.firstIndex(of: unit) else {
            if unit.isEmpty {
                throw ValueMistake("\(quoted(text)) has no unit; \(allowed)", hint: "did you mean \(digits)B?")
            }
            let bare = String(unit.drop { $0 == " " })
            if let meant = otherUnits[bare] ?? units.first(where: { $0 == bare }) {
                throw ValueMistake(
                    "\(quoted(text)): \(quoted(unit)) is not a unit; \(allowed)",
                    hint: "write \(digits)\(meant)"
                )
            }
            throw ValueMistake("\(quoted(text)): \(quoted(unit)) is not a unit; \(allowed)")
        }
        guard digits.utf8.count <= 13, let number = Int(digits),
            case (let bytes, false) = number.multipliedReportingOverflow(by: 1 << (10 * power)),
            range.contains(bytes)
        else {
            throw ValueMistake(
                "\(quoted(text)) is out of range; allowed: \(write(range.lowerBound)) to \(write(range.upperBound))"
            )
        }
        return bytes
    }

    /// Returns the byte count in its largest whole unit.
    private static func write(_ bytes: Int) -> String {
        let power = (0..<units.count).last { bytes % (1 << (10 * $0)) == 0 } ?? 0
        return "\(bytes >> (10 * power))\(units[power])"
    }
}
