// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSTesting
import Testing

@testable import HTTPDNSCore

/// Routes with `fallback: system` while their providers fail, on a clock that stands still unless a test moves it.
struct SystemFallbackTests {
    private static let address = HTTPDNSAddress(v4: 203, 0, 113, 99)

    /// The system knows `a.test` to `f.test`; the provider is healthy and silent about them.
    private func fixture() throws -> ResolverFixture {
        let fixture = try ResolverFixture(fallback: .system)
        for name in ["a", "b", "c", "d", "e", "f"] {
            let host = try HTTPDNSName("\(name).test")
            fixture.system.answer(.success([Self.address]), for: host)
            fixture.provider.answer(.silence, for: host)
        }
        return fixture
    }

    /// Brings the provider into quarantine.
    private func quarantine(_ fixture: ResolverFixture) async throws {
        fixture.provider.answer(.failure(.unavailable), for: try HTTPDNSName("a.test"))
        #expect(try await fixture.resolve("a.test").source == .system)
        #expect(!fixture.resolver.providerHealth[0].isHealthy)
    }

    @Test("While all providers are in quarantine the system resolver is asked immediately")
    func resting() async throws {
        let fixture = try fixture()
        try await quarantine(fixture)
        let resolution = try await fixture.resolve("b.test")
        #expect(resolution.source == .system && resolution.elapsed == .zero)
        #expect(resolution.failedAttempts.map(\.description).joined().contains("quarantine"))
        #expect(fixture.provider.queries.count == 1)
    }

    @Test("After the quarantine one query is a probe, and no lookup waits for it")
    func probe() async throws {
        let fixture = try fixture()
        try await quarantine(fixture)
        fixture.time.advance(by: .seconds(2))
        fixture.provider.hold()
        for name in ["b.test", "c.test", "d.test"] {
            #expect(try await fixture.resolve(name).source == .system)
        }
        #expect(fixture.provider.queries.map(\.host.description) == ["a.test", "b.test"])
        try fixture.say(["203.0.113.1"], about: "b.test")
        try fixture.say(["203.0.113.1"], about: "e.test")
        fixture.provider.release()
        while !fixture.resolver.providerHealth[0].isHealthy, !Task.isCancelled { await Task.yield() }
        #expect(try await fixture.resolve("e.test").source == .provider)
    }

    @Test("Providers in quarantine are asked when the system resolver lacks the name")
    func lastResort() async throws {
        let fixture = try fixture()
        try await quarantine(fixture)
        try fixture.say(["203.0.113.1"], about: "inside.test")
        #expect(try await fixture.resolve("inside.test").addresses == ["203.0.113.1"])
    }

    @Test("A suspect provider is awaited for no longer than its hedge delay")
    func suspect() async throws {
        let fixture = try fixture()
        async let first = fixture.resolve("a.test")
        await fixture.provider.queries(atLeast: 1)
        await fixture.time.sleepers(atLeast: 2)
        fixture.time.advance(by: .milliseconds(60))
        #expect(fixture.resolver.providerHealth[0].state == .suspect)
        async let second = fixture.resolve("b.test")
        await fixture.provider.queries(atLeast: 2)
        await fixture.time.sleepers(atLeast: 5)
        fixture.time.advance(by: .milliseconds(50))
        let resolution = try await second
        #expect(resolution.source == .system && resolution.elapsed == .milliseconds(50))
        fixture.provider.release()
        fixture.time.advance(by: .seconds(3))
        _ = try await first
    }

