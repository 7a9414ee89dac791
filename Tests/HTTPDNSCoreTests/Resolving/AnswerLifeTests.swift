// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSTesting
import Testing

struct AnswerLifeTests {
    /// One that took 2 s has lost them, and is not fresh a nanosecond longer.
    @Test("An answer's life counts from the sending of its query")
    func countsFromSending() async throws {
        let fixture = try ResolverFixture { $0.cache.refreshesAhead = false }
        try fixture.say(["203.0.113.1"], timeToLive: .seconds(10), about: "img.test")
        fixture.provider.hold()
        async let pending = fixture.resolve("img.test")
        await fixture.provider.queries(atLeast: 1)
        fixture.time.advance(by: .seconds(2))
        fixture.provider.release()
        #expect(try await pending.timeToLive == .seconds(8))
        fixture.time.advance(by: .seconds(8) - .nanoseconds(1))
        #expect(try fixture.immediate("img.test")?.isStale == false)
        fixture.time.advance(by: .nanoseconds(1))
        #expect(try fixture.immediate("img.test") == nil)
    }

    @Test("Bounds of positive answers do not apply to negative ones and failures")
    func negativeLives() async throws {
        let fixture = try ResolverFixture { $0.cache.minimumTimeToLive = .seconds(600) }
        try fixture.provider.answer(.failure(.unavailable), for: HTTPDNSName("bad.test"))
        for (name, life) in [("gone.test", Duration.seconds(5)), ("bad.test", .seconds(1))] {
            _ = try? await fixture.resolve(name)
            fixture.time.advance(by: life - .nanoseconds(1))
            #expect(throws: HTTPDNSResolver.Error.self) { try fixture.immediate(name) }
            fixture.time.advance(by: .nanoseconds(1))
            #expect(try fixture.immediate(name) == nil)
        }
    }

    @Test(
        "An override decides how long an answer lives, within the floor and the cap",
        arguments: [
            (Duration.seconds(30), Duration.seconds(30)), (.seconds(1000), .seconds(100)), (.zero, .seconds(2)),
            (.seconds(-9), .seconds(2)), (.seconds(Int64.max), .seconds(100)), (.seconds(Int64.min), .seconds(2)),
        ]
    )
    func override(says: Duration, lives: Duration) async throws {
        let special = try HTTPDNSName("special.test")
        let fixture = try ResolverFixture {
            $0.cache.minimumTimeToLive = .seconds(2)
            $0.cache.maximumTimeToLive = .seconds(100)
            $0.timeToLiveOverride = { host, own in host == special && own == .seconds(60) ? says : own }
        }
        for name in ["special.test", "other.test"] { try fixture.say(["203.0.113.1"], about: name) }
        #expect(try await fixture.resolve("special.test").timeToLive == lives)
        #expect(try await fixture.resolve("other.test").timeToLive == .seconds(60))
    }

    @Test(
        "A route's bounds replace those of the cache",
        arguments: [
            (nil, nil, 60), (90, nil, 90), (nil, 5, 5), (200, nil, 200), (nil, 1, 1), (3, 8, 8), (0, nil, 60),
        ] as [(Int64?, Int64?, Int64)]
    )
    func routeBounds(_ least: Int64?, _ most: Int64?, _ life: Int64) async throws {
        let fixture = try ResolverFixture {
            $0.cache.minimumTimeToLive = .seconds(2)
            $0.cache.maximumTimeToLive = .seconds(100)
            $0.routes[0].minimumTimeToLive = least.map { .seconds($0) }
            $0.routes[0].maximumTimeToLive = most.map { .seconds($0) }
        }
        try fixture.say(["203.0.113.1"], about: "img.test")
        #expect(try await fixture.resolve("img.test").timeToLive == .seconds(life))
    }

    @Test("A route's limit shortens a negative answer", arguments: [(nil, 5), (300, 5), (2, 2)] as [(Int64?, Int64)])
    func routeNegativeLimit(_ limit: Int64?, _ life: Int64) async throws {
        let fixture = try ResolverFixture { $0.routes[0].negativeTimeToLive = limit.map { .seconds($0) } }
        _ = try? await fixture.resolve("gone.test")
        fixture.time.advance(by: .seconds(life) - .nanoseconds(1))
        #expect(throws: HTTPDNSResolver.Error.self) { try fixture.immediate("gone.test") }
        fixture.time.advance(by: .nanoseconds(1))
        #expect(try fixture.immediate("gone.test") == nil)
    }

