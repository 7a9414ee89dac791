// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSTesting
import ServerRig
import Testing

@testable import HTTPDNSMonitor

struct SamplingTests {
    private typealias Predicate = HTTPDNSClient.RequestPredicate

    private static func call(
        _ number: UInt64,
        status: Int = 200,
        outcome: HTTPDNSClient.CallRecord.Outcome = .finished
    ) -> HTTPDNSClient.CallRecord {
        var call = HTTPDNSClient.CallRecord(
            callID: number,
            url: "http://one.test/",
            start: .now,
            outcome: outcome
        )
        call.status = .init(code: status)
        return call
    }

    private static func chosen(_ sampling: Monitor.Sampling) -> [UInt64] {
        (0..<10_000).filter { sampling.includes(call($0), number: $0) }
    }

    @Test("A share of 10 % records 1,000 of 10,000 calls, and a seed the same ones", arguments: [0, 1, 7, UInt64.max])
    func share(seed: UInt64) {
        let chosen = Self.chosen(Monitor.Sampling(share: 0.1, seed: seed))
        #expect((900...1100).contains(chosen.count), "\(chosen.count)")
        #expect(chosen == Self.chosen(Monitor.Sampling(share: 0.1, seed: seed)))
        #expect(chosen != Self.chosen(Monitor.Sampling(share: 0.1, seed: seed &+ 1)))
        // The choice has no period: each tenth of the calls has its share.
        for tenth in 0..<10 { #expect((50...150).contains(chosen.count { $0 / 1000 == tenth })) }
    }

    @Test("A share of 0 records nothing, and a share of 1 everything")
    func bounds() {
        #expect(Self.chosen(Monitor.Sampling(share: 0)).isEmpty)
        #expect(Self.chosen(.all).count == 10_000)
    }

    @Test("Errors are always recorded, unless the settings say otherwise", arguments: [true, false])
    func errors(areKept: Bool) {
        let sampling = Monitor.Sampling(share: 0, keepsErrors: areKept)
        let calls = [Self.call(1, status: 404), Self.call(2, status: 500), Self.call(3, outcome: .failed)]
        #expect(calls.allSatisfy { sampling.includes($0, number: 1) == areKept })
        #expect(!sampling.includes(Self.call(4, status: 302), number: 1))
    }

    @Test("Only calls that fulfill the conditions are counted and recorded")
    func conditions() async throws {
        let stubs = HTTPDNSStubs()
        stubs.on(.all).respond(.text("a"))
        let client = try await HTTPDNSClient(configuration: .stubbed(stubs))
        let monitor = try Monitor(
            .with {
                $0.includes = .host("*.shop.test")
                $0.excludes = .path("/health") || .header(.range)
            }
        )
        monitor.start(on: client)
        for url in ["http://a.shop.test/x", "http://b.test/x", "http://a.shop.test/health", "http://b.shop.test/"] {
            _ = try await client.get(url)
        }
        #expect(Set(monitor.records.map(\.url)) == ["http://a.shop.test/x", "http://b.shop.test/"])
        #expect(monitor.counters.calls.calls == 2)
        try await client.shutdown()
    }

    @Test("Counters count the calls that sampling leaves out")
    func counters() async throws {
        let stubs = HTTPDNSStubs()
        stubs.on(.all).respond(.text("a"))
        let client = try await HTTPDNSClient(configuration: .stubbed(stubs))
        let monitor = try Monitor(.with { $0.sampling = Monitor.Sampling(share: 0.1, seed: 3) })
        monitor.start(on: client)
        for _ in 0..<200 { _ = try await client.get("http://one.test/").body.collect(upTo: .kibibytes(1)) }
        #expect(monitor.counters.calls.calls == 200 && monitor.counters.traffic.answeredInProcess == 200)
        #expect((5...45).contains(monitor.records.count) && monitor.counters.records == monitor.records.count)
        try await client.shutdown()
    }

    private static let unreadable: [(String, HTTPDNSClient.RequestPredicate)] = [
        ("body", .body([1])), ("closure", .custom("closure") { _ in true }), ("not", !.body([1])),
        ("or", .method(.get) || .body([1])),
    ]

    @Test("A condition that needs a body or a closure is refused", arguments: unreadable)
    func refused(_ name: String, _ condition: HTTPDNSClient.RequestPredicate) throws {
        let changes: [(inout Monitor.Settings) -> Void] = [
            { $0.includes = condition }, { $0.excludes = condition }, { $0.withholdsBodies = condition },
        ]
        for change in changes {
            let error = #expect(throws: HTTPDNSClientError.self) { try Monitor(.with(change)) }
            #expect(error?.code == .configuration)
        }
        #expect(throws: HTTPDNSClientError.self) { try Monitor(.with { $0.sampling.share = 1.5 }) }
        #expect(throws: HTTPDNSClientError.self) { try Monitor(.with { $0.sampling.share = .nan }) }
    }
}