    /// 20 names at once, 2 queries in flight, and 10 answers a second: the last name waits for 2 s, more than the provider's
    /// share of the time. Once the provider is silent, the names that are left are the system resolver's.
    @Test("The own queue does not lead to the system resolver, silence does", arguments: [20, 10])
    func burst(answered: Int) async throws {
        let fixture = try ResolverFixture(fallback: .system) {
            $0.providerLimits["doh"] = HTTPDNSResolver.Configuration.ProviderLimits(maximumInFlight: 2)
        }
        let hosts = try (0..<20).map { try HTTPDNSName("n\($0).test") }
        for host in hosts {
            fixture.provider.hold(host)
            try fixture.say(["203.0.113.1"], about: host.description)
            fixture.system.answer(.success([Self.address]), for: host)
        }
        let (sources, feed) = AsyncStream<HTTPDNSResolver.Resolution.Source?>.makeStream()
        for host in hosts {
            Task { feed.yield(try? await fixture.resolve(host.description).source) }
        }
        var results = sources.makeAsyncIterator()
        for index in 0..<answered {
            await fixture.provider.queries(atLeast: min(index + 2, 20))
            fixture.time.advance(by: .milliseconds(100))
            fixture.provider.release(fixture.provider.queries[index].host)
            #expect(await results.next() == .provider)
        }
        #expect(fixture.system.questions.isEmpty)
        while fixture.system.questions.count < 20 - answered, !Task.isCancelled {
            fixture.time.advance(by: .milliseconds(20))
            await Task.yield()
        }
        for _ in answered..<20 { #expect(await results.next() == .system) }
        fixture.provider.release()
    }

    @Test("A provider that answers again while a lookup doubts it keeps the lookup")
    func suspectAnswers() async throws {
        let fixture = try fixture()
        for name in ["a.test", "b.test"] {
            fixture.provider.hold(try HTTPDNSName(name))
            try fixture.say(["203.0.113.1"], about: name)
        }
        async let first = fixture.resolve("a.test")
        await fixture.provider.queries(atLeast: 1)
        await fixture.time.sleepers(atLeast: 2)
        fixture.time.advance(by: .milliseconds(60))
        #expect(fixture.resolver.providerHealth[0].state == .suspect)
        async let second = fixture.resolve("b.test")
        await fixture.provider.queries(atLeast: 2)
        await fixture.time.sleepers(atLeast: 5)
        fixture.provider.release(try HTTPDNSName("a.test"))
        #expect(try await first.source == .provider)
        let sleepers = fixture.time.sleeperCount
        fixture.time.advance(by: .milliseconds(50))
        while fixture.time.sleeperCount >= sleepers, !Task.isCancelled { await Task.yield() }
        for _ in 0..<100 { await Task.yield() }
        fixture.provider.release()
        #expect(try await second.source == .provider && fixture.system.questions.isEmpty)
    }

    @Test("A call with a shorter limit reaches the system resolver after half of it")
    func shortLimit() async throws {
        let fixture = try fixture()
        async let waiting = fixture.resolve("a.test") { $0.timeLimit = .seconds(1) }
        await fixture.time.sleepers(atLeast: 3)
        fixture.time.advance(by: .milliseconds(500))
        let resolution = try await waiting
        #expect(resolution.source == .system && resolution.elapsed == .milliseconds(500))
    }

    /// The kill switch could not end such a query: its lookup is over.
    @Test("No provider is asked after the system resolver has answered")
    func answeredBySystem() async throws {
        let fixture = try ResolverFixture(providers: ["one", "two"], fallback: .system) {
            $0.hedgeAfter = .milliseconds(200)
        }
        let host = try HTTPDNSName("a.test")
        fixture.system.answer(.success([Self.address]), for: host)
        for provider in fixture.providers { provider.answer(.silence, for: host) }
        async let waiting = fixture.resolve("a.test") { $0.timeLimit = .milliseconds(200) }
        await fixture.time.sleepers(atLeast: 3)
        fixture.time.advance(by: .milliseconds(100))
        #expect(try await waiting.source == .system)
        fixture.time.advance(by: .milliseconds(150))
        for _ in 0..<1000 { await Task.yield() }
        #expect(fixture.providers[0].queries.count == 1 && fixture.providers[1].queries.isEmpty)
    }

    @Test("A call that joins a lookup reaches the system resolver within its own limit")
    func joined() async throws {
        let fixture = try fixture()
        async let patient = fixture.resolve("a.test")
        await fixture.time.sleepers(atLeast: 2)
        async let hasty = fixture.resolve("a.test") { $0.timeLimit = .milliseconds(200) }
        await fixture.time.sleepers(atLeast: 3)
        fixture.time.advance(by: .milliseconds(100))
        #expect(try await hasty.source == .system)
        #expect(try await patient.source == .system)
    }

    @Test("The system's \"no such name\" does not end the wait for a provider")
    func unknownToSystem() async throws {
        let fixture = try fixture()
        try fixture.say(["203.0.113.1"], about: "inside.test")
        fixture.provider.hold()
        async let waiting = fixture.resolve("inside.test") { $0.timeLimit = .seconds(1) }
        await fixture.time.sleepers(atLeast: 3)
        fixture.time.advance(by: .milliseconds(500))
        while fixture.system.questions.isEmpty, !Task.isCancelled { await Task.yield() }
        fixture.provider.release()
        #expect(try await waiting.source == .provider)
    }

    /// The next lookup asks again.
    @Test("An overloaded system resolver's failure is not cached")
    func busy() async throws {
        let fixture = try ResolverFixture { $0.routes = [] }
        let host = try HTTPDNSName("a.test")
        fixture.system.answer(.failure(SystemResolverError(code: .overloaded, message: "no thread")), for: host)
        await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("a.test") }
        fixture.system.answer(.success([Self.address]), for: host)
        #expect(try await fixture.resolve("a.test").source == .system)
    }
}

extension HTTPDNSResolver.Status.Provider {
    fileprivate var isHealthy: Bool { state == .healthy }
}
