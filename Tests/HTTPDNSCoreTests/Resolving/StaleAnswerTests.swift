// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSTesting
import Testing

struct StaleAnswerTests {
    /// A resolver that knows `img.test` since a moment ago, for 10 s; then its providers fail or keep silent.
    private func warm(
        providers: [String] = ["doh"],
        fallback: HTTPDNSRoute.Fallback = .off,
        _ change: (inout HTTPDNSResolver.Configuration) throws -> Void = { _ in }
    ) async throws -> ResolverFixture {
        let fixture = try ResolverFixture(providers: providers, fallback: fallback) {
            $0.cache.refreshesAhead = false
            try change(&$0)
        }
        try fixture.say(["203.0.113.1", "2001:db8::1"], timeToLive: .seconds(10), about: "img.test")
        _ = try await fixture.resolve("img.test")
        return fixture
    }

    private func fail(_ fixture: ResolverFixture, _ name: String = "img.test") throws {
        for provider in fixture.providers { try provider.answer(.failure(.unavailable), for: HTTPDNSName(name)) }
    }

    @Test("While a provider is silent, a stale answer serves after 300 ms, flagged")
    func waits() async throws {
        let fixture = try await warm()
        var listener = fixture.resolver.listener
        fixture.time.advance(by: .seconds(10))
        fixture.provider.hold()
        async let pending = fixture.resolve("img.test")
        await fixture.provider.queries(atLeast: 2)
        fixture.time.advance(by: .milliseconds(300))
        let stale = try await pending
        #expect(stale.isStale && stale.addresses == ["203.0.113.1", "2001:db8::1"])
        #expect(stale.timeToLive == .zero)
        #expect(stale.elapsed == .milliseconds(300) && stale.age == .milliseconds(10_300))
        let event = await listener.wait(for: .servedStale)
        #expect(event?.host?.description == "img.test" && event?.elapsed == stale.age)
        #expect(fixture.resolver.counters.staleServedAfterWait == 1)

        // The query that was too slow for this caller still serves the next one.
        try fixture.say(["203.0.113.2"], about: "img.test")
        fixture.provider.release()
        await listener.wait(for: .answered)
        #expect(try fixture.immediate("img.test")?.addresses == ["203.0.113.2"])
        #expect(fixture.provider.queries.count == 2)
    }

    @Test("The 300 ms count from the start of the lookup, not from each caller")
    func waitsOnce() async throws {
        let fixture = try await warm()
        fixture.time.advance(by: .seconds(10))
        fixture.provider.hold()
        async let first = fixture.resolve("img.test")
        await fixture.provider.queries(atLeast: 2)
        await fixture.time.sleepers(atLeast: 2)
        fixture.time.advance(by: .milliseconds(200))
        let sleepers = fixture.time.sleeperCount
        async let second = fixture.resolve("img.test")
        await fixture.time.sleepers(atLeast: sleepers + 1)
        fixture.time.advance(by: .milliseconds(100))
        #expect(try await first.elapsed == .milliseconds(300))
        #expect(try await second.elapsed == .milliseconds(100))
        for _ in 0..<5 {
            fixture.time.advance(by: .milliseconds(100))
            let later = try await fixture.resolve("img.test")
            #expect(later.isStale && later.elapsed == .zero)
        }
        fixture.provider.release()
    }

    @Test("Each outage of a name causes one event")
    func tellsOnce() async throws {
        let fixture = try await warm()
        let listener = fixture.resolver.listener
        for _ in 0..<2 {
            try fail(fixture)
            fixture.time.advance(by: .seconds(10))
            for _ in 0..<30 {
                #expect(try await fixture.resolve("img.test").isStale)
                fixture.time.advance(by: .milliseconds(500))
            }
            try fixture.say(["203.0.113.1", "2001:db8::1"], timeToLive: .seconds(10), about: "img.test")
            fixture.time.advance(by: .seconds(40))
            #expect(try await fixture.resolve("img.test").isStale == false)
        }
        await fixture.resolver.shutdown()
        var count = 0
        var events = listener
        while let event = await events.next() { count += event.kind == .servedStale ? 1 : 0 }
        #expect(count == 2)
    }

