// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSTesting
import Testing

struct ProviderOrderTests {
    @Test("When a provider fails, the next is asked, and the answer lists the failure")
    func goesOn() async throws {
        let fixture = try ResolverFixture(providers: ["ali", "backup"])
        try fixture.providers[0].answer(.failure(.unavailable), for: HTTPDNSName("pay.test"))
        try fixture.say(["203.0.113.30"], about: "pay.test", at: 1)
        let resolution = try await fixture.resolve("pay.test")
        #expect(resolution.provider == "backup")
        #expect(resolution.failedAttempts.map(\.description) == ["ali: 503 in 0 ms"])
        #expect(try fixture.immediate("pay.test")?.failedAttempts.count == 1)
        #expect(fixture.providers.map(\.queries.count) == [1, 1])
    }

    /// Neither the next provider nor the system resolver is asked.
    @Test("A negative answer of a trusted provider is final")
    func definiteAnswers() async throws {
        let fixture = try ResolverFixture(providers: ["ali", "backup"], fallback: .system)
        try fixture.say(["203.0.113.1"], about: "known.test")
        _ = try await fixture.resolve("known.test")
        try fixture.say([], about: "empty.test")
        try fixture.say(["203.0.113.1"], about: "empty.test", at: 1)
        try fixture.say(["203.0.113.1"], about: "missing.test", at: 1)
        let empty = await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("empty.test") }
        #expect(empty?.code == .noAddresses)
        #expect(empty?.message == "empty.test has no IPv4 or IPv6 address, says provider ali")
        let missing = await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("missing.test") }
        #expect(missing?.code == .nameNotFound)
        #expect(fixture.providers[1].queries.isEmpty)
        #expect(fixture.system.questions.isEmpty)
    }

    @Test("Without a fallback a request fails closed, with each provider's failure")
    func failsClosed() async throws {
        let fixture = try ResolverFixture(providers: ["ali", "backup"])
        for provider in fixture.providers { try provider.answer(.failure(.unavailable), for: HTTPDNSName("pay.test")) }
        let error = await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("pay.test") }
        #expect(error?.code == .providersFailed)
        #expect(error?.attempts.map(\.provider) == ["ali", "backup"])
        #expect(error?.message == "no provider answered about pay.test: ali: 503 in 0 ms; backup: 503 in 0 ms")
        #expect(error?.hint?.contains("fallback: system") == true)
        #expect(fixture.system.questions.isEmpty)
    }

    @Test("With a fallback the system answers until the providers may be asked again")
    func fallsBack() async throws {
        let fixture = try ResolverFixture(fallback: .system)
        try fixture.provider.answer(.failure(.unavailable), for: HTTPDNSName("pay.test"))
        try fixture.system.answer(.success([HTTPDNSAddress(v4: 203, 0, 113, 99)]), for: HTTPDNSName("pay.test"))
        let resolution = try await fixture.resolve("pay.test")
        #expect(resolution.source == .system)
        #expect(resolution.failedAttempts.map(\.provider) == ["doh"])
        #expect(resolution.timeToLive == .seconds(1))
        #expect(try fixture.immediate("pay.test")?.source == .system)
        fixture.time.advance(by: .seconds(1))
        #expect(try fixture.immediate("pay.test") == nil)
        // The second failure in a row waits for twice as long.
        #expect(try await fixture.resolve("pay.test").timeToLive == .seconds(2))
        fixture.time.advance(by: .seconds(2))
        try fixture.say(["203.0.113.1"], about: "pay.test")
        // After the quarantine the provider gets a probe, and the question does not wait for it.
        #expect(try await fixture.resolve("pay.test").source == .system)
        while fixture.resolver.providerHealth[0].state != .healthy, !Task.isCancelled { await Task.yield() }
        fixture.time.advance(by: .seconds(4))
        #expect(try await fixture.resolve("pay.test").source == .provider)
    }

    @Test("The system's \"unknown\" after failed providers is a failure, not an answer")
    func fallbackUnknown() async throws {
        let fixture = try ResolverFixture(fallback: .system)
        try fixture.provider.answer(.failure(.unavailable), for: HTTPDNSName("pay.test"))
        let error = await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("pay.test") }
        #expect(error?.code == .providersFailed)
        #expect(error?.attempts.map(\.failure) == ["503", "does not know the name"])
    }

    @Test("A dead provider costs the hedge delay, and no more")
    func hedges() async throws {
        let fixture = try ResolverFixture(providers: ["dead", "alive"], fallback: .system)
        try fixture.providers[0].answer(.silence, for: HTTPDNSName("pay.test"))
        try fixture.say(["203.0.113.30"], about: "pay.test", at: 1)
        async let pending = fixture.resolve("pay.test")
        // The query's limit, and the moment of the hedge.
        await fixture.time.sleepers(atLeast: 2)
        fixture.time.advance(by: .milliseconds(49))
        #expect(fixture.providers[1].queries.isEmpty)
        fixture.time.advance(by: .milliseconds(1))
        let resolution = try await pending
        #expect(resolution.provider == "alive")
        #expect(resolution.elapsed == .milliseconds(50))
        #expect(fixture.providers[0].queries.map(\.timeLimit) == [.seconds(1)])
        #expect(fixture.system.questions.isEmpty)
    }

    @Test("A query has the limit of an attempt, or all the time for the only provider")
    func limitsAttempts() async throws {
        let fixture = try ResolverFixture(providers: ["ali", "backup"])
        try fixture.providers[0].answer(.failure(.unavailable), for: HTTPDNSName("pay.test"))
        _ = try? await fixture.resolve("pay.test")
        #expect(fixture.providers.map { $0.queries.map(\.timeLimit) } == [[.seconds(1)], [.seconds(1)]])
        let alone = try ResolverFixture(providers: ["ali"])
        _ = try? await alone.resolve("pay.test")
        #expect(alone.provider.queries.map(\.timeLimit) == [.seconds(3)])
    }

    @Test("A provider that ignores cancellation is left behind at the time limit")
    func leavesStubborn() async throws {
        let fixture = try ResolverFixture(ignoresCancellation: true)
        try fixture.provider.answer(.silence, for: HTTPDNSName("pay.test"))
        let pending = Task { try await fixture.resolve("pay.test") }
        await fixture.time.sleepers(atLeast: 2)
        fixture.time.advance(by: .seconds(3))
        let error = await #expect(throws: HTTPDNSResolver.Error.self) { try await pending.value }
        #expect(error?.code == .timedOut)
        #expect(error?.limit == .seconds(3))
        #expect(error?.message == "no answer about pay.test within 3 s: doh: no answer in 3 s")
    }

    /// A public provider may not answer private addresses; one on loopback may answer loopback.
    @Test("A provider may not answer addresses that are more private than its scope")
    func appliesPolicy() async throws {
        let strict = try ResolverFixture()
        try strict.say(["10.0.0.1", "203.0.113.1", "127.0.0.1"], about: "mixed.test")
        try strict.say(["10.0.0.1", "169.254.169.254"], about: "lie.test")
        #expect(try await strict.resolve("mixed.test").addresses == ["203.0.113.1"])
        for _ in 0..<2 {
            let error = await #expect(throws: HTTPDNSResolver.Error.self) { try await strict.resolve("lie.test") }
            #expect(error?.code == .policyRefused)
            #expect(error?.message.contains("10.0.0.1 is private") == true)
            #expect(error?.message.contains("169.254.169.254 is a metadata service") == true)
        }
        #expect(strict.provider.queries.count == 2)
        let local = try ResolverFixture(scope: .loopback)
        try local.say(["127.0.0.2"], about: "one.test")
        #expect(try await local.resolve("one.test").addresses == ["127.0.0.2"])
    }

    @Test("A provider's error becomes one line, whatever it contains")
    func escapesFailures() async throws {
        let fixture = try ResolverFixture()
        let hostile = HTTPDNSProviderError(
            code: .badResponse,
            message: "a\r\nb\u{1b}[2J" + String(repeating: "x", count: 9_999)
        )
        try fixture.provider.answer(.failure(hostile), for: HTTPDNSName("pay.test"))
        let error = await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("pay.test") }
        #expect(error?.message.contains("doh: a\\r\\nb\\u{1b}[2Jxxx") == true)
        #expect((error?.message.count ?? .max) < 400)
    }

    @Test("A canonical name is passed on when it differs")
    func canonicalName() async throws {
        let fixture = try ResolverFixture()
        let address = HTTPDNSAddress(v4: 203, 0, 113, 1)
        for (host, canonical) in [("alias.test", "edge.test"), ("same.test", "same.test")] {
            let answer = HTTPDNSProviderAnswer.addresses(
                [address],
                timeToLive: .seconds(9),
                canonicalName: try HTTPDNSName(canonical)
            )
            try fixture.provider.answer(.answer(answer), for: HTTPDNSName(host))
        }
        #expect(try await fixture.resolve("alias.test").canonicalName?.description == "edge.test")
        #expect(try await fixture.resolve("same.test").canonicalName == nil)
    }
}
