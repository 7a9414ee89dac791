// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The date of an HTTP field (RFC 9110 section 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`, or one of the two obsolete forms that
/// recipients must read, `Sunday, 06-Nov-94 08:49:37 GMT` and `Sun Nov  6 08:49:37 1994`.
package enum HTTPDate {
    private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

    /// Returns the seconds since 1970-01-01 00:00 UTC; `nil` for any other form. The day of the week is not compared, and case
    /// has no meaning (RFC 9111 section 4.2).
    /// - Parameter now: The seconds since 1970 that complete a year of two digits: it is not more than 50 years ahead.
    package static func seconds(_ text: String, now: Int64) -> Int64? {
        let parts = text.lowercased().split(separator: " ", omittingEmptySubsequences: false)
        // Most dates have the present form.
        if parts.count == 6, parts[0].utf8.count == 4, parts[0].hasSuffix(","), parts[5] == "gmt" {
            return number(parts[3], digits: 4).flatMap { seconds($0, parts[2], number(parts[1], digits: 2), parts[4]) }
        }
        if parts.count == 4, parts[0].hasSuffix("day,"), parts[3] == "gmt" {
            let date = parts[1].split(separator: "-", omittingEmptySubsequences: false)
            guard date.count == 3, let digits = number(date[2], digits: 2) else { return nil }
            let thisYear = 1970 + now / 31_556_952
            var year = thisYear / 100 * 100 + 100 + digits
            while year > thisYear + 50 { year -= 100 }
            return seconds(year, date[1], number(date[0], digits: 2), parts[2])
        }
        // A day of one digit has two spaces in front.
        let hasShortDay = parts.count == 6 && parts[2].isEmpty
        guard hasShortDay || parts.count == 5, parts[0].utf8.count == 3,
            let year = number(parts[parts.count - 1], digits: 4)
        else { return nil }
        let day = hasShortDay ? number(parts[3], digits: 1) : number(parts[2], digits: 2)
        return seconds(year, parts[1], day, parts[parts.count - 2])
    }

    private static func seconds(_ year: Int64, _ month: Substring, _ day: Int64?, _ clock: Substring) -> Int64? {
        let clock = clock.split(separator: ":", omittingEmptySubsequences: false)
        guard let day, (1...31).contains(day), let month = months.firstIndex(where: { $0 == month }), clock.count == 3,
            let hour = number(clock[0], digits: 2), let minute = number(clock[1], digits: 2),
            let second = number(clock[2], digits: 2), hour < 24, minute < 60, second <= 60
        else { return nil }
        return days(year: year, month: Int64(month) + 1, day: day) * 86400 + hour * 3600 + minute * 60 + second
    }

    private static func number(_ text: Substring, digits: Int) -> Int64? {
        text.utf8.count == digits ? Int64(digits: text) : nil
    }

    /// Returns the days since 1970-01-01 in the Gregorian calendar. Years begin in March, so that a leap day is the last of its
    /// year.
    private static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
        let shifted = month > 2 ? year : year - 1
        let era = shifted / 400
        let yearOfEra = shifted % 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        // 719,468 days lie between 0000-03-01 and 1970-01-01.
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}
