// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import HTTPDNSConfiguration
internal import HTTPDNSPrimitives

/// A number of bytes with a unit, as curl reads it.
enum ByteArgument {
    /// Returns the bytes of `500`, `100k`, `2M` or `1G`, in units of 1,024; nil for 0, which means no limit.
    static func bytes(_ text: String, of option: String) throws(CommandFailure) -> Int? {
        let units: [Character: Int] = ["k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "b": 1]
        let unit = text.last.flatMap { units[Character($0.lowercased())] }
        let digits = unit == nil ? text[...] : text.dropLast()
        guard let number = Int(digits: digits) else {
            throw .usage("\(option) \"\(text)\" is not a number of bytes", hint: "such as \(option) 100k")
        }
        let (bytes, overflow) = number.multipliedReportingOverflow(by: unit ?? 1)
        guard !overflow else { throw .usage("\(option) \"\(text)\" is too large") }
        return bytes > 0 ? bytes : nil
    }
}

enum DurationArgument {
    /// Reads a time with a unit, such as `500ms`.
    static func duration(_ text: String, of option: String, in range: ClosedRange<Duration>) throws(CommandFailure)
        -> Duration
    {
        do {
            return try DurationText.parse(text, in: range)
        } catch {
            throw .usage("\(option) \(error.message)", hint: error.hint)
        }
    }

    /// Returns the value of an option that limits a time; nil for 0, which means no limit of its own.
    static func limit(_ seconds: Double, of option: String) throws(CommandFailure) -> Double? {
        guard seconds >= 0, seconds <= 1e9 else {
            throw .usage(
                "\(option) is out of range; allowed: 0 to 1,000,000,000 seconds",
                hint: "such as \(option) 2.5"
            )
        }
        return seconds > 0 ? seconds : nil
    }
}
#endif
