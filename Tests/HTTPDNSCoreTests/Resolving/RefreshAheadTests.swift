// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSTesting
import Testing

struct RefreshAheadTests {
    /// The window is the last tenth of the life, at least 2 s and at most half.
    @Test(
        "A hit in the refresh window returns immediately and starts one refresh",
        arguments: [
            (60, 1000, 54_000), (60, 0, 54_600), (60, 2000, 53_400), (10, 1000, 8_000), (10, 2000, 7_800),
            (2, 1000, 1_000), (2, 0, 1_100), (3600, 1000, 3_240_000),
        ] as [(Int64, UInt64, Int64)]
    )
    func window(timeToLive: Int64, ticket: UInt64, opensAt: Int64) async throws {
        let fixture = try ResolverFixture(ticket: ticket)
        var listener = fixture.resolver.listener
        try fixture.say(["203.0.113.1", "2001:db8::1"], timeToLive: .seconds(timeToLive), about: "img.test")
        _ = try await fixture.resolve("img.test")
        // Parts of a window are fractions of a binary number: a microsecond is finer than any window.
        fixture.time.advance(by: .milliseconds(opensAt) - .microseconds(1))
        _ = try fixture.immediate("img.test")
        #expect(fixture.resolver.counters.refreshesStarted == 0)

        fixture.provider.hold()
        fixture.time.advance(by: .microseconds(2))
        for _ in 0..<10 {
            let hit = try #require(try fixture.immediate("img.test"))
            #expect(hit.isCached && !hit.isStale && hit.addresses == ["203.0.113.1", "2001:db8::1"])
        }
        await fixture.provider.queries(atLeast: 2)
        #expect(fixture.resolver.counters.refreshesStarted == 1)
        try fixture.say(["203.0.113.2", "2001:db8::1"], timeToLive: .seconds(timeToLive), about: "img.test")
        fixture.provider.release()
        await listener.wait(for: .refreshed)
        let renewed = try #require(try fixture.immediate("img.test"))
        #expect(renewed.isCached && renewed.addresses == ["203.0.113.2", "2001:db8::1"])
        #expect(renewed.age == .zero)
        #expect(fixture.provider.queries.count == 2)
        let counters = fixture.resolver.counters
        #expect(counters.misses == 1 && counters.joined == 0 && counters.hits == 12)
        #expect(counters.refreshesSucceeded == 1 && counters.changes == 1)
    }

    @Test("A failed refresh obeys the back-off and does not shorten the answer")
    func failing() async throws {
        let fixture = try ResolverFixture(ticket: 1000)
        var listener = fixture.resolver.listener
        try fixture.say(["203.0.113.1", "2001:db8::1"], about: "img.test")
        _ = try await fixture.resolve("img.test")
        try fixture.provider.answer(.failure(.unavailable), for: HTTPDNSName("img.test"))
        fixture.time.advance(by: .seconds(54))
        // Pauses of 1.05 s and 2.1 s, as chance has it here.
        for (left, started) in [(6, 1), (5, 1), (4, 2), (3, 2), (2, 2), (1, 3)] as [(Int64, Int)] {
            let before = fixture.resolver.counters.refreshesStarted
            for _ in 0..<5 {
                let hit = try #require(try fixture.immediate("img.test"))
                #expect(hit.timeToLive == .seconds(left) && !hit.isStale)
                if fixture.resolver.counters.refreshesStarted > before, hit.age == .seconds(60 - left) {
                    break
                }
            }
            if fixture.resolver.counters.refreshesStarted > before { await listener.wait(for: .refreshFailed) }
            for _ in 0..<5 { _ = try fixture.immediate("img.test") }
            #expect(fixture.resolver.counters.refreshesStarted == started, "\(left) s left")
            fixture.time.advance(by: .seconds(1))
        }
        #expect(fixture.provider.queries.count == 4)
        #expect(fixture.resolver.counters.refreshesFailed == 3)
    }

    @Test("A name without use is not refreshed")
    func unused() async throws {
        let fixture = try ResolverFixture()
        try fixture.say(["203.0.113.1", "2001:db8::1"], about: "img.test")
        _ = try await fixture.resolve("img.test")
        for _ in 0..<100 { fixture.time.advance(by: .seconds(1)) }
        #expect(fixture.resolver.counters.refreshesStarted == 0)
        #expect(fixture.provider.queries.count == 1)
    }

    @Test("Without refresh ahead nothing is queried before an answer expires")
    func switchedOff() async throws {
        let fixture = try ResolverFixture { $0.cache.refreshesAhead = false }
        try fixture.say(["203.0.113.1", "2001:db8::1"], about: "img.test")
        _ = try await fixture.resolve("img.test")
        fixture.time.advance(by: .seconds(60) - .nanoseconds(1))
        for _ in 0..<10 { #expect(try fixture.immediate("img.test")?.isCached == true) }
        #expect(fixture.resolver.counters.refreshesStarted == 0)
    }

    @Test("A negative answer is not refreshed ahead")
    func negative() async throws {
        let fixture = try ResolverFixture()
        _ = try? await fixture.resolve("gone.test")
        for _ in 0..<49 {
            fixture.time.advance(by: .milliseconds(100))
            #expect(throws: HTTPDNSResolver.Error.self) { try fixture.immediate("gone.test") }
        }
        #expect(fixture.resolver.counters.refreshesStarted == 0)
        #expect(fixture.provider.queries.count == 1)
    }

    /// For a minute, with a time to live of 2 s.
    @Test("A name in use is refreshed ahead, so that no caller waits")
    func hotName() async throws {
        let fixture = try ResolverFixture()
        var listener = fixture.resolver.listener
        try fixture.say(["203.0.113.1", "2001:db8::1"], timeToLive: .seconds(2), about: "img.test")
        _ = try await fixture.resolve("img.test")
        var refreshes = 0
        for _ in 0..<600 {
            fixture.time.advance(by: .milliseconds(100))
            let hit = try #require(try fixture.immediate("img.test"))
            #expect(hit.isCached && !hit.isStale)
            if fixture.resolver.counters.refreshesStarted > refreshes {
                refreshes += 1
                await listener.wait(for: .refreshed)
            }
        }
        #expect((50...60).contains(refreshes))
        #expect(fixture.provider.queries.count == refreshes + 1)
        #expect(fixture.resolver.counters.misses == 1)
        #expect(fixture.resolver.counters.hits == 600)
    }
}
