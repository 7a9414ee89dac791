// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSTesting
import Testing

/// A provider answers a private address for a public name, as one does that is hijacked.
struct RefusedAnswerTests {
    private static let refusal = #"10.0.0.1 is private (10.0.0.0/8); provider "ali" may answer public addresses only"#

    @Test("An answer that the policy refuses completely is a failure of its provider")
    func nextProvider() async throws {
        let fixture = try ResolverFixture(providers: ["ali", "backup"])
        try fixture.say(["10.0.0.1"], about: "pay.test")
        try fixture.say(["203.0.113.30"], about: "pay.test", at: 1)
        let resolution = try await fixture.resolve("pay.test")
        #expect(resolution.provider == "backup" && resolution.addresses == ["203.0.113.30"])
        let failures = resolution.failedAttempts.map(\.failure)
        #expect(failures == ["the address policy refused every address: \(Self.refusal)"])
        #expect(try fixture.immediate("pay.test")?.addresses == ["203.0.113.30"])
        let counters = fixture.resolver.counters
        #expect(counters.providers["ali"]?.failures == [.policyRefused: 1])
        #expect(counters.policyRefusals == 0)
    }

    @Test("The system resolver replaces providers whose answers are refused")
    func fallback() async throws {
        let fixture = try ResolverFixture(fallback: .system)
        try fixture.say(["10.0.0.1"], timeToLive: .seconds(3600), about: "pay.test")
        try fixture.system.answer(.success([HTTPDNSAddress(v4: 203, 0, 113, 99)]), for: HTTPDNSName("pay.test"))
        let resolution = try await fixture.resolve("pay.test")
        #expect(resolution.source == .system && resolution.addresses == ["203.0.113.99"])
        #expect(resolution.failedAttempts.map(\.provider) == ["doh"])
        #expect(resolution.timeToLive == .seconds(1))
    }

    @Test("A refused answer of the fallback is an error with the addresses of both sources")
    func refusedFallback() async throws {
        let fixture = try ResolverFixture(fallback: .system)
        try fixture.say(["10.0.0.1"], about: "pay.test")
        try fixture.system.answer(.success([HTTPDNSAddress(v4: 10, 0, 0, 2)]), for: HTTPDNSName("pay.test"))
        let error = await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("pay.test") }
        #expect(error?.code == .policyRefused && error?.attempts.map(\.provider) == ["doh", "system"])
        for address in ["10.0.0.1", "10.0.0.2"] { #expect(error?.message.contains(address) == true, "\(address)") }
    }

    @Test("A refused answer of the fallback does not end the query of a provider")
    func slowProvider() async throws {
        let fixture = try ResolverFixture(fallback: .system)
        try fixture.say(["203.0.113.1"], about: "pay.test")
        try fixture.system.answer(.success([HTTPDNSAddress(v4: 10, 0, 0, 2)]), for: HTTPDNSName("pay.test"))
        fixture.provider.hold()
        async let pending = fixture.resolve("pay.test") { $0.timeLimit = .seconds(1) }
        await fixture.provider.queries(atLeast: 1)
        await fixture.time.sleepers(atLeast: 3)
        // Half of the caller's limit, at which the system resolver is queried as well.
        fixture.time.advance(by: .milliseconds(500))
        func isSettled(_ counters: HTTPDNSResolver.Counters) -> Bool {
            counters.systemFailures > 0 || counters.policyRefusals > 0
        }
        while !isSettled(fixture.resolver.counters), !Task.isCancelled { await Task.yield() }
        fixture.provider.release()
        #expect(try await pending.addresses == ["203.0.113.1"])
    }

    @Test("A refused answer does not replace a stale one that is allowed")
    func stale() async throws {
        let fixture = try ResolverFixture(fallback: .system)
        try fixture.say(["203.0.113.1"], about: "pay.test")
        _ = try await fixture.resolve("pay.test")
        try fixture.say(["10.0.0.1"], timeToLive: .seconds(3600), about: "pay.test")
        fixture.time.advance(by: .seconds(60))
        let stale = try await fixture.resolve("pay.test")
        #expect(stale.isStale && stale.addresses == ["203.0.113.1"])
        #expect(fixture.system.questions.isEmpty)
        try fixture.say(["203.0.113.2"], about: "pay.test")
        fixture.time.advance(by: .seconds(1))
        #expect(try await fixture.resolve("pay.test").addresses == ["203.0.113.2"])
    }

