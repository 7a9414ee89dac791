// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The date of an `Expires` attribute, read as RFC 6265bis section 5.1.1 demands.
///
/// The algorithm takes nearly any order and separator: the first token of each kind counts.
enum CookieDate {
    /// Returns the seconds since 1970-01-01 00:00 UTC; nil for text that is no date.
    static func seconds(_ text: some Collection<UInt8>) -> Int64? {
        var date = Parts()
        for token in text.split(whereSeparator: isDelimiter) { date.take(Array(token)) }
        return date.seconds
    }

    /// The fields of a date that were found so far.
    private struct Parts {
        var time: (hour: Int, minute: Int, second: Int)?
        var day: Int?
        var month: Int?
        var year: Int?

        /// Takes the first field that the token can be, in the order of the algorithm.
        mutating func take(_ token: [UInt8]) {
            if time == nil, let found = CookieDate.time(token) {
                time = found
            } else if day == nil, let found = CookieDate.number(token, digits: 1...2) {
                day = found
            } else if month == nil, let found = CookieDate.month(token) {
                month = found
            } else if year == nil, let found = CookieDate.number(token, digits: 2...4) {
                year = found
            }
        }

        var seconds: Int64? {
            guard let time, let day, let month, var year else { return nil }
            if (70...99).contains(year) { year += 1900 } else if (0...69).contains(year) { year += 2000 }
            guard year >= 1601, time.hour <= 23, time.minute <= 59, time.second <= 59,
                (1...CookieDate.days(in: month, of: year)).contains(day)
            else { return nil }
            let days = CookieDate.days(before: year, month, day)
            return days * 86_400 + Int64(time.hour * 3600 + time.minute * 60 + time.second)
        }
    }

    /// Whether a byte separates tokens (`delimiter` in the grammar).
    private static func isDelimiter(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x09, 0x20...0x2f, 0x3b...0x40, 0x5b...0x60, 0x7b...0x7e: true
        default: false
        }
    }

    /// Returns the number at the start of a token. Text behind it may follow, but no further digit.
    private static func number(_ token: [UInt8], digits: ClosedRange<Int>) -> Int? {
        let text = token.prefix(while: \.isDigit)
        guard digits.contains(text.count) else { return nil }
        return text.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
    }

    /// Returns a time such as `9:05:59`. Text behind it may follow, but no further digit.
    private static func time(_ token: [UInt8]) -> (hour: Int, minute: Int, second: Int)? {
        let parts = token.split(separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].allSatisfy(\.isDigit), parts[1].allSatisfy(\.isDigit),
            let hour = number(Array(parts[0]), digits: 1...2), let minute = number(Array(parts[1]), digits: 1...2),
            let second = number(Array(parts[2]), digits: 1...2)
        else { return nil }
        return (hour, minute, second)
    }

    private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

    /// Returns the number of a month, from 1, by the first three letters of a token.
    private static func month(_ token: [UInt8]) -> Int? {
        let name = String(decoding: token.prefix(3).map(\.lowercasedASCII), as: UTF8.self)
        return months.firstIndex(of: name).map { $0 + 1 }
    }

    private static func days(in month: Int, of year: Int) -> Int {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400)) ? 29 : 28
        default: 31
        }
    }

    /// Returns the days from 1970-01-01 to a date in the Gregorian calendar, in which years here begin in March: a leap
    /// day is then the last day of its year.
    private static func days(before year: Int, _ month: Int, _ day: Int) -> Int64 {
        let shifted = month > 2 ? year : year - 1
        let (era, yearOfEra) = (shifted / 400, shifted % 400)
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        // 719,468 days are between 0000-03-01 and 1970-01-01.
        return Int64(era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468)
    }
}
