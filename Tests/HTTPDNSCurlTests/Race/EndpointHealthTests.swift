// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Testing

@testable import HTTPDNSCurl

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
        #expect(EndpointTable.rest(afterFailures: failures, random: random) == rest)
    }

    /// Their order is kept otherwise, and none is left out.
    @Test("Healthy endpoints come first, then suspects, then those that cool down")
    func order() {
        var health = EndpointTable()
        #expect(health.ordered([one, two, three], for: host, at: at(0)) == [one, two, three])
        health.failed(one, for: host, inTLS: false, at: at(0), random: 0)
        health.suspected(two, for: host, inTLS: false, at: at(0))
        #expect(health.ordered([one, two, three], for: host, at: at(0)) == [three, two, one])
        health.failed(two, for: host, inTLS: false, at: at(0), random: 0)
        health.failed(three, for: host, inTLS: false, at: at(0), random: 0)
        #expect(health.ordered([one, two, three], for: host, at: at(0)) == [one, two, three], "panic: all, in order")
        health.connected(two, for: host, in: nil, at: at(1))
        #expect(health.ordered([one, two, three], for: host, at: at(0)) == [two, one, three])
        #expect(health.notableCount == 2)
    }

    @Test("A TLS result is about one host, and a TCP result about all")
    func hosts() {
        var health = EndpointTable()
        health.failed(one, for: host, inTLS: true, at: at(0), random: 0)
        #expect(health.standing(of: one, for: host, at: at(0)) == .cooling)
        #expect(health.standing(of: one, for: other, at: at(0)) == .healthy)
        health.connected(one, for: other, in: nil, at: at(0))
        #expect(health.standing(of: one, for: host, at: at(0)) == .cooling, "another name's certificate proves nothing")
        health.connected(one, for: host, overTLS: false, in: nil, at: at(0))
        #expect(health.standing(of: one, for: host, at: at(0)) == .cooling, "nor does a connection without TLS")
        health.connected(one, for: host, in: nil, at: at(0))
        #expect(health.standing(of: one, for: host, at: at(0)) == .healthy && health.notableCount == 0)
        health.failed(one, for: host, inTLS: false, at: at(0), random: 0)
        #expect(health.standing(of: one, for: other, at: at(0)) == .cooling)
    }

    /// A failure after the cool-down counts again.
    @Test("Concurrent failures count once, and a success forgets them")
    func counting() throws {
        var health = EndpointTable()
        for _ in 0..<64 { health.failed(one, for: host, inTLS: false, at: at(0), random: 0) }
        #expect(health.endpointRecords(at: at(0)).first?.consecutiveFailures == 1)
        #expect(health.endpointRecords(at: at(0)).first?.until == .init(at(1)))
        health.failed(one, for: host, inTLS: false, at: at(1), random: 0)
        #expect(health.endpointRecords(at: at(0)).first?.consecutiveFailures == 2)
        #expect(health.endpointRecords(at: at(0)).first?.until == .init(at(3)))
        health.connected(one, for: host, in: .milliseconds(7), at: at(2))
        let record = try #require(health.endpointRecords(at: at(0)).first)
        #expect(record.state == .healthy && record.consecutiveFailures == 0 && record.until == nil)
        #expect(record.connectedAt == .init(at(2)) && record.connectTime == .milliseconds(7))
    }

    /// Requests do not wait for the probe.
    @Test("A cooled-down endpoint is probed once, and again when that decided nothing")
    func probes() {
        var health = EndpointTable()
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

    private func takes(_ health: inout EndpointTable, _ seconds: Double) -> Bool {
        health.takeProbe(of: one, for: host, at: at(seconds))
    }

    /// It has left DNS, or nobody asks for its host.
    @Test("An unhealthy endpoint is forgotten minutes after its cool-down")
    func forgotten() {
        var health = EndpointTable()
        health.failed(one, for: host, inTLS: false, at: at(0), random: 0)
        health.failed(two, for: host, inTLS: true, at: at(100), random: 0)
        #expect(health.ordered([one, three], for: host, at: at(300)) == [three, one])
        #expect(health.ordered([one, three], for: host, at: at(361)) == [one, three] && health.notableCount == 1)
        #expect(health.ordered([two, three], for: host, at: at(361)) == [three, two])
        #expect(health.ordered([two, three], for: host, at: at(500)) == [two, three] && health.notableCount == 0)
        let isForgotten = [one, two].allSatisfy { !health.mayBeUnhealthy($0) }
        #expect(isForgotten)
    }

    @Test("A result from one local source says nothing about another one")
    func sources() {
        var health = EndpointTable()
        let source = HTTPDNSTransfer.LocalSource.interface("dead0")
        health.failed(one, for: host, from: source, inTLS: false, at: at(0), random: 0)
        #expect(health.ordered([one, two], for: host, from: source, at: at(0)) == [two, one])
        #expect(health.ordered([one, two], for: host, at: at(0)) == [one, two])
        let due = [nil, source].map { health.takeProbe(of: one, for: host, from: $0, at: at(2)) }
        #expect(due == [false, true])
    }

    @Test("Another certificate keeps the health of endpoints, and no result of TLS")
    func handedOver() {
        var health = EndpointTable()
        health.failed(one, for: host, inTLS: false, at: at(0), random: 0)
        health.failed(two, for: host, inTLS: true, at: at(0), random: 0)
        var next = health.withoutTLSResults()
        #expect(next.ordered([one, two, three], for: host, at: at(0)) == [two, three, one])
        #expect(next.notableCount == 1)
    }

    @Test("The table is bounded, and removed entries no longer count as unhealthy")
    func bound() {
        var health = EndpointTable(limit: 4)
        for number in UInt8(0)..<100 {
            let endpoint = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 192, 0, 2, number), port: 1)
            health.failed(endpoint, for: host, inTLS: false, at: at(0), random: 0)
        }
        #expect(health.endpointRecords(at: at(0)).count == 4 && health.notableCount == 4)
    }
}
