// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNSPrimitives
import HTTPDNSTesting
import Testing

@testable import HTTPDNSCore

@Suite("Reload", .timeLimit(.minutes(10)))
struct ReloadTests {
    private func fixture(
        providers: [String] = ["doh"],
        _ change: (inout HTTPDNSResolver.Configuration) throws -> Void = { _ in }
    ) throws -> ResolverFixture {
        let fixture = try ResolverFixture(providers: providers) {
            $0.routes = [
                HTTPDNSRoute(.suffix(try HTTPDNSName("shop.test")), .providers(providers, fallback: .none)),
                HTTPDNSRoute(.suffix(try HTTPDNSName("other.test")), .providers(providers, fallback: .none)),
            ]
            try change(&$0)
        }
        for name in ["img.shop.test", "img.other.test"] { try fixture.say(["203.0.113.1"], about: name) }
        for name in ["img.shop.test", "img.other.test"] {
            try fixture.system.answer(.success([HTTPDNSAddress(v4: 203, 0, 113, 99)]), for: HTTPDNSName(name))
        }
        return fixture
    }

    private func reload(
        _ fixture: ResolverFixture,
        _ change: (inout HTTPDNSResolver.Configuration) throws -> Void
    ) throws -> HTTPDNSResolver.ReloadResult {
        var settings = fixture.settings
        try change(&settings)
        return try fixture.resolver.reload(settings)
    }

    /// Whether the next question about a name is answered out of the cache.
    private func isCached(_ fixture: ResolverFixture, _ host: String) throws -> Bool {
        try fixture.immediate(host)?.isCached == true
    }

    @Test("Equal settings change nothing and count no generation")
    func unchanged() throws {
        let fixture = try fixture { $0.mappings = [try HTTPDNSMapping.Key("a.test"): .system] }
        #expect(try reload(fixture) { _ in } == HTTPDNSResolver.ReloadResult(generation: 1, isChanged: false))
        #expect(fixture.resolver.mappings.generation == 1)
    }