    @Test("An answer within the 300 ms wins over the stale one")
    func newerInTime() async throws {
        let fixture = try await warm()
        fixture.time.advance(by: .seconds(10))
        fixture.provider.hold()
        async let pending = fixture.resolve("img.test")
        await fixture.provider.queries(atLeast: 2)
        await fixture.time.sleepers(atLeast: 2)
        fixture.time.advance(by: .milliseconds(299))
        try fixture.say(["203.0.113.2"], about: "img.test")
        fixture.provider.release()
        let newer = try await pending
        #expect(!newer.isStale && newer.addresses == ["203.0.113.2"])
        #expect(fixture.resolver.counters.staleServed == 0)
    }

    @Test("A failure needs no wait, and the back-off after it neither asks nor waits")
    func atOnceInBackoff() async throws {
        let fixture = try await warm()
        try fail(fixture)
        fixture.time.advance(by: .seconds(10))
        let first = try await fixture.resolve("img.test")
        #expect(first.isStale && first.elapsed == .zero)
        for _ in 0..<5 { #expect(try fixture.immediate("img.test")?.isStale == true) }
        #expect(fixture.provider.queries.count == 2)
        fixture.time.advance(by: .seconds(1))
        #expect(try fixture.immediate("img.test") == nil)
        #expect(try await fixture.resolve("img.test").isStale)
        #expect(fixture.provider.queries.count == 3)
        let counters = fixture.resolver.counters
        #expect(counters.staleHits == 5 && counters.staleServedAfterWait == 2 && counters.staleServed == 7)
    }

    /// They failed for another name.
    @Test("A stale answer serves immediately while all providers are in quarantine")
    func atOnceInQuarantine() async throws {
        let fixture = try await warm(providers: ["ali", "backup"])
        fixture.time.advance(by: .seconds(10))
        try fail(fixture, "other.test")
        _ = try? await fixture.resolve("other.test")
        let asked = fixture.providers.map(\.queries.count)
        #expect(try fixture.immediate("img.test")?.isStale == true)
        #expect(try await fixture.resolve("img.test").isStale)
        #expect(fixture.providers.map(\.queries.count) == asked)
        fixture.time.advance(by: .seconds(1))
        #expect(try fixture.immediate("img.test") == nil)
    }

    @Test(
        "Stale answers serve up to the limit of route or cache, and zero is off",
        arguments: [
            (Duration.seconds(60), Duration?.none, Duration.seconds(60)), (.seconds(60), .seconds(5), .seconds(5)),
            (.zero, .seconds(5), .seconds(5)), (.zero, nil, .zero), (.seconds(60), .zero, .zero),
        ]
    )
    func bounded(cache: Duration, route: Duration?, limit: Duration) async throws {
        let fixture = try await warm {
            $0.cache.staleLimit = cache
            $0.routes[0].staleLimit = route
        }
        try fail(fixture)
        if limit > .zero {
            fixture.time.advance(by: .seconds(10) + limit - .nanoseconds(1))
            #expect(try await fixture.resolve("img.test").isStale)
            fixture.time.advance(by: .nanoseconds(1))
        } else {
            fixture.time.advance(by: .seconds(10))
        }
        let error = await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("img.test") }
        #expect(error?.code == .providersFailed)
        #expect(fixture.resolver.counters.staleServed == (limit > .zero ? 1 : 0))
    }

