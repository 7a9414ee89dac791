// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPTypes
import Testing

@testable import HTTPDNSCore
@testable import HTTPDNSVendors

struct ClockOffsetTests {
    private let endpoint = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 192, 0, 2, 1), port: 443)

    private func reply(_ date: String?) -> UpstreamReply {
        var fields = HTTPFields()
        fields[.date] = date
        return UpstreamReply(status: 403, headerFields: fields, body: [], endpoint: endpoint)
    }

    @Test(
        "HTTP dates are read, with leap days and the ends of years and centuries",
        arguments: [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
            ("Tue, 29 Feb 2000 12:00:00 GMT", 951_825_600), ("Wed, 01 Mar 2000 00:00:00 GMT", 951_868_800),
            ("Tue, 14 Nov 2023 22:13:20 GMT", 1_700_000_000), ("Thu, 29 Feb 2024 23:59:59 GMT", 1_709_251_199),
            ("Sun, 28 Feb 2100 00:00:00 GMT", 4_107_456_000), ("Mon, 01 Mar 2100 00:00:00 GMT", 4_107_542_400),
            ("Fri, 31 Dec 9999 23:59:60 GMT", 253_402_300_800), ("SUN, 06 nOV 1994 08:49:37 gmt", 784_111_777),
        ] as [(String, Int64)]
    )
    func dates(text: String, seconds: Int64) {
        #expect(HTTPDate.seconds(text, now: 0) == seconds)
    }

    /// RFC 9110 section 5.6.7. A year of two digits is at most 50 years ahead.
    @Test(
        "The obsolete forms of HTTP dates are read",
        arguments: [
            ("Sunday, 06-Nov-94 08:49:37 GMT", 1994, 784_111_777), ("Sun Nov  6 08:49:37 1994", 2026, 784_111_777),
            ("Wed Nov 16 08:49:37 1994", 2026, 784_975_777), ("Sunday, 06-Nov-94 08:49:37 GMT", 2026, 784_111_777),
            ("Saturday, 06-Nov-94 08:49:37 GMT", 2050, 3_939_871_777),
            ("Monday, 01-Jan-01 00:00:00 GMT", 1999, 978_307_200), ("Thursday, 01-Jan-70 00:00:00 GMT", 1994, 0),
        ] as [(String, Int64, Int64)]
    )
    func obsoleteDates(text: String, year: Int64, seconds: Int64) {
        // The middle of the year.
        let now = (year - 1970) * 31_556_952 + 15_778_476
        #expect(HTTPDate.seconds(text, now: now) == seconds)
    }

    @Test(
        "Other forms of dates are refused",
        arguments: [
            "", "1700000000", "Sunday, 06-Nov-1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37",
            "Sun Nov 6 08:49:37 1994",
            "Sun Nov  6 08:49:37 1994 ", "Sun Nov  06 08:49:37 1994", "Sun, 06-Nov-94 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 CET", "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 6 Nov 1994 08:49:37 GMT",
            "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49 GMT",
            "Sun, 06 Nov 1994 08:60:37 GMT", "Sun, 06 Nov -994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT ",
        ]
    )
    func otherDates(text: String) {
        #expect(HTTPDate.seconds(text, now: 1_700_000_000) == nil)
    }

    /// A clock that is set right later takes it back.
    @Test("A learned offset moves the time")
    func offset() {
        let wall = Lock<Int64>(1_600_000_000_000)
        let clock = ClockOffset(WallClock { wall.withLock { $0 } })
        #expect(clock.seconds() == 1_600_000_000)
        #expect(clock.learn(from: reply("Tue, 14 Nov 2023 22:13:20 GMT"), signedAt: 1_600_000_000))
        #expect(clock.seconds() == 1_700_000_000)
        wall.withLock { $0 = 1_700_000_100_000 }
        #expect(clock.learn(from: reply("Tue, 14 Nov 2023 22:15:00 GMT"), signedAt: clock.seconds()))
        #expect(clock.seconds() == 1_700_000_100)
    }

    /// Within a second the time is the vendor's own.
    @Test("A time that is equal, missing or unreadable gives no reason to ask again")
    func nothingLearnt() {
        let clock = ClockOffset(WallClock { 1_700_000_000_000 })
        #expect(!clock.learn(from: reply("Tue, 14 Nov 2023 22:13:21 GMT"), signedAt: 1_700_000_000))
        #expect(!clock.learn(from: reply(nil), signedAt: 1_700_000_000))
        #expect(!clock.learn(from: reply("yesterday"), signedAt: 1_700_000_000))
        #expect(clock.seconds() == 1_700_000_000)
    }
}
