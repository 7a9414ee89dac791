// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSTesting
import Testing

@testable import HTTPDNSCore

struct ShadowTests {
    private func fixture(
        system: Result<[HTTPDNSAddress], SystemResolverError>? = .success([HTTPDNSAddress(v4: 203, 0, 113, 99)]),
        _ change: (inout HTTPDNSResolver.Configuration) throws -> Void = { _ in }
    ) throws -> ResolverFixture {
        let fixture = try ResolverFixture(fallback: .system) {
            $0.routes[0].mode = .shadow
            try change(&$0)
        }
        if let system { try fixture.system.answer(system, for: HTTPDNSName("img.test")) }
        return fixture
    }

    /// What was counted, once nothing waits any more.
    private func counted(_ fixture: ResolverFixture) async -> [Int] {
        while fixture.resolver.shadows.waitingCount > 0, !Task.isCancelled { await Task.yield() }
        let counters = fixture.resolver.counters
        return [counters.shadowAgreed, counters.shadowDiffered, counters.shadowFailed]
    }

    @Test(
        "A comparison gives the expected verdict",
        arguments: [
            (["203.0.113.1"], ["203.0.113.1", "203.0.113.2"], "shadowAgreed"),
            (["203.0.113.1"], ["203.0.113.2"], "shadowDiffered"),
            (["203.0.113.1"], [], "shadowDiffered"), ([], ["203.0.113.1"], "shadowDiffered"), ([], [], "shadowAgreed"),
            (nil, ["203.0.113.1"], "shadowDiffered"), (nil, [], "shadowDiffered"), (nil, nil, "shadowFailed"),
            (["203.0.113.1"], nil, "shadowFailed"), ([], nil, "shadowFailed"),
        ] as [([String]?, [String]?, String)]
    )
    func verdicts(system: [String]?, providers: [String]?, verdict: String) {
        func word(_ texts: [String]?) -> ShadowWord {
            guard let texts else { return .failed }
            return texts.isEmpty ? .nothing : .addresses(Set(texts.compactMap { HTTPDNSAddress($0) }))
        }
        #expect("\(ShadowWord.verdict(system: word(system), providers: word(providers)))" == verdict)
    }

    /// The system resolver is asked before, and answers after it.
    @Test("A name that is switched off meanwhile is not compared", arguments: ["img.test", "via.test"])
    func switchedOff(host: String) async throws {
        let fixture = try fixture { $0.mappings = [try HTTPDNSMapping.Key("via.test"): .via("img.test")] }
        try fixture.say(["203.0.113.1"], about: "img.test")
        fixture.system.hold()
        async let waiting = fixture.resolve(host)
        await fixture.system.questions(atLeast: 1)
        fixture.resolver.killSwitch.turnOff(.route(try HTTPDNSRoute.Pattern("img.test")))
        fixture.resolver.killSwitch.turnOff(.route(try HTTPDNSRoute.Pattern(host)))
        fixture.system.release()
        #expect(try await waiting.addresses == ["203.0.113.99"])
        #expect(await counted(fixture) == [0, 0, 0])
        #expect(fixture.provider.queries.isEmpty)
    }

    /// Each lookup is compared once.
    @Test("In shadow mode the system's answer serves without waiting for a provider")
    func neverWaits() async throws {
        let fixture = try fixture()
        try fixture.say(["203.0.113.1"], about: "img.test")
        fixture.provider.hold()
        for _ in 0..<5 {
            let resolution = try await fixture.resolve("img.test")
            #expect(resolution.addresses == ["203.0.113.99"])
            #expect(resolution.source == .system && resolution.systemReason == .shadow)
        }
        #expect(fixture.resolver.counters.shadowDiffered == 0)
        await fixture.provider.queries(atLeast: 1)
        fixture.provider.release()
        #expect(await counted(fixture) == [0, 5, 0])
        #expect(fixture.provider.queries.count == 1, "through one lookup")
        // From now on the provider's answer is in the cache.
        _ = try await fixture.resolve("img.test")
        #expect(await counted(fixture) == [0, 6, 0])
        #expect(fixture.provider.queries.count == 1)
        #expect(fixture.resolver.counters.queries == 6, "comparing is no query")
    }

