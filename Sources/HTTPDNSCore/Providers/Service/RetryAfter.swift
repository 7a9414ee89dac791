// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
package import HTTPTypes

/// The time that a server asks the client to wait (`Retry-After`, RFC 9110 section 10.2.3).
///
/// Servers also send fractions, units and several fields. A wait that is too long costs little, and one that is too short a
/// refusal: fractions are rounded up, and the longest of several counts.
package enum RetryAfter {
    /// - Parameter now: Seconds since 1970, for a date in a response without a `Date` field: two clocks may differ. They also
    ///   complete a year of two digits.
    /// - Returns: Nil without the field, and when no value is a number of seconds or a date.
    package static func wait(in fields: HTTPFields, now: Int64) -> Duration? {
        // Nearly no response has the field.
        guard fields.contains(.retryAfter) else { return nil }
        let sent = fields.singleton(.date).flatMap { HTTPDate.seconds($0.value, now: now) } ?? now
        let waits = fields[values: .retryAfter].flatMap { value -> [Int64] in
            if let date = HTTPDate.seconds(value, now: now) { return [max(0, date - sent)] }
            return value.split(separator: ",").compactMap { seconds($0.utf8) }
        }
        return waits.max().map { .seconds($0) }
    }

    /// Returns a number of seconds, rounded up; nil for any other text. Parameters, and the unit of seconds, may follow it.
    private static func seconds(_ text: Substring.UTF8View) -> Int64? {
        func isSpace(_ byte: UInt8) -> Bool { byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t") }
        var rest = text.drop(while: isSpace)
        let whole = rest.prefix(while: \.isDigit)
        guard !whole.isEmpty else { return nil }
        rest = rest.dropFirst(whole.count)
        var hasFraction = false
        if rest.first == UInt8(ascii: ".") {
            let fraction = rest.dropFirst().prefix(while: \.isDigit)
            hasFraction = fraction.contains { $0 != UInt8(ascii: "0") }
            rest = rest.dropFirst(1 + fraction.count)
        }
        let unit = String(Substring(rest.prefix { $0 != UInt8(ascii: ";") })).lowercased().filter { !$0.isWhitespace }
        guard ["", "s", "sec", "secs", "second", "seconds"].contains(unit) else { return nil }
        // A number that overflows means a very long time.
        let longest = Int64(UInt32.max)
        return min(longest, min(longest, Int64(Substring(whole)) ?? longest) + (hasFraction ? 1 : 0))
    }
}
