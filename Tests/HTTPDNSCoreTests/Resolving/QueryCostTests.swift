// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSTesting
import Testing

struct QueryCostTests {
    /// Uses a name at intervals, and waits for what a use started.
    private func use(
        _ host: String,
        for time: Duration,
        each step: Duration = .seconds(10),
        _ fixture: ResolverFixture
    ) async throws {
        var listener = fixture.resolver.listener
        var known = fixture.resolver.counters.refreshesStarted
        for _ in 0..<Int(time / step) {
            fixture.time.advance(by: step)
            #expect(try fixture.immediate(host)?.isStale == false)
            guard fixture.resolver.counters.refreshesStarted > known else { continue }
            known = fixture.resolver.counters.refreshesStarted
            while let event = await listener.next() {
                if event.kind == .refreshed || event.kind == .refreshFailed { break }
            }
        }
    }

    @Test(
        "A name with only IPv4 addresses is queried as often as its time to live says",
        arguments: [(600, 6...7), (3600, 2...2), (300, 13...14)] as [(Int64, ClosedRange<Int>)]
    )
    func absentFamily(timeToLive: Int64, expected: ClosedRange<Int>) async throws {
        let fixture = try ResolverFixture(ticket: 1000)
        let answer = HTTPDNSProviderAnswer(
            v4: .addresses([HTTPDNSAddress(v4: 203, 0, 113, 1)], timeToLive: .seconds(timeToLive), canonicalName: nil),
            v6: .noData(timeToLive: .seconds(60))
        )
        try fixture.provider.answer(.answer(answer), for: HTTPDNSName("img.test"))
        _ = try await fixture.resolve("img.test")
        try await use("img.test", for: .seconds(3600), fixture)
        #expect(expected.contains(fixture.provider.queries.count), "\(fixture.provider.queries.count)")
    }

    @Test("A failed family is queried alone, after growing pauses")
    func failedFamily() async throws {
        let fixture = try ResolverFixture(ticket: 1000)
        var answer = HTTPDNSProviderAnswer.addresses([HTTPDNSAddress(v4: 203, 0, 113, 1)], timeToLive: .seconds(600))
        answer.v6 = .failed(.unavailable)
        try fixture.provider.answer(.answer(answer), for: HTTPDNSName("img.test"))
        _ = try await fixture.resolve("img.test")
        try await use("img.test", for: .seconds(520), fixture)
        // After 10, 20, 40, 80, 160 and 320 s.
        #expect(fixture.provider.queries.map(\.families) == [.both] + Array(repeating: .v6, count: 6))
        #expect(try fixture.immediate("img.test")?.timeToLive == .seconds(80))
        try await use("img.test", for: .seconds(20), fixture)
        #expect(fixture.provider.queries.last?.families == .v4)
    }

    /// The lives of the other family's addresses do not begin its pauses again.
    @Test("A family that fails for an hour costs 20 queries, whatever the time to live", arguments: [60, 300])
    func familyFailsForLong(timeToLive: Int64) async throws {
        let fixture = try ResolverFixture(ticket: 1000)
        let v4 = HTTPDNSAddress(v4: 203, 0, 113, 1)
        var answer = HTTPDNSProviderAnswer.addresses([v4], timeToLive: .seconds(timeToLive))
        answer.v6 = .failed(.unavailable)
        let host = try HTTPDNSName("img.test")
        fixture.provider.answer(.answer(answer), for: host)
        _ = try await fixture.resolve("img.test")
        func count(_ family: HTTPDNSAddress.Family) -> Int {
            fixture.provider.queries.count { $0.families.contains(family) }
        }
        try await use("img.test", for: .seconds(3600), each: .seconds(5), fixture)
        #expect((10...20).contains(count(.v6)), "\(count(.v6))")
        #expect(count(.v4) <= 4400 / Int(timeToLive), "\(count(.v4))")
        // Back again, it is found by the next of its queries.
        let v6 = HTTPDNSAddress(family: .v6, high: 1 << 61, low: 1)
        answer.v6 = .addresses([v6], timeToLive: .seconds(600), canonicalName: nil)
        fixture.provider.answer(.answer(answer), for: host)
        try await use("img.test", for: .seconds(310), each: .seconds(5), fixture)
        #expect(try fixture.immediate("img.test")?.endpoints.count == 2)
    }