    @Test("Answers with a common address agree")
    func agreed() async throws {
        let fixture = try fixture()
        try fixture.say(["203.0.113.1", "203.0.113.99"], about: "img.test")
        _ = try await fixture.resolve("img.test")
        #expect(await counted(fixture) == [1, 0, 0])
    }

    @Test("A failing provider is counted as failed, even while it is in quarantine")
    func failed() async throws {
        let fixture = try fixture()
        fixture.provider.answer(.failure(.unavailable), for: try HTTPDNSName("img.test"))
        for _ in 0..<3 { #expect(try await fixture.resolve("img.test").addresses == ["203.0.113.99"]) }
        #expect(await counted(fixture) == [0, 0, 3])
        #expect(fixture.system.questions.count == 1, "the fallback is not asked for the comparison")
    }

    @Test("An answer that the policy refuses completely counts as a failure")
    func policy() async throws {
        let fixture = try fixture()
        try fixture.say(["10.0.0.1"], about: "img.test")
        _ = try await fixture.resolve("img.test")
        #expect(await counted(fixture) == [0, 0, 1])
    }

    @Test("A lookup that fails by the system is compared too, and fails")
    func systemFails() async throws {
        let fixture = try fixture(system: nil)
        try fixture.say(["203.0.113.1"], about: "img.test")
        let error = await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("img.test") }
        #expect(error?.code == .nameNotFound)
        #expect(error?.hint == "its route is in shadow mode, so providers' answers are not used")
        #expect(await counted(fixture) == [0, 1, 0])
    }

    @Test("A difference is reported once, with both answers")
    func event() async throws {
        let fixture = try fixture()
        try fixture.say(["203.0.113.1"], about: "img.test")
        var listener = fixture.resolver.listener
        for _ in 0..<3 { _ = try await fixture.resolve("img.test") }
        #expect(await counted(fixture) == [0, 3, 0])
        let event = await listener.wait(for: .shadowDiffered)
        #expect(event?.addresses == [HTTPDNSAddress(v4: 203, 0, 113, 1)])
        #expect(event?.previousAddresses == [HTTPDNSAddress(v4: 203, 0, 113, 99)])
        await fixture.resolver.shutdown()
        #expect(await listener.wait(for: .shadowDiffered) == nil)
    }

    @Test("Of a rollout only lookups within it are compared")
    func rollout() async throws {
        let fixture = try fixture { $0.routes[0].rollout = HTTPDNSRoute.Rollout(percent: 0) }
        try fixture.say(["203.0.113.1"], about: "img.test")
        #expect(try await fixture.resolve("img.test").systemReason == .outsideRollout)
        #expect(await counted(fixture) == [0, 0, 0])
        #expect(fixture.provider.queries.isEmpty)
    }

    @Test("A route switched from shadow to use serves the shadow's answers immediately")
    func toUse() async throws {
        let fixture = try fixture()
        try fixture.say(["203.0.113.1"], about: "img.test")
        _ = try await fixture.resolve("img.test")
        _ = await counted(fixture)
        var settings = fixture.settings
        settings.routes[0].mode = .use
        try fixture.resolver.reload(settings)
        #expect(try fixture.immediate("img.test")?.addresses == ["203.0.113.1"])
        #expect(fixture.provider.queries.count == 1)
    }

    @Test("A shutdown leaves no comparison behind")
    func shutdown() async throws {
        let fixture = try fixture()
        fixture.provider.hold()
        _ = try await fixture.resolve("img.test")
        await fixture.provider.queries(atLeast: 1)
        await fixture.resolver.shutdown()
        #expect(await counted(fixture) == [0, 0, 1])
    }
}