    @Test("One error refuses all of the new settings")
    func allOrNothing() throws {
        let fixture = try fixture()
        for change: (inout HTTPDNSResolver.Configuration) throws -> Void in [
            { $0.mappings = [try HTTPDNSMapping.Key("a.test"): .addresses([])] },
            { $0.routes.append(HTTPDNSRoute(.any, .providers(["nobody"], fallback: .none))) },
            { $0.timeLimit = .zero }, { $0.systemThreads = 0 }, { $0.systemThreads = 1025 }, { $0.families = [] },
            { $0.providers += $0.providers },
        ] {
            #expect(throws: HTTPDNSResolver.ConfigurationError.self) {
                try self.reload(fixture) {
                    $0.routes[0].isEnabled = false
                    $0.mappings = [try HTTPDNSMapping.Key("img.shop.test"): .addresses(["203.0.113.7"])]
                    try change(&$0)
                }
            }
        }
        #expect(fixture.resolver.mappings.generation == 1)
        #expect(fixture.resolver.killSwitch.isFullyOn)
        #expect(try fixture.immediate("img.shop.test") == nil)
    }

    @Test("The settings' mappings become the base, below the overlay")
    func mappings() throws {
        let fixture = try fixture { $0.mappings = [try HTTPDNSMapping.Key("a.test"): .addresses(["203.0.113.1"])] }
        try fixture.resolver.mappings.apply { $0["b.test"] = .addresses(["203.0.113.11"]) }
        let result = try reload(fixture) {
            $0.mappings = [
                try HTTPDNSMapping.Key("a.test"): .addresses(["203.0.113.2"]),
                try HTTPDNSMapping.Key("b.test"): .addresses(["203.0.113.3"]),
            ]
        }
        #expect(result == HTTPDNSResolver.ReloadResult(generation: 3, isChanged: true))
        let base = try #require(try fixture.immediate("a.test"))
        #expect(base.addresses == ["203.0.113.2"] && base.mapping?.origin == .base && base.generation == 3)
        let overlay = try #require(try fixture.immediate("b.test"))
        #expect(overlay.addresses == ["203.0.113.11"] && overlay.mapping?.origin == .overlay)
    }

    struct Change: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// Whether the answers about `img.shop.test` and `img.other.test` stay in use.
        var keeps: (shop: Bool, other: Bool)
        var change: @Sendable (inout HTTPDNSResolver.Configuration) throws -> Void
    }

    @Test(
        "A reload keeps the cached answers whose settings did not change, and no others",
        arguments: [
            Change(testDescription: "mappings", keeps: (true, true)) {
                $0.mappings = [try HTTPDNSMapping.Key("a.test"): .addresses(["203.0.113.7"])]
            },
            Change(testDescription: "a route's place in the file", keeps: (true, true)) {
                $0.routes[0].location = HTTPDNSSourceLocation(file: "f.yaml", line: 9, column: 1)
            },
            Change(testDescription: "a route's rollout", keeps: (true, true)) {
                $0.routes[0].rollout = HTTPDNSRoute.Rollout(percent: 100)
            },
            Change(testDescription: "time limits", keeps: (true, true)) {
                $0.timeLimit = .seconds(2)
                $0.attemptLimit = .seconds(2)
                $0.cache.staleAfter = .seconds(1)
            },
            Change(testDescription: "a provider more, which no route names", keeps: (true, true)) {
                $0.providers.append(ScriptedProvider(name: "new"))
            },
            Change(testDescription: "a route about another name", keeps: (true, true)) {
                $0.routes.append(HTTPDNSRoute(.exact(try HTTPDNSName("pay.shop.test")), .system))
            },
            Change(testDescription: "one route's blocks", keeps: (false, true)) {
                $0.routes[0].allowed = [try #require(HTTPDNSAddressBlock("203.0.113.0/24"))]
            },
            Change(testDescription: "one route's fallback", keeps: (false, true)) {
                $0.routes[0].action = .providers(["doh"], fallback: .system)
            },
            Change(testDescription: "a closer route for the name", keeps: (false, true)) {
                $0.routes.append(
                    HTTPDNSRoute(.exact(try HTTPDNSName("img.shop.test")), .providers(["doh"], fallback: .none))
                )
            },
            Change(testDescription: "one route gone", keeps: (true, false)) { $0.routes.remove(at: 1) },
            Change(testDescription: "the policy", keeps: (false, false)) {
                $0.policy.allowed = [try #require(HTTPDNSAddressBlock("10.0.0.0/8"))]
            },
            Change(testDescription: "the families", keeps: (false, false)) { $0.families = .v4 },
            Change(testDescription: "the longest life", keeps: (false, false)) {
                $0.cache.maximumTimeToLive = .seconds(5)
            },
            Change(testDescription: "another provider of the same name", keeps: (false, false)) {
                $0.providers = [ScriptedProvider(name: "doh", timeSource: ManualClock())]
            },
        ]
    )
    func keepsAnswers(row: Change) async throws {
        let fixture = try fixture()
        _ = try await fixture.resolve("img.shop.test")
        _ = try await fixture.resolve("img.other.test")
        #expect(try reload(fixture, row.change).isChanged)
        #expect(try isCached(fixture, "img.shop.test") == row.keeps.shop)
        #expect(try isCached(fixture, "img.other.test") == row.keeps.other)
    }

    @Test("A route's cached answers are not used without the route, and return with it")
    func routeGoesAndComes() async throws {
        let fixture = try fixture()
        #expect(try await fixture.resolve("img.shop.test").source == .provider)
        _ = try reload(fixture) { $0.routes.remove(at: 0) }
        #expect(try await fixture.resolve("img.shop.test").source == .system)
        _ = try reload(fixture) { _ in }
        #expect(try await fixture.resolve("img.shop.test").source == .provider)
        #expect(fixture.provider.queries.count == 2)
    }

    @Test("A lookup in flight ends by its old settings, and later lookups do not join it")
    func flights() async throws {
        let fixture = try fixture()
        let fresh = ScriptedProvider(name: "doh", timeSource: ManualClock())
        let host = try HTTPDNSName("img.shop.test")
        fresh.answer(.answer(.addresses([HTTPDNSAddress(v4: 203, 0, 113, 2)], timeToLive: .seconds(60))), for: host)
        fixture.provider.hold()
        async let early = fixture.resolve("img.shop.test")
        await fixture.provider.queries(atLeast: 1)
        _ = try reload(fixture) { $0.providers = [fresh] }
        #expect(try await fixture.resolve("img.shop.test").addresses == ["203.0.113.2"])
        #expect(!fixture.provider.isShutDown, "it still has a flight")
        fixture.provider.release()
        #expect(try await early.addresses == ["203.0.113.1"])
        #expect(try fixture.immediate("img.shop.test")?.addresses == ["203.0.113.2"], "and the late answer is not kept")
        while !fixture.provider.isShutDown, !Task.isCancelled { await Task.yield() }
        #expect(!fresh.isShutDown)
        while fixture.resolver.retired.count > 0, !Task.isCancelled { await Task.yield() }
        await fixture.resolver.shutdown()
        #expect(fresh.isShutDown)
    }

    @Test("The answer of a lookup across a reload is kept if its route is unchanged")
    func landsLate() async throws {
        let fixture = try fixture()
        fixture.provider.hold()
        async let shop = fixture.resolve("img.shop.test")
        async let other = fixture.resolve("img.other.test")
        await fixture.provider.queries(atLeast: 2)
        _ = try reload(fixture) { $0.routes[0].staleLimit = .seconds(7) }
        fixture.provider.release()
        _ = try await (shop, other)
        #expect(try !isCached(fixture, "img.shop.test"))
        #expect(try isCached(fixture, "img.other.test"))
    }

    @Test("A shutdown also ends replaced providers that still work")
    func shutdownOfReplaced() async throws {
        let fixture = try fixture()
        fixture.provider.hold()
        let early = Task { try await fixture.resolve("img.shop.test") }
        await fixture.provider.queries(atLeast: 1)
        _ = try reload(fixture) { $0.providers = [ScriptedProvider(name: "doh", timeSource: ManualClock())] }
        await fixture.resolver.shutdown()
        #expect(fixture.provider.isShutDown)
        await #expect(throws: HTTPDNSResolver.Error.self) { try await early.value }
        #expect(throws: HTTPDNSResolver.ConfigurationError.self) { try fixture.resolver.reload(fixture.settings) }
    }

    @Test("An unchanged provider keeps its health and counters, with the new limits")
    func health() async throws {
        let fixture = try fixture(providers: ["doh", "backup"])
        for number in 0..<4 {
            let host = "n\(number).shop.test"
            fixture.provider.answer(.failure(.unavailable), for: try HTTPDNSName(host))
            try fixture.say(["203.0.113.3"], about: host, at: 1)
            #expect(try await fixture.resolve(host).provider == "backup")
        }
        func isResting() -> Bool {
            if case .quarantined? = fixture.resolver.providerHealth.first?.state { return true }
            return false
        }
        #expect(isResting())
        let before = fixture.resolver.providerHealth.map(\.queries)
        _ = try reload(fixture) {
            $0.providerLimits = ["backup": HTTPDNSResolver.Configuration.ProviderLimits(maximumInFlight: 3)]
        }
        #expect(isResting())
        #expect(fixture.resolver.providerHealth.map(\.queries) == before)
        #expect(fixture.resolver.counters.providers["doh"]?.failures.isEmpty == false)
        _ = try reload(fixture) {
            $0.providers = [ScriptedProvider(name: "doh", timeSource: ManualClock()), $0.providers[1]]
        }
        #expect(!isResting(), "another provider of that name begins with no record")
        #expect(fixture.resolver.providerHealth.map(\.queries)[1] == before[1])
    }

    @Test("Library providers with equal settings are shared, others are not")
    func equivalence() throws {
        func doh(_ url: String = "https://192.0.2.1/dns-query") throws -> HTTPDNSDoHProvider {
            try HTTPDNSDoHProvider(HTTPDNSDoHProvider.Configuration(name: "p", url: url))
        }
        func json(_ secret: HTTPDNSSecret?) throws -> HTTPDNSJSONProvider {
            try HTTPDNSJSONProvider(HTTPDNSJSONProvider.Configuration(name: "p", service: .google))
        }
        #expect(try doh().isEquivalent(to: doh()))
        #expect(try !doh().isEquivalent(to: doh("https://192.0.2.2/dns-query")))
        #expect(try json(nil).isEquivalent(to: json(nil)))
        #expect(try !json(nil).isEquivalent(to: doh()))
        #expect(HTTPDNSSecret.file("/a").isSame(as: .file("/a")) && !HTTPDNSSecret.file("/a").isSame(as: .file("/b")))
        #expect(!HTTPDNSSecret { "a" }.isSame(as: HTTPDNSSecret { "a" }))
        let closure = HTTPDNSSecret { "a" }
        #expect(closure.isSame(as: closure) && !closure.isSame(as: .file("/a")))
        let scripted = ScriptedProvider()
        #expect(scripted.isEquivalent(to: scripted) && !scripted.isEquivalent(to: ScriptedProvider()))
    }

    @Test("Settings that need a restart are named, and the others take effect")
    func needsRestart() throws {
        let fixture = try fixture()
        let result = try reload(fixture) {
            $0.cache.entries = 17
            $0.snapshotPath = "/nowhere/cache"
            $0.preresolve = [try HTTPDNSName("a.test")]
            $0.mappings = [try HTTPDNSMapping.Key("a.test"): .addresses(["203.0.113.7"])]
        }
        #expect(result.needsRestart == ["cache.entries", "cache.preresolve", "cache.snapshot"])
        #expect(result.isChanged)
        #expect(try fixture.immediate("a.test")?.source == .mapping)
    }

    @Test("Version numbers that wrap around do not make an old answer usable")
    func epochs() {
        #expect(ResolvingSettings.isNewer(1, than: 0) && !ResolvingSettings.isNewer(0, than: 1))
        #expect(ResolvingSettings.isNewer(0, than: .max) && !ResolvingSettings.isNewer(.max, than: 0))
        let word = PackedSettingsVersion(generation: 1 << 40, epoch: .max)
        #expect(word.generation == 1 << 40 && word.epoch == .max)
        let use = DirectUse(under: word, countsRollout: true, dependsOnKey: false)
        #expect(use.countsRollout && !use.dependsOnKey && use.holds(under: word))
        #expect(!use.holds(under: PackedSettingsVersion(generation: 1 << 40 + 1, epoch: .max)))
        #expect(!use.holds(under: PackedSettingsVersion(generation: 1 << 40, epoch: 0)))
        #expect(!DirectUse.unknown.holds(under: PackedSettingsVersion(generation: 1, epoch: 0)))
    }

    @Test("Lookups are answered while 10,000 rules are replaced")
    func manyRules() async throws {
        let fixture = try fixture()
        _ = try await fixture.resolve("img.shop.test")
        func rules(_ last: UInt8) throws -> [HTTPDNSMapping.Key: HTTPDNSMapping] {
            var rules: [HTTPDNSMapping.Key: HTTPDNSMapping] = [:]
            let mapping = HTTPDNSMapping(.addresses([.init(HTTPDNSAddress(v4: 203, 0, 113, last))]))
            for number in 0..<10_000 { rules[try HTTPDNSMapping.Key("n\(number).rules.test")] = mapping }
            return rules
        }
        let (first, second) = (try rules(1), try rules(2))
        _ = try reload(fixture) { $0.mappings = first }
        let resolver = fixture.resolver
        let settings = fixture.settings
        let clock = ContinuousClock()
        let reload = Lock<Result<Duration, any Error>?>(nil)
        var changed = settings
        changed.mappings = second
        // A thread of its own: this loop and other tests may keep those of the runtime busy.
        Thread.detachNewThread { [changed] in
            let result = Result { try clock.measure { try resolver.reload(changed) } }
            reload.withLock { $0 = result }
        }
        var answers: [[String]?] = []
        var outcome: Result<Duration, any Error>?
        repeat {
            answers.append(try fixture.immediate("n9999.rules.test")?.addresses)
            #expect(try isCached(fixture, "img.shop.test"))
            outcome = reload.withLock { $0 }
        } while outcome == nil
        let reloaded = try #require(outcome).get()
        #expect(answers.allSatisfy { $0 == ["203.0.113.1"] || $0 == ["203.0.113.2"] } && answers.count > 10)
        #expect(try fixture.immediate("n9999.rules.test")?.addresses == ["203.0.113.2"])
        #expect(try isCached(fixture, "img.shop.test"))
        // The quickest of many, for a busy machine takes turns.
        let applied = try (0..<20).map { _ in
            try clock.measure { try resolver.mappings.apply { $0["n1.rules.test"] = .addresses(["203.0.113.3"]) } }
        }.min()
        #expect(try #require(applied) * 10 < reloaded, "an overlay costs nothing for the rules below it")
        #expect(try fixture.immediate("n1.rules.test")?.addresses == ["203.0.113.3"])
    }
}
