// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPTypes
import Testing

@testable import HTTPDNSResponseCache

/// Times are counted from Sun, 06 Nov 1994 08:49:37 GMT, when the response arrived.
let arrival: Int64 = 784_111_777_000

func head(_ fields: [String: String], status: Int = 200, delay: Int64 = 0) -> StoredHead {
    var all: HTTPFields = [:]
    for (name, value) in fields { if let name = HTTPField.Name(name) { all[name] = value } }
    return StoredHead(
        url: "http://one.test/",
        partition: "",
        status: status,
        reason: "",
        version: "HTTP/1.1",
        fields: all,
        vary: VaryFields(),
        requestTime: arrival - delay,
        responseTime: arrival
    )
}

struct FreshnessTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let fields: [String: String]
        let lifetime: Int64
        var mode = CacheRules.Mode.shared
        var status = 200
        var hasQuery = false
        var testDescription: String { "\(fields) \(mode)" }
    }

    @Test(
        "The lifetime is the declared one, or a tenth of the time since the last change",
        arguments: [
            Case(fields: ["cache-control": "max-age=60"], lifetime: 60),
            Case(fields: ["cache-control": "max-age=60, s-maxage=5"], lifetime: 5),
            Case(fields: ["cache-control": "max-age=60, s-maxage=5"], lifetime: 60, mode: .private),
            Case(fields: ["cache-control": "max-age=60", "expires": "0"], lifetime: 60),
            Case(
                fields: ["date": "Sun, 06 Nov 1994 08:49:37 GMT", "expires": "Sun, 06 Nov 1994 08:50:37 GMT"],
                lifetime: 60
            ),
            // The difference of both counts, whatever the clock here says.
            Case(
                fields: ["date": "Sun, 06 Nov 1994 07:00:00 GMT", "expires": "Sun, 06 Nov 1994 07:00:10 GMT"],
                lifetime: 10
            ),
            // The obsolete forms of dates (RFC 9110 section 5.6.7).
            Case(
                fields: ["date": "Sunday, 06-Nov-94 08:49:37 GMT", "expires": "Sun Nov  6 08:50:37 1994"],
                lifetime: 60
            ),
            Case(fields: ["last-modified": "Sun Nov  6 08:39:37 1994"], lifetime: 60),
            // A year of two digits is at most 50 years after the arrival, and case has no meaning (RFC 9111 section 4.2).
            Case(fields: ["expires": "Monday, 06-Nov-45 08:49:37 GMT"], lifetime: 0),
            Case(fields: ["expires": "sUN, 06 nOV 1994 08:50:37 gmt"], lifetime: 60),
            Case(fields: ["expires": "0", "last-modified": "Sun, 06 Nov 1993 08:49:37 GMT"], lifetime: 0),
            Case(fields: ["expires": "Sun, 06 Nov 1994 08:50:37 GMT"], lifetime: 60),
            Case(fields: ["last-modified": "Sun, 06 Nov 1994 08:39:37 GMT"], lifetime: 60),
            Case(fields: ["last-modified": "Sun, 06 Nov 1994 08:39:37 GMT"], lifetime: 0, hasQuery: true),
            Case(fields: ["last-modified": "Sun, 06 Nov 1994 08:39:37 GMT"], lifetime: 0, status: 500),
            Case(fields: ["last-modified": "Sun, 06 Nov 1904 08:39:37 GMT"], lifetime: 86_400),
            Case(fields: ["last-modified": "Sun, 06 Nov 2004 08:39:37 GMT"], lifetime: 0),
            Case(fields: [:], lifetime: 0),
        ]
    )
    func lifetime(_ row: Case) {
        let lifetime = Freshness.lifetime(
            head(row.fields, status: row.status),
            CacheRules(mode: row.mode),
            hasQuery: row.hasQuery
        )
        #expect(lifetime == row.lifetime * 1000)
    }

    @Test(
        "The age includes the server's, the delay and the time here",
        arguments: [
            ([:], 0, 0, 0), ([:], 0, 7, 7), (["age": "5"], 0, 7, 12), (["age": "5"], 2, 7, 14), (["age": "x"], 0, 7, 7),
            (["age": "5, 100"], 0, 0, 5), (["date": "Sun, 06 Nov 1994 08:49:27 GMT"], 0, 7, 17),
            (["date": "Sun, 06 Nov 1994 08:59:37 GMT"], 0, 7, 7),
        ] as [([String: String], Int64, Int64, Int64)]
    )
    func age(_ fields: [String: String], _ delay: Int64, _ passed: Int64, _ expected: Int64) {
        let head = head(fields, delay: delay * 1000)
        let freshness = Freshness(head, at: arrival + passed * 1000, CacheRules(), hasQuery: false)
        #expect(freshness.ageSeconds == expected)
    }

    @Test("A response from the future of a clock that was set back is as stale as can be")
    func clockSetBack() {
        let head = head(["cache-control": "max-age=60"])
        let freshness = Freshness(head, at: arrival - 1, CacheRules(), hasQuery: false)
        #expect(!freshness.isFresh)
        #expect(freshness.staleness == Int64.max - 60_000)
        #expect(freshness.ageSeconds == 2_147_483_648)
        #expect(Freshness(head, at: arrival, CacheRules(), hasQuery: false).isFresh)
    }
}