    @Test("A family in back-off is queried when the other one has no address any more")
    func restingFamilyDecides() async throws {
        let fixture = try ResolverFixture(ticket: 1000) { $0.cache.staleLimit = .zero }
        var answer = HTTPDNSProviderAnswer.addresses([HTTPDNSAddress(v4: 203, 0, 113, 1)], timeToLive: .seconds(5))
        answer.v6 = .failed(.unavailable)
        let host = try HTTPDNSName("img.test")
        fixture.provider.answer(.answer(answer), for: host)
        _ = try await fixture.resolve("img.test")
        fixture.time.advance(by: .seconds(5))
        answer.v4 = .noData(timeToLive: .seconds(60))
        let v6 = HTTPDNSAddress(family: .v6, high: 1 << 61, low: 1)
        answer.v6 = .addresses([v6], timeToLive: .seconds(60), canonicalName: nil)
        fixture.provider.answer(.answer(answer), for: host)
        #expect(try await fixture.resolve("img.test").endpoints.map(\.address.family) == [.v6])
        #expect(fixture.provider.queries.map(\.families) == [.both, .v4, .both])
    }

    @Test("The absence of a family that failed before is not queried again")
    func failedThenAbsent() async throws {
        let fixture = try ResolverFixture(ticket: 1000)
        var answer = HTTPDNSProviderAnswer.addresses([HTTPDNSAddress(v4: 203, 0, 113, 1)], timeToLive: .seconds(600))
        answer.v6 = .failed(.unavailable)
        try fixture.provider.answer(.answer(answer), for: HTTPDNSName("img.test"))
        _ = try await fixture.resolve("img.test")
        answer.v6 = .noData(timeToLive: .seconds(60))
        try fixture.provider.answer(.answer(answer), for: HTTPDNSName("img.test"))
        try await use("img.test", for: .seconds(530), fixture)
        #expect(fixture.provider.queries.map(\.families) == [.both, .v6])
        #expect(try fixture.immediate("img.test")?.addresses == ["203.0.113.1"])
    }

    @Test("IPv6 addresses are queried only while the machine has an IPv6 route")
    func noRoute() async throws {
        let hasRoute = Lock(false)
        let fixture = try ResolverFixture {
            $0.hasIPv6Route = { hasRoute.withLock { $0 } }
            $0.routes.append(
                HTTPDNSRoute(
                    .exact(try HTTPDNSName("both.test")),
                    .providers(["doh"], fallback: .off),
                    families: .both
                )
            )
        }
        for name in ["img.test", "both.test", "later.test"] {
            try fixture.say(["203.0.113.1", "2001:db8::1"], timeToLive: .seconds(60), about: name)
        }
        #expect(try await fixture.resolve("img.test").addresses == ["203.0.113.1"])
        #expect(try await fixture.resolve("both.test").addresses == ["203.0.113.1", "2001:db8::1"])
        #expect(try await fixture.resolve("img.test") { $0.families = .both }.addresses.count == 2)
        #expect(fixture.provider.queries.map(\.families) == [.v4, .both, .both])
        hasRoute.withLock { $0 = true }
        fixture.time.advance(by: .seconds(10))
        #expect(try await fixture.resolve("later.test").addresses == ["203.0.113.1", "2001:db8::1"])
    }

    @Test("With both families in the settings the machine's routes do not matter")
    func explicitFamilies() async throws {
        let fixture = try ResolverFixture {
            $0.hasIPv6Route = { false }
            $0.families = .both
        }
        _ = try? await fixture.resolve("img.test")
        #expect(fixture.provider.queries.map(\.families) == [.both])
    }

    @Test("The system resolver is asked for both families on every machine")
    func systemFamilies() async throws {
        let fixture = try ResolverFixture {
            $0.hasIPv6Route = { false }
            $0.routes = []
        }
        try fixture.system.answer(.success([HTTPDNSAddress("::1")!]), for: HTTPDNSName("img.test"))
        #expect(try await fixture.resolve("img.test").addresses == ["::1"])
    }
}