    /// No other source has an answer. The time to live of the refused answer does not count.
    @Test("A name without an answer that is allowed has the short back-off of a failure")
    func noSource() async throws {
        let fixture = try ResolverFixture(providers: ["ali"])
        try fixture.say(["10.0.0.1"], timeToLive: .seconds(3600), about: "pay.test")
        let error = await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("pay.test") }
        #expect(error?.code == .policyRefused && error?.attempts.map(\.provider) == ["ali"])
        #expect(error?.message == "the address policy refused every address of pay.test: \(Self.refusal)")
        #expect(error?.hint == "answer_scope: private of the provider (answerScope in code), or policy.allow")
        let again = #expect(throws: HTTPDNSResolver.Error.self) { try fixture.immediate("pay.test") }
        #expect(again?.code == .policyRefused)
        let counters = fixture.resolver.counters
        #expect(counters.policyRefusals == 2 && counters.failureHits == 0)
        try fixture.say(["203.0.113.1"], about: "pay.test")
        fixture.time.advance(by: .seconds(1))
        #expect(try await fixture.resolve("pay.test").addresses == ["203.0.113.1"])
        #expect(fixture.provider.queries.count == 2)
    }

    @Test("A refused answer does not contradict another provider's negative answer")
    func negative() async throws {
        let fixture = try ResolverFixture(providers: ["ali", "backup"])
        try fixture.say([], about: "empty.test")
        try fixture.say(["10.0.0.1"], about: "empty.test", at: 1)
        let error = await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("empty.test") }
        #expect(error?.code == .noAddresses)
        #expect(fixture.providers[1].queries.count == 1)
    }

    @Test("A refresh whose answer is refused leaves the cached answer in use")
    func refresh() async throws {
        let fixture = try ResolverFixture()
        var listener = fixture.resolver.listener
        try fixture.say(["203.0.113.1"], about: "pay.test")
        _ = try await fixture.resolve("pay.test")
        try fixture.say(["10.0.0.1"], timeToLive: .seconds(3600), about: "pay.test")
        fixture.time.advance(by: .seconds(58))
        #expect(try fixture.immediate("pay.test")?.addresses == ["203.0.113.1"])
        let event = await listener.wait(for: .refreshFailed)
        #expect(event?.code == "policy-refused")
        let cached = try fixture.immediate("pay.test")
        #expect(cached?.addresses == ["203.0.113.1"] && cached?.timeToLive == .seconds(2))
    }

    @Test("A missing family whose addresses are refused is asked of the next provider")
    func missingFamily() async throws {
        let fixture = try ResolverFixture(providers: ["ali", "backup"])
        var listener = fixture.resolver.listener
        let half = HTTPDNSProviderAnswer(
            v4: .addresses([HTTPDNSAddress(v4: 203, 0, 113, 2)], timeToLive: .seconds(600), canonicalName: nil),
            v6: .failed(.unavailable)
        )
        try fixture.provider.answer(.answer(half), for: HTTPDNSName("half.test"))
        _ = try await fixture.resolve("half.test")
        try fixture.say(["203.0.113.2", "fd00::1"], timeToLive: .seconds(600), about: "half.test")
        try fixture.say(["2001:db8::2"], timeToLive: .seconds(600), about: "half.test", at: 1)
        fixture.time.advance(by: .seconds(10))
        _ = try fixture.immediate("half.test")
        await listener.wait(for: .refreshed)
        #expect(try fixture.immediate("half.test")?.addresses == ["203.0.113.2", "2001:db8::2"])
        #expect(fixture.providers[1].queries.map(\.families) == [.v6])
    }

    @Test("A refused answer of a batch goes to the next provider, and the others are kept")
    func batch() async throws {
        let fixture = try ResolverFixture(providers: ["ali", "backup"], batchLimit: 5)
        let names = try (0..<3).map { try HTTPDNSName("n\($0).test") }
        for name in names {
            try fixture.say(["203.0.113.1"], about: name.description)
            try fixture.say(["203.0.113.2"], about: name.description, at: 1)
        }
        try fixture.say(["10.0.0.1"], about: "n1.test")
        #expect(await fixture.resolver.preresolve(names).isEmpty)
        let addresses = try names.map { try fixture.immediate($0.description)?.addresses }
        #expect(addresses == [["203.0.113.1"], ["203.0.113.2"], ["203.0.113.1"]])
        #expect(fixture.provider.batches.map(\.count) == [3])
    }

    @Test("A batch of refused answers counts against its names, not against its provider")
    func refusedBatch() async throws {
        let fixture = try ResolverFixture(providers: ["ali", "backup"], batchLimit: 5)
        let names = try (0..<2).map { try HTTPDNSName("n\($0).test") }
        for name in names {
            try fixture.say(["10.0.0.1"], about: name.description)
            try fixture.say(["203.0.113.2"], about: name.description, at: 1)
        }
        #expect(await fixture.resolver.preresolve(names).isEmpty)
        #expect(fixture.resolver.providerHealth[0].state == .healthy)
    }

    @Test("One name whose answers are refused does not put its provider into quarantine")
    func oneName() async throws {
        let fixture = try ResolverFixture(providers: ["ali", "backup"])
        try fixture.say(["10.0.0.1"], about: "pay.test")
        try fixture.say(["203.0.113.30"], about: "pay.test", at: 1)
        for _ in 0..<5 {
            #expect(try await fixture.resolve("pay.test").provider == "backup")
            #expect(fixture.resolver.providerHealth[0].state == .healthy)
            fixture.time.advance(by: .seconds(60))
        }
        try fixture.say(["203.0.113.1"], about: "known.test")
        #expect(try await fixture.resolve("known.test").provider == "ali")
    }

    @Test("A provider whose answers for three names in a row are refused is quarantined")
    func severalNames() async throws {
        let fixture = try ResolverFixture(providers: ["ali", "backup"])
        for number in 0..<4 {
            try fixture.say(["10.0.0.1"], about: "n\(number).test")
            try fixture.say(["203.0.113.30"], about: "n\(number).test", at: 1)
            #expect(try await fixture.resolve("n\(number).test").provider == "backup")
        }
        #expect(fixture.resolver.providerHealth[0].state != .healthy)
        #expect(fixture.provider.queries.count == 3)
    }

    @Test("The policy after a reload decides which answers are failures")
    func reload() async throws {
        let fixture = try ResolverFixture(providers: ["ali", "backup"])
        try fixture.say(["203.0.113.1"], about: "pay.test")
        try fixture.say(["198.51.100.1"], about: "pay.test", at: 1)
        #expect(try await fixture.resolve("pay.test").addresses == ["203.0.113.1"])
        var settings = fixture.settings
        settings.policy.denied = [try #require(HTTPDNSAddressBlock("203.0.113.0/24"))]
        try fixture.resolver.reload(settings)
        #expect(try await fixture.resolve("pay.test").addresses == ["198.51.100.1"])
    }

    @Test("A refused answer of the system resolver does not replace its stale one")
    func staleOfSystem() async throws {
        let fixture = try ResolverFixture { $0.routes = [HTTPDNSRoute(.any, .system)] }
        try fixture.system.answer(.success([HTTPDNSAddress(v4: 203, 0, 113, 99)]), for: HTTPDNSName("pay.test"))
        _ = try await fixture.resolve("pay.test")
        try fixture.system.answer(.success([HTTPDNSAddress(v4: 0, 0, 0, 0)]), for: HTTPDNSName("pay.test"))
        fixture.time.advance(by: .seconds(30))
        let stale = try await fixture.resolve("pay.test")
        #expect(stale.isStale && stale.addresses == ["203.0.113.99"])
    }
}

