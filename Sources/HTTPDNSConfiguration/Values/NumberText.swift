// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The text form of durations in the file: a whole number and one unit.
package enum DurationText {
    /// The units, the longest first.
    package static let units: [(name: String, duration: Duration)] = [
        ("h", .seconds(3600)), ("m", .seconds(60)), ("s", .seconds(1)), ("ms", .milliseconds(1)),
    ]
    private static let allowed = "allowed: a whole number with ms, s, m or h, such as 500ms or 30s"
    /// Other spellings of a unit, and the unit that is meant.
    private static let otherUnits = [
        "sec": "s", "secs": "s", "second": "s", "seconds": "s", "S": "s", "min": "m", "mins": "m", "minute": "m",
        "minutes": "m", "hour": "h", "hours": "h", "hr": "h", "H": "h", "msec": "ms", "millis": "ms", "MS": "ms",
    ]

    /// Parses `30s`, `500ms`, `10m`, `1h`, `0s`.
    package static func parse(_ text: String, in range: ClosedRange<Duration>) throws(ValueMistake) -> Duration {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let unit = String(text.dropFirst(digits.count))
        guard !digits.isEmpty else {
            throw ValueMistake("\(quoted(text)) is not a duration; \(allowed)")
        }
        guard let factor = units.first(where: { $0.name == unit })?.duration else {
            if unit.isEmpty {
                throw ValueMistake("\(quoted(text)) has no unit; \(allowed)", hint: "did you mean \(digits)s?")
            }
            let bare = String(unit.drop { $0 == " " })
            if let meant = otherUnits[bare] ?? units.first(where: { $0.name == bare })?.name {
                throw ValueMistake("\(quoted(text)) is not a duration; \(allowed)", hint: "write \(digits)\(meant)")
            }
            if bare == "d" || bare.hasPrefix("day"), digits.utf8.count <= 6, let days = Int(digits) {
                throw ValueMistake(
                    "\(quoted(text)): there is no unit for days; \(allowed)",
                    hint: "write \(days * 24)h"
                )
            }
            if unit.hasPrefix(".") {
                throw ValueMistake(
                    "\(quoted(text)) has a fraction; \(allowed)",
                    hint: "use a smaller unit: 1500ms for 1.5s"
                )
            }
            throw ValueMistake("\(quoted(text)): \(quoted(unit)) is not a unit; \(allowed)")
        }
        // Nine digits of hours are far below the limit of Duration.
        guard digits.utf8.count <= 9, let number = Int(digits), range.contains(factor * number) else {
            throw ValueMistake(
                "\(quoted(text)) is out of range; allowed: \(write(range.lowerBound)) to \(write(range.upperBound))"
            )
        }
        return factor * number
    }

    /// Returns the duration in its longest whole unit.
    package static func write(_ duration: Duration) -> String {
        for (name, unit) in units where duration >= unit {
            let (seconds, attoseconds) = duration.components
            let milliseconds = seconds * 1000 + attoseconds / 1_000_000_000_000_000
            let length = unit.components.seconds * 1000 + unit.components.attoseconds / 1_000_000_000_000_000
            if milliseconds % length == 0 { return "\(milliseconds / length)\(name)" }
        }
        return "0s"
    }
}

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
    static func write(_ bytes: Int) -> String {
        let power = (0..<units.count).last { bytes % (1 << (10 * $0)) == 0 } ?? 0
        return "\(bytes >> (10 * power))\(units[power])"
    }
}

/// The text form of percentages in the file: digits, and at most two more after a point.
enum PercentText {
    private static let allowed = "allowed: a number from 0 to 100 with at most two decimals, such as 25 or 0.5"

    /// Parses a percentage from 0 to 100.
    static func parse(_ text: String) throws(ValueMistake) -> Double {
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
            !part.isEmpty && part.utf8.allSatisfy(\.isDigit)
        }
        guard areDigits, let whole = parts.first, whole.count <= 3, whole == "0" || !whole.hasPrefix("0") else {
            return nil
        }
        return parts.count == 1 || parts[1].count <= 2 ? String(number) : nil
    }
}

/// The text form of whole numbers in the file: decimal digits.
enum WholeNumberText {
    /// Parses a number in `range`.
    static func parse(_ text: String, in range: ClosedRange<Int>) throws(ValueMistake) -> Int {
        let allowed = "allowed: a whole number from \(range.lowerBound) to \(range.upperBound)"
        let digits = text.hasPrefix("-") ? text.dropFirst() : text[...]
        guard !digits.isEmpty, digits.utf8.allSatisfy(\.isDigit) else {
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

/// The text form of truth values in the file: those of YAML 1.2. `yes` and `no` stay text.
enum TruthText {
    /// Other spellings of truth values and their meaning; YAML 1.1 read most of these as such.
    private static let others = [
        "yes": "true", "on": "true", "y": "true", "1": "true", "true": "true",
        "no": "false", "off": "false", "n": "false", "0": "false", "false": "false",
    ]

    static func parse(_ text: String) throws(ValueMistake) -> Bool {
        if text == "true" { return true }
        if text == "false" { return false }
        let meant = others[text.lowercased()]
        throw ValueMistake("found \(quoted(text)); allowed: true, false", hint: meant.map { "write \($0)" })
    }

    /// Refuses truth values: `yes` would be the name of a proxy or an interface, and is never meant as one.
    static func refuse(_ text: String, _ allowed: String) throws(ValueMistake) {
        guard others[text.lowercased()] != nil else { return }
        throw ValueMistake("found \(quoted(text)); allowed: \(allowed)")
    }
}
