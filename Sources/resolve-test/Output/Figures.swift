// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import Foundation
internal import HTTPDNS

/// Times and counts for display.
enum Figures {
    /// Returns a phase: `0.1 ms`, `61.9 ms`, `2.31 s`.
    static func phase(_ duration: Duration) -> String {
        let seconds = max(0, duration.inSeconds)
        return seconds < 0.99995 ? "\(fixed(seconds * 1000, places: 1)) ms" : "\(fixed(seconds, places: 2)) s"
    }

    /// Returns a lifetime: `0.4 s`, `41 s`, `12 min`, `3 h`.
    static func lifetime(_ duration: Duration) -> String {
        let seconds = max(0, duration.inSeconds)
        if seconds < 0.05 { return "0 s" }
        if seconds < 0.95 { return "\(fixed(seconds, places: 1)) s" }
        if seconds < 120 { return "\(Int(seconds.rounded())) s" }
        if seconds < 7200 { return "\(Int((seconds / 60).rounded())) min" }
        return "\(Int((seconds / 3600).rounded())) h"
    }

    /// Returns a whole number with commas between the thousands.
    static func count(_ number: Int) -> String {
        let digits = String(number.magnitude)
        let grouped = digits.enumerated().reduce(into: "") { text, digit in
            if digit.offset > 0, (digits.count - digit.offset).isMultiple(of: 3) { text.append(",") }
            text.append(digit.element)
        }
        return (number < 0 ? "-" : "") + grouped
    }

    static func count(_ number: Int, _ noun: String) -> String { "\(count(number)) \(noun)\(number == 1 ? "" : "s")" }

    static func bytes(_ number: Int) -> String { count(number, "byte") }

    /// Returns a number with exactly that many decimal places, without Foundation's formats because they follow the locale.
    static func fixed(_ value: Double, places: Int) -> String {
        let scale = (0..<places).reduce(1) { scale, _ in scale * 10 }
        let scaled = Int((min(max(value, -1e12), 1e12) * Double(scale)).rounded())
        let (whole, fraction) = scaled.magnitude.quotientAndRemainder(dividingBy: UInt(scale))
        let digits = String(fraction)
        let tail = places == 0 ? "" : "." + String(repeating: "0", count: places - digits.count) + digits
        return (scaled < 0 ? "-" : "") + String(whole) + tail
    }
}

/// The time of day for display, and timestamps for programs.
struct ClockText: Sendable {
    /// A function that returns the time of day, such as `14:02:11`.
    var text: @Sendable (Date) -> String

    /// In the time zone of the machine (`TZ`).
    static let local = ClockText { date in
        var seconds = time_t(date.timeIntervalSince1970)
        var fields = tm()
        localtime_r(&seconds, &fields)
        return [fields.tm_hour, fields.tm_min, fields.tm_sec].map { digits(Int($0), 2) }.joined(separator: ":")
    }

    /// Returns `2026-11-21T14:02:11.042Z` (RFC 3339), without Foundation's formats because they follow the locale.
    static func universal(_ date: Date) -> String {
        let milliseconds = Int((date.timeIntervalSince1970 * 1000).rounded(.down))
        let (whole, rest) = milliseconds.quotientAndRemainder(dividingBy: 1000)
        var seconds = time_t(whole)
        var fields = tm()
        gmtime_r(&seconds, &fields)
        let day = [Int(fields.tm_mon) + 1, Int(fields.tm_mday)].map { digits($0, 2) }.joined(separator: "-")
        let time = [fields.tm_hour, fields.tm_min, fields.tm_sec].map { digits(Int($0), 2) }.joined(separator: ":")
        return "\(Int(fields.tm_year) + 1900)-\(day)T\(time).\(digits(rest, 3))Z"
    }

    private static func digits(_ number: Int, _ count: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, count - text.count)) + text
    }
}
#endif
