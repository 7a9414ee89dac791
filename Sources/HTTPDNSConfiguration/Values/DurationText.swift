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
