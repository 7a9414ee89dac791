// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSPrimitives

/// Numbers for readers.
enum TrafficFigures {
    /// Returns a whole number with commas between the thousands.
    static func count(_ number: Int) -> String { count(Int64(number)) }

    static func count(_ number: Int64) -> String {
        let digits = String(number.magnitude)
        let grouped = digits.enumerated().reduce(into: "") { text, digit in
            if digit.offset > 0, (digits.count - digit.offset).isMultiple(of: 3) { text.append(",") }
            text.append(digit.element)
        }
        return (number < 0 ? "-" : "") + grouped
    }

    /// Returns a number with its noun: `1 hop`, `2 hops`.
    static func count(_ number: Int, _ noun: String) -> String { "\(count(number)) \(noun)\(number == 1 ? "" : "s")" }

    /// Returns bytes in the unit that keeps them short: `812 B`, `1.5 KiB`, `48 MiB`.
    static func bytes(_ number: Int64) -> String {
        guard number.magnitude >= 1024 else { return "\(number) B" }
        var (value, unit) = (Double(number) / 1024, 0)
        let units = ["KiB", "MiB", "GiB", "TiB"]
        while value >= 1023.5, unit < units.count - 1 { (value, unit) = (value / 1024, unit + 1) }
        let tenths = Int((value * 10).rounded())
        let text = tenths < 100 && tenths % 10 != 0 ? "\(tenths / 10).\(tenths % 10)" : "\((tenths + 5) / 10)"
        return "\(text) \(units[unit])"
    }

    /// Returns a share as a percentage: `0 %`, `0.4 %`, `12 %`. It is 0 or 100 % for an exact share only.
    static func percent(_ part: Int, of whole: Int) -> String {
        guard whole > 0, part > 0 else { return "0 %" }
        let exact = Double(part) / Double(whole) * 100
        let tenths = min(max(Int((exact * 10).rounded()), 1), part < whole ? 999 : 1000)
        let hasTenths = tenths < 100 || tenths > 990 && tenths < 1000
        return hasTenths ? "\(tenths / 10).\(tenths % 10) %" : "\(Int(exact.rounded())) %"
    }

    /// Returns a point in time in UTC: `2026-11-24 14:02:11.042`.
    /// - Parameter time: Milliseconds since 1970-01-01 00:00 UTC.
    static func date(_ time: Int64) -> String {
        HTTPArchive.dateText(of: time).replacing("T", with: " ").replacing("Z", with: "")
    }

    /// Returns the time of day in UTC: `14:02:11.042`.
    static func timeOfDay(_ time: Int64) -> String { String(date(time).split(separator: " ").last ?? "") }
}

extension Int64 {
    /// Returns the sum, or the end of the range that it exceeds: records of files can have any numbers.
    func addingSaturated(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }

    /// Returns the difference, or the end of the range that it exceeds.
    func subtractingSaturated(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other < 0 ? .max : .min) : difference
    }

    /// Adds a number that is perhaps not known, see ``addingSaturated(_:)``.
    mutating func addSaturated(_ other: Int64?) { self = addingSaturated(other ?? 0) }
}

extension HTTPDNSTrafficMonitor.Record {
    /// Whether a reader looks for the call: it has failed, or has an error of the server or of the client.
    var isBad: Bool { failure != nil || (status ?? 0) >= 400 }

    /// The status, or the outcome of a call without one: `200`, `failed`.
    var result: String {
        failure != nil && hops.last?.failure != nil ? outcome : status.map { String($0) } ?? outcome
    }
}