    @Test("Lookups for different networks or families share no query and no answer")
    func subnets() async throws {
        let own = try #require(HTTPDNSAddressBlock("198.51.100.0/24"))
        let other = try #require(HTTPDNSAddressBlock("192.0.2.0/24"))
        let fixture = try ResolverFixture { $0.routes[0].clientSubnet = own }
        try fixture.say(["203.0.113.1", "2001:db8::1"], about: "img.test")
        fixture.provider.hold()
        async let first = fixture.resolve("img.test")
        async let second = fixture.resolve("img.test") { $0.clientSubnet = other }
        async let third = fixture.resolve("img.test") { $0.families = .v4 }
        await fixture.provider.queries(atLeast: 3)
        fixture.provider.release()
        _ = try await (first, second, third)
        #expect(fixture.provider.queries.count { $0.clientSubnet == other } == 1)
        #expect(fixture.provider.queries.count { $0.clientSubnet == own } == 2)
        for change in [{ _ in }, { $0.clientSubnet = other }, { $0.families = .v4 }]
            as [(inout HTTPDNSResolver.Query) -> Void]
        {
            #expect(try fixture.immediate("img.test", change)?.isCached == true)
        }
        #expect(try fixture.immediate("img.test") { $0.families = .v6 } == nil)
        #expect(fixture.provider.queries.count == 3)
    }

    /// Any seven of twenty leave.
    @Test("Canceled waiters return immediately, and the others get the answer")
    func cancelsSome() async throws {
        let fixture = try ResolverFixture()
        try fixture.say(["203.0.113.1"], about: "img.test")
        fixture.provider.hold()
        let tasks = (0..<20).map { _ in Task { try await fixture.resolve("img.test") } }
        await fixture.provider.queries(atLeast: 1)
        for number in stride(from: 0, to: 20, by: 3) { tasks[number].cancel() }
        for number in stride(from: 0, to: 20, by: 3) {
            await #expect(throws: CancellationError.self) { try await tasks[number].value }
        }
        fixture.provider.release()
        for number in 0..<20 where number % 3 != 0 {
            #expect(try await tasks[number].value.addresses == ["203.0.113.1"])
        }
    }

    @Test("A family that fails in a refresh keeps its addresses and is retried after 10 s")
    func keepsFailedFamily() async throws {
        let fixture = try ResolverFixture(ticket: 1000)
        var listener = fixture.resolver.listener
        try fixture.say(["203.0.113.1", "2001:db8::1"], timeToLive: .seconds(600), about: "half.test")
        _ = try await fixture.resolve("half.test")
        try half(fixture, timeToLive: .seconds(600))
        fixture.time.advance(by: .seconds(540))
        _ = try fixture.immediate("half.test")
        await listener.wait(for: .refreshed)
        let kept = try #require(try fixture.immediate("half.test"))
        #expect(kept.addresses == ["203.0.113.2", "2001:db8::1"])
        // No longer than the addresses of either family live.
        #expect(kept.timeToLive == .seconds(60))
        fixture.time.advance(by: .seconds(10) - .nanoseconds(1))
        _ = try fixture.immediate("half.test")
        #expect(fixture.provider.queries.count == 2)
        fixture.time.advance(by: .nanoseconds(1))
        #expect(try fixture.immediate("half.test")?.isCached == true)
        await listener.wait(for: .refreshFailed)
        #expect(fixture.provider.queries.map(\.families) == [.both, .both, .v6])
    }

    /// The missing family is fetched in the background.
    @Test("Half of an answer serves for its whole life")
    func rechecksFamily() async throws {
        let fixture = try ResolverFixture()
        var listener = fixture.resolver.listener
        try half(fixture, timeToLive: .seconds(600))
        #expect(try await fixture.resolve("half.test").timeToLive == .seconds(600))
        try fixture.say(["203.0.113.2", "2001:db8::2"], timeToLive: .seconds(600), about: "half.test")
        fixture.time.advance(by: .seconds(10))
        #expect(try fixture.immediate("half.test")?.addresses == ["203.0.113.2"])
        await listener.wait(for: .refreshed)
        #expect(try fixture.immediate("half.test")?.addresses == ["203.0.113.2", "2001:db8::2"])
        #expect(fixture.resolver.counters.misses == 1)
    }

    private func half(_ fixture: ResolverFixture, timeToLive: Duration) throws {
        let answer = HTTPDNSProviderAnswer(
            v4: .addresses([HTTPDNSAddress(v4: 203, 0, 113, 2)], timeToLive: timeToLive, canonicalName: nil),
            v6: .failed(.unavailable)
        )
        try fixture.provider.answer(.answer(answer), for: HTTPDNSName("half.test"))
    }
}
