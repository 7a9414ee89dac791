// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Testing

@testable import HTTPDNSCurl

@Suite("EndpointHealth")
struct EndpointHealthTests {
    private let one = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 192, 0, 2, 1), port: 443)
    private let two = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 192, 0, 2, 2), port: 443)
    private let three = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 192, 0, 2, 3), port: 443)
    private let host = ParsedURL.Host.name("one.test")
    private let other = ParsedURL.Host.name("two.test")

    private func at(_ seconds: Double) -> MonotonicTime {
        MonotonicTime(nanoseconds: 0) + .milliseconds(Int64(seconds * 1000))
    }

    @Test(
        "Cool-downs double from 1 s to 60 s, and are shortened by a quarter at most",
        arguments: [
            (1, 0.0, Duration.seconds(1)), (2, 0, .seconds(2)), (6, 0, .seconds(32)), (7, 0, .seconds(60)),
            (70, 0, .seconds(60)), (1, 1, .milliseconds(750)), (3, 0.5, .milliseconds(3500)),
        ]
    )
    func rests(failures: Int, random: Double, rest: Duration) {
        #expect(EndpointHealth.rest(afterFailures: failures, random: random) == rest)
    }

    /// Their order is kept otherwise, and none is left out.
    @Test("Healthy endpoints come first, then suspects, then those that cool down")
    func order() {
        var health = EndpointHealth()
        #expect(health.ordered([one, two, three], for: host, at: at(0)) == [one, two, three])
        health.failed(one, for: host, inTLS: false, at: at(0), random: 0)
        health.suspected(two, for: host, inTLS: false, at: at(0))
        #expect(health.ordered([one, two, three], for: host, at: at(0)) == [three, two, one])
        health.failed(two, for: host, inTLS: false, at: at(0), random: 0)
        health.failed(three, for: host, inTLS: false, at: at(0), random: 0)
        #expect(health.ordered([one, two, three], for: host, at: at(0)) == [one, two, three], "panic: all, in order")
        health.connected(two, for: host, in: nil, at: at(1))
        #expect(health.ordered([one, two, three], for: host, at: at(0)) == [two, one, three])
        #expect(health.unhealthyCount == 2)
    }

    @Test("A TLS result is about one host, and a TCP result about all")
    func hosts() {
        var health = EndpointHealth()
        health.failed(one, for: host, inTLS: true, at: at(0), random: 0)
        #expect(health.standing(of: one, for: host, at: at(0)) == .cooling)
        #expect(health.standing(of: one, for: other, at: at(0)) == .healthy)
        health.connected(one, for: other, in: nil, at: at(0))
        #expect(health.standing(of: one, for: host, at: at(0)) == .cooling, "another name's certificate proves nothing")
        health.connected(one, for: host, in: nil, at: at(0))
        #expect(health.standing(of: one, for: host, at: at(0)) == .healthy && health.unhealthyCount == 0)
        health.failed(one, for: host, inTLS: false, at: at(0), random: 0)
        #expect(health.standing(of: one, for: other, at: at(0)) == .cooling)
    }

    /// A failure after the cool-down counts again.
    @Test("Concurrent failures count once, and a success forgets them")
    func counting() throws {
        var health = EndpointHealth()
        for _ in 0..<64 { health.failed(one, for: host, inTLS: false, at: at(0), random: 0) }
        #expect(health.records(at: at(0)).first?.consecutiveFailures == 1)
        #expect(health.records(at: at(0)).first?.until == at(1))
        health.failed(one, for: host, inTLS: false, at: at(1), random: 0)
        #expect(health.records(at: at(0)).first?.consecutiveFailures == 2)
        #expect(health.records(at: at(0)).first?.until == at(3))
        health.connected(one, for: host, in: .milliseconds(7), at: at(2))
        let record = try #require(health.records(at: at(0)).first)
        #expect(record.state == .healthy && record.consecutiveFailures == 0 && record.until == nil)
        #expect(record.connectedAt == at(2) && record.connectTime == .milliseconds(7))
    }

    /// Requests do not wait for the probe.
    @Test("A cooled-down endpoint is probed once, and again when that decided nothing")
    func probes() {
        var health = EndpointHealth()
        #expect(takes(&health, 0) == false)
        health.failed(one, for: host, inTLS: false, at: at(0), random: 0)
        #expect(takes(&health, 0.9) == false)
        #expect(takes(&health, 1) == true)
        #expect(takes(&health, 2) == false, "one at a time")
        #expect(takes(&health, 32) == true)
        health.failed(one, for: host, inTLS: false, at: at(33), random: 0)
        #expect(takes(&health, 34.9) == false)
        #expect(takes(&health, 35) == true)
    }

    private func takes(_ health: inout EndpointHealth, _ seconds: Double) -> Bool {
        health.takeProbe(of: one, for: host, at: at(seconds))
    }

    @Test("The table is bounded, and removed entries no longer count as unhealthy")
    func bound() {
        var health = EndpointHealth(limit: 4)
        for number in UInt8(0)..<100 {
            let endpoint = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 192, 0, 2, number), port: 1)
            health.failed(endpoint, for: host, inTLS: false, at: at(0), random: 0)
        }
        #expect(health.records(at: at(0)).count == 4 && health.unhealthyCount == 4)
    }
}