    @Test("A negative answer never serves past its life", arguments: [true, false])
    func neverNegative(isNameError: Bool) async throws {
        let fixture = try ResolverFixture()
        let outcome: HTTPDNSProviderAnswer.Family =
            isNameError ? .nameError(timeToLive: .seconds(10)) : .noData(timeToLive: .seconds(10))
        try fixture.provider.answer(
            .answer(HTTPDNSProviderAnswer(v4: outcome, v6: outcome)),
            for: HTTPDNSName("img.test")
        )
        _ = try? await fixture.resolve("img.test")
        fixture.time.advance(by: .seconds(10))
        try fail(fixture)
        let error = await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("img.test") }
        #expect(error?.code == .providersFailed)
        #expect(fixture.resolver.counters.staleServed == 0)
    }

    @Test("A stale answer is preferred to the system resolver until it is too old")
    func beforeSystem() async throws {
        let fixture = try await warm(fallback: .system) { $0.cache.staleLimit = .seconds(60) }
        try fixture.system.answer(.success([HTTPDNSAddress(v4: 203, 0, 113, 99)]), for: HTTPDNSName("img.test"))
        try fail(fixture)
        fixture.time.advance(by: .seconds(69))
        let stale = try await fixture.resolve("img.test")
        #expect(stale.isStale && stale.source == .provider)
        #expect(fixture.system.questions.isEmpty)
        fixture.time.advance(by: .seconds(1))
        let fallback = try await fixture.resolve("img.test")
        #expect(!fallback.isStale && fallback.source == .system && fallback.addresses == ["203.0.113.99"])
    }

    @Test("Newer addresses remove the stale ones, whether they are stored or not")
    func contradicted() async throws {
        let fixture = try await warm()
        fixture.time.advance(by: .seconds(10))
        try fixture.say(["203.0.113.2"], timeToLive: .zero, about: "img.test")
        _ = try await fixture.resolve("img.test")
        try fail(fixture)
        fixture.time.advance(by: .seconds(10))
        let error = await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("img.test") }
        #expect(error?.code == .providersFailed)
        #expect(fixture.resolver.counters.staleServed == 0)
    }

    @Test(
        "A denial removes known addresses when a lookup 5 s later confirms it",
        arguments: [HTTPDNSProviderAnswer.Family.nameError(timeToLive: .zero), .noData(timeToLive: nil)]
    )
    func denied(outcome: HTTPDNSProviderAnswer.Family) async throws {
        let fixture = try await warm()
        fixture.time.advance(by: .seconds(10))
        let host = try HTTPDNSName("img.test")
        fixture.provider.answer(.answer(HTTPDNSProviderAnswer(v4: outcome, v6: outcome)), for: host)
        for _ in 0..<5 {
            #expect(try await fixture.resolve("img.test").isStale)
            fixture.time.advance(by: .seconds(1))
        }
        #expect(fixture.provider.queries.count == 2)
        let error = await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("img.test") }
        #expect(error?.code == (outcome == .noData(timeToLive: nil) ? .noAddresses : .nameNotFound))
        #expect(fixture.provider.queries.count == 3)
        try fail(fixture)
        fixture.time.advance(by: .seconds(10))
        let later = await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("img.test") }
        #expect(later?.code == .providersFailed)
    }

    @Test("A zone that is empty for a moment costs no address", arguments: [false, true])
    func emptyForAMoment(failsBetween: Bool) async throws {
        let fixture = try await warm()
        fixture.time.advance(by: .seconds(10))
        try fixture.provider.answer(nil, for: HTTPDNSName("img.test"))
        #expect(try await fixture.resolve("img.test").isStale)
        fixture.time.advance(by: .seconds(6))
        if failsBetween {
            try fail(fixture)
            #expect(try await fixture.resolve("img.test").isStale)
            fixture.time.advance(by: .seconds(6))
        }
        try fixture.say(["203.0.113.1"], timeToLive: .seconds(10), about: "img.test")
        let again = try await fixture.resolve("img.test")
        #expect(!again.isStale && again.addresses == ["203.0.113.1"])
        // The next denial is the first one again.
        try fixture.provider.answer(nil, for: HTTPDNSName("img.test"))
        fixture.time.advance(by: .seconds(10))
        #expect(try await fixture.resolve("img.test").isStale)
    }

    @Test("Addresses that may not be served past their life are removed by the first denial")
    func deniedWithoutStale() async throws {
        let fixture = try await warm { $0.cache.staleLimit = .zero }
        fixture.time.advance(by: .seconds(10))
        try fixture.provider.answer(nil, for: HTTPDNSName("img.test"))
        let error = await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("img.test") }
        #expect(error?.code == .nameNotFound)
    }

    /// The failed family and the one that has an outcome in either order.
    @Test(
        "A family that failed beside a negative one leaves the name to stale addresses",
        arguments: [
            HTTPDNSProviderError.Code.timedOut, .unreachable, .httpStatus, .badResponse, .serverFailure, .refused,
            .rateLimited,
        ],
        [true, false]
    )
    func failedFamily(code: HTTPDNSProviderError.Code, isNameError: Bool) async throws {
        let negative: HTTPDNSProviderAnswer.Family =
            isNameError ? .nameError(timeToLive: .seconds(300)) : .noData(timeToLive: .seconds(300))
        let failed = HTTPDNSProviderAnswer.Family.failed(HTTPDNSProviderError(code: code, message: "no"))
        for answer in [
            HTTPDNSProviderAnswer(v4: failed, v6: negative), HTTPDNSProviderAnswer(v4: negative, v6: failed),
        ] {
            let fixture = try await warm()
            fixture.time.advance(by: .seconds(10))
            try fixture.provider.answer(.answer(answer), for: HTTPDNSName("img.test"))
            for _ in 0..<20 {
                #expect(try await fixture.resolve("img.test").isStale)
                fixture.time.advance(by: .seconds(1))
            }
            try fixture.say(["203.0.113.1"], about: "img.test")
            fixture.time.advance(by: .seconds(40))
            #expect(try await fixture.resolve("img.test").isStale == false)
        }
    }

    @Test(
        "A transient failure replaces no answer, neither a fresh nor a stale one",
        arguments: [
            HTTPDNSProviderError.Code.timedOut, .unreachable, .httpStatus, .badResponse, .serverFailure, .refused,
            .rateLimited,
        ]
    )
    func transient(code: HTTPDNSProviderError.Code) async throws {
        let fixture = try ResolverFixture(ticket: 1000)
        var listener = fixture.resolver.listener
        try fixture.say(["203.0.113.1", "2001:db8::1"], timeToLive: .seconds(10), about: "img.test")
        _ = try await fixture.resolve("img.test")
        try fixture.provider.answer(
            .failure(HTTPDNSProviderError(code: code, message: "no")),
            for: HTTPDNSName("img.test")
        )
        fixture.time.advance(by: .seconds(8))
        _ = try fixture.immediate("img.test")
        await listener.wait(for: .refreshFailed)
        let fresh = try #require(try fixture.immediate("img.test"))
        #expect(!fresh.isStale && fresh.timeToLive == .seconds(2))
        fixture.time.advance(by: .seconds(2))
        let stale = try await fixture.resolve("img.test")
        #expect(stale.isStale && stale.addresses == fresh.addresses)
    }

    @Test("After a sleep of three lives the first answer is not called fresh")
    func suspended() async throws {
        let fixture = try await warm()
        fixture.time.advance(by: .seconds(30))
        #expect(try fixture.immediate("img.test") == nil)
        fixture.provider.hold()
        async let pending = fixture.resolve("img.test")
        await fixture.provider.queries(atLeast: 2)
        fixture.time.advance(by: .milliseconds(300))
        let first = try await pending
        #expect(first.isStale && first.age > .seconds(30))
        fixture.provider.release()
    }

    /// The calendar is off in both directions.
    @Test("A calendar off by a day changes nothing in a running process")
    func calendar() async throws {
        let wall = Lock<Int64>(1_800_000_000_000)
        let fixture = try await warm { $0.wallClock = WallClock { wall.withLock { $0 } } }
        for day in [86_400_000, -86_400_000] as [Int64] {
            wall.withLock { $0 = 1_800_000_000_000 + day }
            let hit = try #require(try fixture.immediate("img.test"))
            #expect(hit.isCached && !hit.isStale && hit.timeToLive == .seconds(10))
        }
        fixture.time.advance(by: .seconds(10) - .nanoseconds(1))
        #expect(try fixture.immediate("img.test")?.isStale == false)
        #expect(fixture.provider.queries.count == 1)
    }
}
