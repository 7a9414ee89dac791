// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import Testing

@testable import HTTPDNSCurl

struct EndpointMeasurementTests {
    private let endpoints = (1...3).map { HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 192, 0, 2, $0), port: 443) }
    private let origin = RaceOrigin(host: .name("one.test"), port: 443)
    private let other = RaceOrigin(host: .name("two.test"), port: 443)
    private static let second: Int64 = 1_000_000_000

    /// Each host has its own turns. A new endpoint goes first.
    @Test("Round robin takes the endpoint that began a request longest ago")
    func turns() {
        var memory = EndpointTable()
        var used: [HTTPDNSEndpoint] = []
        for _ in 0..<6 {
            let first = memory.byTurns(Array(endpoints.reversed()), for: origin)[0]
            memory.begins(first, origin, .roundRobin, at: 0)
            used.append(first)
        }
        #expect(used == endpoints.reversed() + endpoints.reversed())
        #expect(memory.byTurns(endpoints, for: other) == endpoints)
        let new = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 192, 0, 2, 9), port: 443)
        #expect(memory.byTurns(endpoints + [new], for: origin)[0] == new)
        #expect(memory.byTurns([endpoints[0], endpoints[1]], for: origin)[0] == endpoints[1])
    }

    /// One slow response changes little.
    @Test("By pace, each endpoint is measured once, then the fastest comes first")
    func pace() {
        var memory = EndpointTable()
        #expect(memory.byLatency(endpoints, for: origin, at: 0) == endpoints)
        for (endpoint, time) in zip(endpoints, [50, 1, 4] as [Int64]) {
            #expect(memory.byLatency(endpoints, for: origin, at: 0)[0] == endpoint, "not measured yet")
            memory.answered(endpoint, origin, in: time * 1_000_000, at: 0)
        }
        #expect(memory.byLatency(endpoints, for: origin, at: 0) == [endpoints[1], endpoints[2], endpoints[0]])
        memory.answered(endpoints[1], origin, in: 10_000_000, at: 0)
        #expect(memory.byLatency(endpoints, for: origin, at: 0)[0] == endpoints[1])
        for _ in 0..<10 { memory.answered(endpoints[1], origin, in: 10_000_000, at: 0) }
        #expect(memory.byLatency(endpoints, for: origin, at: 0)[0] == endpoints[2])
        #expect(memory.byLatency(endpoints, for: other, at: 0) == endpoints)
    }

    @Test("A slow endpoint is tried again, the later the slower it was")
    func again() {
        var memory = EndpointTable()
        for (endpoint, time) in zip(endpoints, [1, 3, 40] as [Int64]) {
            memory.answered(endpoint, origin, in: time * 1_000_000, at: 0)
        }
        func first(after seconds: Int64) -> HTTPDNSEndpoint {
            memory.answered(endpoints[0], origin, in: 1_000_000, at: seconds * Self.second)
            return memory.byLatency(endpoints, for: origin, at: seconds * Self.second)[0]
        }
        #expect(first(after: 60) == endpoints[0])
        #expect(first(after: 120) == endpoints[1])
        memory.answered(endpoints[1], origin, in: 3_000_000, at: 120 * Self.second)
        #expect(first(after: 200) == endpoints[0])
        memory.answered(endpoints[1], origin, in: 3_000_000, at: 400 * Self.second)
        #expect(first(after: 400) == endpoints[2])
    }

    /// The response may never come.
    @Test("Requests avoid an endpoint whose first response is awaited, for a minute")
    func pending() {
        var memory = EndpointTable()
        for endpoint in endpoints {
            #expect(memory.byLatency(endpoints, for: origin, at: 0)[0] == endpoint)
            memory.begins(endpoint, origin, .fastest, at: 0)
        }
        #expect(memory.byLatency(endpoints, for: origin, at: 0) == endpoints)
        memory.answered(endpoints[2], origin, in: 9_000_000_000, at: 0)
        #expect(memory.byLatency(endpoints, for: origin, at: 59 * Self.second)[0] == endpoints[2])
        #expect(memory.byLatency(endpoints, for: origin, at: 60 * Self.second)[0] == endpoints[0])
        memory.begins(endpoints[0], origin, .fastest, at: 60 * Self.second)
        #expect(memory.byLatency(endpoints, for: origin, at: 60 * Self.second)[0] == endpoints[1])
    }

    @Test("A slow endpoint is tried again by one request at a time")
    func oneTries() {
        var memory = EndpointTable()
        for (endpoint, time) in zip(endpoints, [40, 3, 60] as [Int64]) {
            memory.answered(endpoint, origin, in: time * 1_000_000, at: 0)
        }
        let later = 240 * Self.second
        memory.answered(endpoints[1], origin, in: 3_000_000, at: later)
        #expect(memory.byLatency(endpoints, for: origin, at: later)[0] == endpoints[0])
        memory.begins(endpoints[0], origin, .fastest, at: later)
        #expect(memory.byLatency(endpoints, for: origin, at: later)[0] == endpoints[1])
    }

    @Test("A wait in vain counts as a response time, and never makes an endpoint faster")
    func inVain() {
        var memory = EndpointTable()
        memory.begins(endpoints[0], origin, .fastest, at: 0)
        memory.unanswered(endpoints[0], origin, for: 50_000_000, at: 0)
        memory.answered(endpoints[1], origin, in: 20_000_000, at: 0)
        let two = Array(endpoints.prefix(2))
        #expect(memory.byLatency(two, for: origin, at: 0)[0] == endpoints[1])
        for _ in 0..<50 { memory.unanswered(endpoints[0], origin, for: 1_000_000, at: 0) }
        #expect(memory.byLatency(two, for: origin, at: 0)[0] == endpoints[1])
        for _ in 0..<3 { memory.unanswered(endpoints[1], origin, for: 500_000_000, at: 0) }
        #expect(memory.byLatency(two, for: origin, at: 0)[0] == endpoints[0])
    }

    @Test("Only the endpoint that carried the last request loses its preference")
    func carrier() {
        var memory = EndpointTable()
        let adaptive = EndpointOrder.adaptive(first: nil)
        memory.carried(endpoints[0], origin, adaptive)
        memory.carried(endpoints[1], origin, adaptive)
        memory.failed(endpoints[0], origin)
        memory.failed(endpoints[1], other)
        #expect(memory.lastCarrier(for: origin) == EndpointTable.Carrier(endpoint: endpoints[1]))
        #expect(memory.lastCarrier(for: other) == nil)
        memory.failed(endpoints[1], origin)
        #expect(memory.lastCarrier(for: origin)?.hasFailed == true)
        memory.carried(endpoints[1], origin, adaptive)
        #expect(memory.lastCarrier(for: origin)?.hasFailed == false)
    }

    @Test("Random selection gives each order its chance, and keeps every endpoint")
    func lots() {
        var numbers = [0.99, 0.99]
        #expect(EndpointOrder.shuffled(endpoints) { numbers.removeFirst() } == endpoints)
        #expect(EndpointOrder.shuffled(endpoints) { 0 } == [endpoints[1], endpoints[2], endpoints[0]])
        var firsts: [HTTPDNSEndpoint: Int] = [:]
        var generator = SystemRandomNumberGenerator()
        for _ in 0..<3000 {
            let order = EndpointOrder.shuffled(endpoints) { Double.random(in: 0..<1, using: &generator) }
            #expect(Set(order).count == 3)
            firsts[order[0], default: 0] += 1
        }
        #expect(firsts.values.allSatisfy { (800...1200).contains($0) }, "\(firsts)")
    }
}
