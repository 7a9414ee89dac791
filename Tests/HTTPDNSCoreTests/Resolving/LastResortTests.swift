// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSTesting
import Testing

struct LastResortTests {
    private func fixture(
        fallback: HTTPDNSRoute.Fallback = .system,
        _ change: (inout HTTPDNSResolver.Configuration) throws -> Void = { _ in }
    ) throws -> ResolverFixture {
        try ResolverFixture(fallback: fallback) {
            $0.mappings = [
                try HTTPDNSMapping.Key("pay.test"): HTTPDNSMapping(
                    .lastResort([
                        .init(HTTPDNSAddress(v4: 203, 0, 113, 20)),
                        .init(HTTPDNSAddress(v4: 203, 0, 113, 21), port: 8443),
                    ]),
                    timeToLive: .seconds(5)
                ),
                try HTTPDNSMapping.Key("alias.test"): .via("pay.test"),
            ]
            try change(&$0)
        }
    }

    @Test("Last-resort addresses have no effect while a source has addresses")
    func silent() async throws {
        let fixture = try fixture()
        try fixture.say(["203.0.113.1"], about: "pay.test")
        let resolution = try await fixture.resolve("pay.test")
        #expect(resolution.addresses == ["203.0.113.1"] && resolution.source == .provider)
        #expect(resolution.mapping == nil && resolution.timeToLive == .seconds(60))
        #expect(fixture.resolver.counters.lastResort == 0)
    }

    /// They give way as soon as a source answers.
    @Test("Last resorts come after providers, stale answers and the system")
    func order() async throws {
        let fixture = try fixture { $0.cache.staleLimit = .seconds(30) }
        try fixture.say(["203.0.113.1"], timeToLive: .seconds(10), about: "pay.test")
        _ = try await fixture.resolve("pay.test")
        fixture.provider.answer(.failure(.unavailable), for: try HTTPDNSName("pay.test"))
        fixture.time.advance(by: .seconds(20))
        #expect(try await fixture.resolve("pay.test").isStale, "a stale answer is better")
        fixture.time.advance(by: .seconds(60))
        try fixture.system.answer(.success([HTTPDNSAddress(v4: 203, 0, 113, 99)]), for: HTTPDNSName("pay.test"))
        #expect(try await fixture.resolve("pay.test").source == .system, "so is the system's")
        fixture.time.advance(by: .seconds(60))
        try fixture.system.answer(
            .failure(SystemResolverError(code: .failed, message: "down")),
            for: HTTPDNSName("pay.test")
        )

        let resolution = try await fixture.resolve("pay.test")
        #expect(resolution.endpoints.map(\.description) == ["203.0.113.20:443", "203.0.113.21:8443"])
        #expect(resolution.source == .lastResort && resolution.source.description == "last-resort")
        #expect(resolution.timeToLive == .seconds(1))
        #expect(resolution.mapping?.key.description == "pay.test" && resolution.mapping?.targets.count == 2)
        #expect(!resolution.failedAttempts.isEmpty)
        #expect(try fixture.immediate("pay.test")?.source == .lastResort, "while nobody is asked, at once")
        #expect(fixture.resolver.counters.lastResort == 2)

        try fixture.say(["203.0.113.2"], about: "pay.test")
        fixture.time.advance(by: .seconds(31))
        #expect(try await fixture.resolve("pay.test").addresses == ["203.0.113.2"])
    }

    @Test("Last-resort addresses serve after a definite denial, and behind via rules")
    func definite() async throws {
        let fixture = try fixture(fallback: .off)
        #expect(try await fixture.resolve("pay.test").source == .lastResort)
        #expect(fixture.system.questions.isEmpty, "a route without fallback asks the system for nothing")
        let alias = try await fixture.resolve("alias.test")
        #expect(alias.source == .lastResort && alias.mapping?.key.description == "alias.test")
        #expect(fixture.resolver.counters.answers[.lastResort] == 2)
    }

    /// When it leaves none, the failure is that of the sources.
    @Test("The policy applies to addresses of last resort")
    func policy() async throws {
        let fixture = try ResolverFixture {
            $0.mappings = [try HTTPDNSMapping.Key("pay.test"): .lastResort(["169.254.169.254"])]
        }
        let error = await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("pay.test") }
        #expect(error?.code == .nameNotFound)
    }

    @Test("Last-resort addresses do not serve names switched off, nor after shutdown")
    func off() async throws {
        let fixture = try fixture()
        fixture.resolver.killSwitch.turnOff()
        #expect(
            await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("pay.test") }?.code
                == .nameNotFound
        )
        fixture.resolver.killSwitch.turnOn()
        await fixture.resolver.shutdown()
        #expect(
            await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("pay.test") }?.code
                == .shutDown
        )
    }

    @Test("A rule of last resort without an address is refused")
    func empty() {
        #expect(throws: HTTPDNSResolver.ConfigurationError.self) {
            try ResolverFixture { $0.mappings = [try HTTPDNSMapping.Key("pay.test"): .lastResort([])] }
        }
    }

    @Test("Last-resort addresses served after a wait are reported")
    func event() async throws {
        let fixture = try fixture()
        var listener = fixture.resolver.listener
        _ = try await fixture.resolve("pay.test")
        let event = await listener.wait(for: .lastResort)
        #expect(event?.host?.description == "pay.test" && event?.addresses.count == 2)
        #expect(event?.code == "providers-failed" || event?.code == "name-not-found")
    }
}
