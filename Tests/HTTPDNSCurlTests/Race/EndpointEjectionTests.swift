// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Testing

@testable import HTTPDNSCurl

struct EndpointEjectionTests {
    private let key = EndpointTable.Key(
        endpoint: HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 192, 0, 2, 1), port: 443),
        host: .name("one.test")
    )
    private let settings: HTTPDNSTransfer.OutlierEjection = {
        var settings = HTTPDNSTransfer.OutlierEjection()
        settings.consecutive = 3
        return settings
    }()

    private let host = ParsedURL.Host.name("one.test")

    private func isEjected(_ key: EndpointTable.Key, _ table: EndpointTable, at now: MonotonicTime) -> Bool {
        table.standing(of: key.endpoint, for: host, at: now) == .ejected
    }

    private func at(_ seconds: Int) -> MonotonicTime { MonotonicTime(nanoseconds: 0) + .seconds(seconds) }

    @Test("Errors in a row eject an endpoint, and a good response between them prevents it")
    func inARow() {
        var table = EndpointTable()
        for status in [503, 500, 200, 502, 504, 404] {
            table.answered(key.endpoint, for: host, status: status, settings, at: at(0))
        }
        #expect(!isEjected(key, table, at: at(0)) && table.notableCount == 0)
        for _ in 0..<3 { table.answered(key.endpoint, for: host, status: 503, settings, at: at(0)) }
        #expect(isEjected(key, table, at: at(29)) && !isEjected(key, table, at: at(30)))
        #expect(table.endpointRecords(at: at(0)).map(\.state) == [.ejected])
        #expect(table.endpointRecords(at: at(30)).isEmpty)
    }

    /// Responses while it is ejected say nothing.
    @Test("Each ejection lasts twice as long, up to the limit, until a good response")
    func doubling() {
        var table = EndpointTable()
        var now = 0
        for rest in [30, 60, 120, 240, 300, 300] {
            for _ in 0..<3 { table.answered(key.endpoint, for: host, status: 500, settings, at: at(now)) }
            table.answered(key.endpoint, for: host, status: 500, settings, at: at(now + 1))
            table.answered(key.endpoint, for: host, status: 200, settings, at: at(now + 1))
            #expect(isEjected(key, table, at: at(now + rest - 1)))
            now += rest
            #expect(!isEjected(key, table, at: at(now)))
        }
        table.answered(key.endpoint, for: host, status: 200, settings, at: at(now))
        for _ in 0..<3 { table.answered(key.endpoint, for: host, status: 500, settings, at: at(now)) }
        #expect(!isEjected(key, table, at: at(now + 30)))
    }

    @Test("A full table forgets the oldest errors, and still ejects")
    func full() {
        var table = EndpointTable(limit: 2)
        let keys = (1...3).map { number in
            EndpointTable.Key(
                endpoint: HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 192, 0, 2, UInt8(number)), port: 443),
                host: .name("one.test")
            )
        }
        for key in keys { for _ in 0..<3 { table.answered(key.endpoint, for: host, status: 503, settings, at: at(0)) } }
        #expect(keys.map { isEjected($0, table, at: at(1)) } == [false, true, true])
        #expect(Set(table.endpointRecords(at: at(1)).map(\.endpoint)) == Set(keys[1...].map(\.endpoint)))
    }

    /// It counts from the end of the ejection, and from the last error without one. Many of them have left DNS.
    @Test("An endpoint that answers no more is forgotten, and others are not")
    func forgotten() {
        var table = EndpointTable()
        let other = EndpointTable.Key(
            endpoint: HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 192, 0, 2, 2), port: 443),
            host: .name("one.test")
        )
        table.answered(other.endpoint, for: host, status: 503, settings, at: at(0))
        for _ in 0..<3 { table.answered(key.endpoint, for: host, status: 503, settings, at: at(0)) }
        _ = table.ordered([key.endpoint], for: .name("two.test"), at: at(299))
        for _ in 0..<2 { table.answered(other.endpoint, for: host, status: 503, settings, at: at(299)) }
        #expect(isEjected(other, table, at: at(299)), "the error of 299 s before counts")
        _ = table.ordered([key.endpoint], for: .name("two.test"), at: at(390))
        #expect(table.endpointRecords(at: at(0)).map(\.endpoint) == [other.endpoint] && table.notableCount > 0)
        _ = table.ordered([key.endpoint], for: .name("two.test"), at: at(629))
        #expect(table.notableCount == 0)
    }

    /// The sweep runs with the next order.
    @Test("An ejected endpoint that left DNS costs later requests nothing")
    func swept() {
        let (one, two) = (key.endpoint, HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 192, 0, 2, 2), port: 443))
        var health = EndpointTable()
        for _ in 0..<3 { health.answered(one, for: host, status: 503, settings, at: at(0)) }
        #expect(health.ordered([one, two], for: host, at: at(1)) == [two, one])
        #expect(health.mayBeUnhealthy(one) && !health.mayBeUnhealthy(two))
        _ = health.ordered([two], for: .name("two.test"), at: at(400))
        #expect(!health.mayBeUnhealthy(one) && !health.mayBeUnhealthy(two))
    }

    /// Healthy endpoints go before all of these.
    @Test("An ejected endpoint goes behind suspects and before unreachable ones")
    func order() {
        let endpoints = (1...4).map { HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 192, 0, 2, $0), port: 443) }
        var health = EndpointTable()
        health.failed(endpoints[0], for: host, inTLS: false, at: at(0), random: 0)
        for _ in 0..<3 { health.answered(endpoints[1], for: host, status: 503, settings, at: at(0)) }
        health.suspected(endpoints[2], for: host, inTLS: false, at: at(0))
        #expect(health.ordered(endpoints, for: host, at: at(0)) == endpoints.reversed())
        #expect(health.ordered(endpoints, for: .name("two.test"), at: at(0))[0] == endpoints[1])
        #expect(health.standing(of: endpoints[1], for: host, at: at(30)) == .healthy)
    }
}
