// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSTesting
import Testing

struct CachingTests {
    @Test("A name unknown to the system fails with the caller's own hint, also when cached")
    func ownReason() async throws {
        let fixture = try ResolverFixture { $0.routes = [] }
        let bySystem = await #expect(throws: HTTPDNSResolver.Error.self) {
            try await fixture.resolve("nobody.test") { $0.usesSystemResolver = true }
        }
        #expect(bySystem?.hint == "the request asked for the system resolver")
        let routeless = await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("nobody.test") }
        #expect(routeless?.hint?.hasPrefix("no route covers the name") == true)
        let again = await #expect(throws: HTTPDNSResolver.Error.self) {
            try await fixture.resolve("nobody.test") { $0.usesSystemResolver = true }
        }
        #expect(again?.hint == "the request asked for the system resolver")
        #expect(fixture.system.questions.count == 2)
    }

    @Test("An answer is used for its TTL, counted from when the query was sent")
    func countsFromSending() async throws {
        let fixture = try ResolverFixture()
        try fixture.say(["203.0.113.1"], timeToLive: .seconds(10), about: "img.test")
        fixture.provider.hold()
        async let pending = fixture.resolve("img.test")
        await fixture.provider.queries(atLeast: 1)
        fixture.time.advance(by: .seconds(2))
        fixture.provider.release()
        let first = try await pending
        #expect(first.age == .seconds(2))
        #expect(first.timeToLive == .seconds(8))
        #expect(first.elapsed == .seconds(2))
        #expect(!first.isCached)
        fixture.time.advance(by: .seconds(8) - .nanoseconds(1))
        let second = try await fixture.resolve("img.test", port: 8443)
        #expect(second.isCached)
        #expect(second.timeToLive == .nanoseconds(1))
        #expect(second.endpoints.map(\.port) == [8443])
        #expect(second.elapsed == .zero)
        fixture.time.advance(by: .nanoseconds(1))
        #expect(try fixture.immediate("img.test") == nil)
        #expect(fixture.provider.queries.count == 1)
    }

    @Test(
        "A positive life is clamped, for any TTL",
        arguments: [
            (Duration.zero, Duration.seconds(5)), (.seconds(-1), .seconds(5)), (.seconds(1), .seconds(5)),
            (.seconds(60), .seconds(60)), (.seconds(Int64(UInt32.max)), .seconds(3600)),
            (.seconds(Int64.max), .seconds(3600)), (.seconds(Int64.min), .seconds(5)),
        ]
    )
    func clamps(timeToLive: Duration, life: Duration) async throws {
        let fixture = try ResolverFixture { $0.cache.minimumTimeToLive = .seconds(5) }
        try fixture.say(["203.0.113.1"], timeToLive: timeToLive, about: "img.test")
        #expect(try await fixture.resolve("img.test").timeToLive == life)
        fixture.time.advance(by: life - .nanoseconds(1))
        #expect(try fixture.immediate("img.test") != nil)
        fixture.time.advance(by: .nanoseconds(1))
        #expect(try fixture.immediate("img.test") == nil)
    }

    @Test("A time to live of 0 serves the waiting callers, and no later ones")
    func zeroLife() async throws {
        let fixture = try ResolverFixture()
        try fixture.say(["203.0.113.1"], timeToLive: .zero, about: "img.test")
        fixture.provider.hold()
        async let first = fixture.resolve("img.test")
        await fixture.provider.queries(atLeast: 1)
        fixture.provider.release()
        let resolution = try await first
        #expect(resolution.addresses == ["203.0.113.1"])
        #expect(resolution.timeToLive == .zero)
        #expect(try fixture.immediate("img.test") == nil)
        _ = try await fixture.resolve("img.test")
        #expect(fixture.provider.queries.count == 2)
    }

    @Test(
        "A negative answer lives for its own time, 1 to 300 s, and 5 s without SOA",
        arguments: [
            (Duration?.none, Duration.seconds(5)), (.zero, .seconds(1)), (.seconds(60), .seconds(60)),
            (.seconds(86_400), .seconds(300)), (.seconds(-5), .seconds(1)),
        ],
        [true, false]
    )
    func negative(lives: (Duration?, Duration), isNameError: Bool) async throws {
        let fixture = try ResolverFixture()
        let outcome: HTTPDNSProviderAnswer.Family =
            isNameError ? .nameError(timeToLive: lives.0) : .noData(timeToLive: lives.0)
        try fixture.provider.answer(
            .answer(HTTPDNSProviderAnswer(v4: outcome, v6: outcome)),
            for: HTTPDNSName("no.test")
        )
        let code: HTTPDNSResolver.Error.Code = isNameError ? .nameNotFound : .noAddresses
        for _ in 0..<100 {
            let error = await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("no.test") }
            #expect(error?.code == code)
        }
        #expect(fixture.provider.queries.count == 1)
        #expect(throws: HTTPDNSResolver.Error.self) { try fixture.immediate("no.test") }
        fixture.time.advance(by: lives.1)
        #expect(try fixture.immediate("no.test") == nil)
    }

    @Test("Failures are cached for 1 s, growing to 30 s until a definite answer")
    func backsOff() async throws {
        let fixture = try ResolverFixture { $0.cache.staleLimit = .zero }
        let host = try HTTPDNSName("pay.test")
        fixture.provider.answer(.failure(.unavailable), for: host)
        for (number, wait) in [1, 2, 4, 8, 16, 30, 30].enumerated() {
            _ = await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("pay.test") }
            #expect(fixture.provider.queries.count == number + 1)
            fixture.time.advance(by: .seconds(wait) - .nanoseconds(1))
            let error = #expect(throws: HTTPDNSResolver.Error.self) { try fixture.immediate("pay.test") }
            #expect(error?.code == .providersFailed)
            #expect(error?.hint?.contains("asked again in") == true)
            fixture.time.advance(by: .nanoseconds(1))
            #expect(try fixture.immediate("pay.test") == nil)
        }
        try fixture.say(["203.0.113.1"], timeToLive: .seconds(1), about: "pay.test")
        _ = try await fixture.resolve("pay.test")
        fixture.time.advance(by: .seconds(1))
        fixture.provider.answer(.failure(.unavailable), for: host)
        _ = await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("pay.test") }
        fixture.time.advance(by: .seconds(1))
        #expect(try fixture.immediate("pay.test") == nil)
    }

    /// A use after 10 s asks for them again.
    @Test("Addresses beside a failed family serve for their whole time to live")
    func partial() async throws {
        let fixture = try ResolverFixture()
        let answer = HTTPDNSProviderAnswer(
            v4: .addresses([HTTPDNSAddress(v4: 203, 0, 113, 1)], timeToLive: .seconds(3600), canonicalName: nil),
            v6: .failed(.unavailable)
        )
        try fixture.provider.answer(.answer(answer), for: HTTPDNSName("half.test"))
        let resolution = try await fixture.resolve("half.test")
        #expect(resolution.addresses == ["203.0.113.1"])
        #expect(resolution.timeToLive == .seconds(3600))
        try fixture.say(["203.0.113.1", "2001:db8::1"], timeToLive: .seconds(60), about: "half.test")
        fixture.time.advance(by: .seconds(10) - .nanoseconds(1))
        #expect(try fixture.immediate("half.test")?.addresses == ["203.0.113.1"])
        #expect(fixture.provider.queries.count == 1)
        fixture.time.advance(by: .nanoseconds(1))
        var events = fixture.resolver.events.makeAsyncIterator()
        #expect(try fixture.immediate("half.test")?.addresses == ["203.0.113.1"])
        while let event = await events.next(), event.kind != .refreshed {}
        #expect(try fixture.immediate("half.test")?.addresses == ["203.0.113.1", "2001:db8::1"])
        #expect(fixture.provider.queries.count == 2)
    }

    @Test("An answer removed during a lookup does not come back when the lookup ends")
    func clearDuringFlight() async throws {
        let fixture = try ResolverFixture()
        try fixture.say(["203.0.113.1"], about: "img.test")
        fixture.provider.hold()
        async let old = fixture.resolve("img.test")
        await fixture.provider.queries(atLeast: 1)
        fixture.resolver.removeAllCached()
        // Who asks after the clearing does not share the old flight.
        async let new = fixture.resolve("img.test")
        await fixture.provider.queries(atLeast: 2)
        fixture.provider.release()
        #expect(try await old.addresses == ["203.0.113.1"])
        #expect(try await new.addresses == ["203.0.113.1"])
        #expect(try fixture.immediate("img.test")?.isCached == true)

        fixture.provider.hold()
        fixture.resolver.removeAllCached()
        async let last = fixture.resolve("img.test")
        await fixture.provider.queries(atLeast: 3)
        fixture.resolver.removeAllCached()
        fixture.provider.release()
        #expect(try await last.addresses == ["203.0.113.1"])
        #expect(try fixture.immediate("img.test") == nil)
    }

    @Test("After a long suspension nothing is fresh")
    func suspension() async throws {
        let fixture = try ResolverFixture()
        try fixture.say(["203.0.113.1"], timeToLive: .seconds(3600), about: "img.test")
        _ = try await fixture.resolve("img.test")
        fixture.time.advance(by: .seconds(86_400))
        #expect(try fixture.immediate("img.test") == nil)
    }

    @Test("Spellings and ports of a name share one entry, and families do not")
    func sharesEntries() async throws {
        let fixture = try ResolverFixture()
        try fixture.say(["203.0.113.1"], about: "img.test")
        _ = try await fixture.resolve("IMG.Test.")
        #expect(try fixture.immediate("img.test", port: 8443)?.isCached == true)
        #expect(try fixture.immediate("img.test") { $0.families = .v4 } == nil)
    }

    @Test("A shut-down resolver answers nothing, and its providers are shut down")
    func shutsDown() async throws {
        let fixture = try ResolverFixture()
        try fixture.say(["203.0.113.1"], about: "img.test")
        _ = try await fixture.resolve("img.test")
        fixture.provider.hold()
        let pending = Task { try await fixture.resolve("waiting.test") }
        await fixture.provider.queries(atLeast: 2)
        await fixture.resolver.shutdown()
        let error = await #expect(throws: HTTPDNSResolver.Error.self) { try await pending.value }
        #expect(error?.code == .shutDown)
        #expect(fixture.provider.isShutDown)
        for host in ["img.test", "127.0.0.1", "localhost"] {
            #expect(throws: HTTPDNSResolver.Error.self) { try fixture.immediate(host) }
        }
        await fixture.resolver.shutdown()
    }
}