// Names whose `via` rules and HTTPS records lead to others.
extension RefusedAnswerTests {
    /// The route of inside.test allows addresses that the route of edge.test does not.
    private func viaFixture() throws -> ResolverFixture {
        let fixture = try ResolverFixture(fallback: .system) {
            var route = HTTPDNSRoute(.exact(try HTTPDNSName("inside.test")), .providers(["doh"], fallback: .system))
            route.allowed = [try #require(HTTPDNSAddressBlock("10.0.0.0/8"))]
            $0.routes.append(route)
            $0.mappings = [try HTTPDNSMapping.Key("inside.test"): .via("edge.test")]
        }
        try fixture.say(["10.1.2.3"], about: "edge.test")
        return fixture
    }

    @Test("An answer is used that only the route of the name with the via rule allows")
    func via() async throws {
        let fixture = try viaFixture()
        #expect(try await fixture.resolve("inside.test").addresses == ["10.1.2.3"])
        #expect(try fixture.immediate("inside.test")?.addresses == ["10.1.2.3"])
        #expect(fixture.provider.queries.count == 1)
    }

    @Test("A stale answer that the policy refuses does not stop the system resolver's")
    func refusedStale() async throws {
        let fixture = try viaFixture()
        _ = try await fixture.resolve("inside.test")
        try fixture.provider.answer(.failure(.unavailable), for: HTTPDNSName("edge.test"))
        try fixture.system.answer(.success([HTTPDNSAddress(v4: 203, 0, 113, 99)]), for: HTTPDNSName("edge.test"))
        fixture.time.advance(by: .seconds(60))
        let resolution = try await fixture.resolve("edge.test")
        #expect(resolution.source == .system && resolution.addresses == ["203.0.113.99"])
    }

    private func httpsFixture(_ providers: [String] = ["ali", "backup"]) throws -> ResolverFixture {
        try ResolverFixture(providers: providers) {
            $0.routes[0].usesHTTPSRecords = true
            $0.families = .v4
        }
    }

    private func say(
        _ address: String,
        _ httpsRecords: HTTPDNSProviderAnswer.HTTPSRecords,
        about host: String,
        in fixture: ResolverFixture,
        at index: Int = 0
    ) throws {
        let v4 = try #require(HTTPDNSAddress(address))
        var answer = HTTPDNSProviderAnswer(v4: .addresses([v4], timeToLive: .seconds(60), canonicalName: nil))
        answer.httpsRecords = httpsRecords
        try fixture.providers[index].answer(.answer(answer), for: HTTPDNSName(host))
    }

    @Test("A refused answer with HTTPS records of its own name goes to the next provider")
    func ownRecord() async throws {
        let fixture = try httpsFixture()
        let binding = HTTPDNSProviderAnswer.HTTPSRecord(priority: 1, port: 8443)
        for (index, address) in ["10.0.0.1", "203.0.113.2"].enumerated() {
            try say(address, .bindings([binding], timeToLive: .seconds(60)), about: "one.test", in: fixture, at: index)
        }
        let endpoints = try await fixture.resolve("one.test").endpoints.map(\.description)
        #expect(endpoints == ["203.0.113.2:8443", "203.0.113.2:443"])
    }

    @Test("An answer is used when its HTTPS records lead to addresses that are allowed")
    func recordElsewhere() async throws {
        let fixture = try httpsFixture()
        let edge = try HTTPDNSName("edge.test")
        try say("10.0.0.1", .alias(edge, timeToLive: .seconds(30)), about: "one.test", in: fixture)
        try say("203.0.113.2", .none(timeToLive: nil), about: "edge.test", in: fixture)
        #expect(try await fixture.resolve("one.test").addresses == ["203.0.113.2"])
        #expect(fixture.providers[1].queries.isEmpty)
    }

    @Test(
        "An answer whose HTTPS records lead to refused addresses too is a failure",
        arguments: [["ali"], ["ali", "backup"]]
    )
    func refusedElsewhere(providers: [String]) async throws {
        let fixture = try httpsFixture(providers)
        let edge = try HTTPDNSName("edge.test")
        try say("10.0.0.1", .alias(edge, timeToLive: .seconds(3600)), about: "one.test", in: fixture)
        try say("10.0.0.2", .none(timeToLive: nil), about: "edge.test", in: fixture)
        let error = await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("one.test") }
        #expect(error?.code == .policyRefused && error?.attempts.map(\.provider) == ["ali"])
        try say("203.0.113.2", .none(timeToLive: nil), about: "one.test", in: fixture)
        fixture.time.advance(by: .seconds(1))
        #expect(try await fixture.resolve("one.test").addresses == ["203.0.113.2"])
    }
}
