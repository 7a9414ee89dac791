internal import Foundation

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
