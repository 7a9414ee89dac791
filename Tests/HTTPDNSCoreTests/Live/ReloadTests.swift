// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNSMessages
import HTTPDNSTesting
import HTTPDNSVendors
import Testing

@testable import HTTPDNSCore

struct ReloadTests {
    private func fixture(
        providers: [String] = ["doh"],
        _ change: (inout HTTPDNSResolver.Configuration) throws -> Void = { _ in }
    ) throws -> ResolverFixture {
        let fixture = try ResolverFixture(providers: providers) {
            $0.routes = [
                HTTPDNSRoute(.suffix(try HTTPDNSName("shop.test")), .providers(providers, fallback: .off)),
                HTTPDNSRoute(.suffix(try HTTPDNSName("other.test")), .providers(providers, fallback: .off)),
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
            { $0.routes.append(HTTPDNSRoute(.any, .providers(["nobody"], fallback: .off))) },
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
        "A reload keeps the cached answers that the new settings allow, and no others",
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
                $0.providers.append(HTTPDNSScriptedProvider(name: "new"))
            },
            Change(testDescription: "a route about another name", keeps: (true, true)) {
                $0.routes.append(HTTPDNSRoute(.exact(try HTTPDNSName("pay.shop.test")), .system))
            },
            Change(testDescription: "one route's blocks", keeps: (true, true)) {
                $0.routes[0].allowed = [try #require(HTTPDNSAddressBlock("203.0.113.0/24"))]
            },
            Change(testDescription: "one route's fallback", keeps: (true, true)) {
                $0.routes[0].action = .providers(["doh"], fallback: .system)
            },
            Change(testDescription: "a closer route for the name", keeps: (true, true)) {
                $0.routes.append(
                    HTTPDNSRoute(.exact(try HTTPDNSName("img.shop.test")), .providers(["doh"], fallback: .off))
                )
            },
            Change(testDescription: "one route gone", keeps: (true, false)) { $0.routes.remove(at: 1) },
            Change(testDescription: "another block in the policy", keeps: (true, true)) {
                $0.policy.allowed = [try #require(HTTPDNSAddressBlock("10.0.0.0/8"))]
            },
            Change(testDescription: "the block of the addresses denied", keeps: (false, false)) {
                $0.policy.denied = [try #require(HTTPDNSAddressBlock("203.0.113.0/24"))]
            },
            Change(testDescription: "their family", keeps: (true, true)) { $0.families = .v4 },
            Change(testDescription: "another family", keeps: (false, false)) { $0.families = .v6 },
            Change(testDescription: "one route's client subnet", keeps: (false, true)) {
                $0.routes[0].clientSubnet = HTTPDNSAddressBlock("198.51.100.0/24")
            },
            Change(testDescription: "the longest life", keeps: (true, true)) {
                $0.cache.maximumTimeToLive = .seconds(5)
            },
            Change(testDescription: "one route's stale limit", keeps: (true, true)) {
                $0.routes[0].staleLimit = .zero
            },
            Change(testDescription: "the internal zones", keeps: (true, true)) {
                $0.internalZones = [try HTTPDNSName("lab.test")]
            },
            Change(testDescription: "a provider more in one route", keeps: (true, true)) {
                $0.providers.append(HTTPDNSScriptedProvider(name: "new"))
                $0.routes[0].action = .providers(["new", "doh"], fallback: .off)
            },
            Change(testDescription: "one route's provider", keeps: (false, true)) {
                $0.providers.append(HTTPDNSScriptedProvider(name: "new"))
                $0.routes[0].action = .providers(["new"], fallback: .off)
            },
            Change(testDescription: "another provider of the same name", keeps: (false, false)) {
                $0.providers = [HTTPDNSScriptedProvider(name: "doh", clock: HTTPDNSManualClock())]
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

    struct OutageChange: Sendable, CustomTestStringConvertible {
        var testDescription: String
        /// The age of the answer, which lives for a minute.
        var minutes = 40
        /// The addresses that serve as stale ones; nil for none.
        var serves: [String]?
        var change: @Sendable (inout HTTPDNSResolver.Configuration) throws -> Void
    }

    private static let known = ["203.0.113.1", "198.51.100.1", "2001:db8::1"]

    @Test(
        "In an outage stale answers stay through a reload as far as it allows them",
        arguments: [
            OutageChange(testDescription: "a longer stale limit", minutes: 90, serves: known) {
                $0.cache.staleLimit = .seconds(6 * 3600)
            },
            OutageChange(testDescription: "a longer stale limit of the route", minutes: 90, serves: known) {
                $0.routes[0].staleLimit = .seconds(6 * 3600)
            },
            OutageChange(testDescription: "a shorter stale limit", serves: nil) { $0.cache.staleLimit = .seconds(600) },
            OutageChange(testDescription: "a denied block", serves: ["198.51.100.1", "2001:db8::1"]) {
                $0.policy.denied = [try #require(HTTPDNSAddressBlock("203.0.113.0/24"))]
            },
            OutageChange(testDescription: "the only block of the route", serves: ["198.51.100.1"]) {
                $0.routes[0].only = [try #require(HTTPDNSAddressBlock("198.51.100.0/24"))]
            },
            OutageChange(testDescription: "IPv4 only", serves: ["203.0.113.1", "198.51.100.1"]) { $0.families = .v4 },
            OutageChange(testDescription: "IPv6 for the route", serves: ["2001:db8::1"]) {
                $0.routes[0].families = .v6
            },
            OutageChange(testDescription: "a shorter life", serves: known) {
                $0.cache.maximumTimeToLive = .seconds(5)
            },
            OutageChange(testDescription: "a longer life", serves: known) {
                $0.cache.minimumTimeToLive = .seconds(300)
            },
            OutageChange(testDescription: "an internal zone", serves: known) {
                $0.internalZones = [try HTTPDNSName("lab.test")]
            },
            OutageChange(testDescription: "a second provider", serves: known) {
                $0.routes[0].action = .providers(["backup", "doh"], fallback: .off)
            },
            OutageChange(testDescription: "another provider", serves: nil) {
                $0.routes[0].action = .providers(["backup"], fallback: .off)
            },
            OutageChange(testDescription: "a route of its own", serves: known) {
                $0.routes.append(
                    HTTPDNSRoute(.exact(try HTTPDNSName("img.shop.test")), .providers(["doh"], fallback: .off))
                )
            },
        ]
    )
    func outage(row: OutageChange) async throws {
        let fixture = try fixture(providers: ["doh", "backup"]) {
            $0.routes[0].action = .providers(["doh"], fallback: .off)
        }
        let host = "img.shop.test"
        try fixture.say(Self.known, about: host)
        _ = try await fixture.resolve(host)
        for provider in fixture.providers { provider.answer(.failure(.unavailable), for: try HTTPDNSName(host)) }
        fixture.time.advance(by: .seconds(2400))
        #expect(try await fixture.resolve(host).isStale)
        _ = try reload(fixture) {
            $0.routes[0].action = .providers(["doh"], fallback: .off)
            try row.change(&$0)
        }
        fixture.time.advance(by: .seconds((row.minutes - 40) * 60))
        let answer = try? await fixture.resolve(host)
        #expect(answer?.addresses == row.serves)
        #expect(answer?.isStale != false)
    }

    @Test("A family that a reload adds is queried while the other serves")
    func addedFamily() async throws {
        let fixture = try fixture { $0.families = .v4 }
        try fixture.say(["203.0.113.1", "2001:db8::1"], about: "img.shop.test")
        #expect(try await fixture.resolve("img.shop.test").addresses == ["203.0.113.1"])
        var listener = fixture.resolver.listener
        _ = try reload(fixture) { $0.families = .both }
        #expect(try fixture.immediate("img.shop.test")?.addresses == ["203.0.113.1"])
        await listener.wait(for: .refreshed)
        #expect(try fixture.immediate("img.shop.test")?.addresses == ["203.0.113.1", "2001:db8::1"])
        #expect(fixture.provider.queries.map(\.families) == [.v4, .v6])
    }

    @Test("A negative answer stays while its route queries the same providers")
    func negative() async throws {
        let fixture = try fixture(providers: ["doh", "backup"]) {
            $0.routes[0].action = .providers(["doh"], fallback: .off)
        }
        let gone = try HTTPDNSName("gone.shop.test")
        for addsProvider in [false, true] {
            _ = try? await fixture.resolve(gone.description)
            let count = fixture.providers.map(\.queries.count).reduce(0, +)
            _ = try reload(fixture) {
                $0.routes[0].action = .providers(addsProvider ? ["doh", "backup"] : ["doh"], fallback: .off)
                $0.cache.staleLimit = .seconds(addsProvider ? 20 : 10)
            }
            await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve(gone.description) }
            #expect((fixture.providers.map(\.queries.count).reduce(0, +) > count) == addsProvider)
        }
    }

    /// The settings of the second object, and whether the answers of the first one stay.
    @Test(
        "A new provider object takes over the answers of its service",
        arguments: [
            ("https://doh.test/dns-query", "192.0.2.2", true), ("https://doh.test:443/dns-query", "192.0.2.1", true),
            ("https://other.test/dns-query", "192.0.2.1", false), ("https://doh.test/user-b", "192.0.2.1", false),
        ]
    )
    func sameService(url: String, address: String, keeps: Bool) async throws {
        func service(_ url: String, at address: String) throws -> any HTTPDNSProvider {
            let address = try #require(HTTPDNSAddress(address))
            return try ScriptedDoHService(url: url, addresses: [address]) { sent in
                .message(to: sent) { if sent.question.type == .a { $0.address("img.test", [203, 0, 113, 1]) } }
            }.provider
        }
        var settings = HTTPDNSResolver.Configuration()
        settings.providers = [try service("https://doh.test/dns-query", at: "192.0.2.1")]
        settings.routes = [HTTPDNSRoute(.any, .providers(["doh"], fallback: .off))]
        settings.timeLimit = .seconds(60)
        let resolver = try HTTPDNSResolver(settings)
        let query = HTTPDNSResolver.Query(.name(try HTTPDNSName("img.test")), port: 443)
        _ = try await resolver.resolve(query)
        settings.providers = [try service(url, at: address)]
        #expect(try resolver.reload(settings).isChanged == (address != "192.0.2.1" || !keeps || url.contains(":443")))
        #expect(try (resolver.cached(query) != nil) == keeps)
        await resolver.shutdown()
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
    func lookups() async throws {
        let fixture = try fixture()
        let fresh = HTTPDNSScriptedProvider(name: "doh", clock: HTTPDNSManualClock())
        let host = try HTTPDNSName("img.shop.test")
        fresh.answer(.answer(.addresses([HTTPDNSAddress(v4: 203, 0, 113, 2)], timeToLive: .seconds(60))), for: host)
        fixture.provider.hold()
        async let early = fixture.resolve("img.shop.test")
        await fixture.provider.queries(atLeast: 1)
        _ = try reload(fixture) { $0.providers = [fresh] }
        #expect(try await fixture.resolve("img.shop.test").addresses == ["203.0.113.2"])
        #expect(!fixture.provider.isShutDown, "it still has a lookup")
        fixture.provider.release()
        #expect(try await early.addresses == ["203.0.113.1"])
        #expect(try fixture.immediate("img.shop.test")?.addresses == ["203.0.113.2"], "and the late answer is not kept")
        while !fixture.provider.isShutDown, !Task.isCancelled { await Task.yield() }
        #expect(!fresh.isShutDown)
        while fixture.resolver.retired.count > 0, !Task.isCancelled { await Task.yield() }
        await fixture.resolver.shutdown()
        #expect(fresh.isShutDown)
    }

    @Test("The answer of a lookup across a reload is kept if the new settings allow it")
    func landsLate() async throws {
        let fixture = try fixture()
        fixture.provider.hold()
        async let shop = fixture.resolve("img.shop.test")
        async let other = fixture.resolve("img.other.test")
        await fixture.provider.queries(atLeast: 2)
        _ = try reload(fixture) {
            $0.routes[0].clientSubnet = HTTPDNSAddressBlock("198.51.100.0/24")
            $0.routes[1].staleLimit = .seconds(7)
        }
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
        _ = try reload(fixture) {
            $0.providers = [HTTPDNSScriptedProvider(name: "doh", clock: HTTPDNSManualClock())]
        }
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
            $0.providerLimits = ["backup": .init(maximumInFlight: 3)]
        }
        #expect(isResting())
        #expect(fixture.resolver.providerHealth.map(\.queries) == before)
        #expect(fixture.resolver.counters.providers["doh"]?.failures.isEmpty == false)
        _ = try reload(fixture) {
            $0.providers = [HTTPDNSScriptedProvider(name: "doh", clock: HTTPDNSManualClock()), $0.providers[1]]
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
        func alibaba(
            _ change: (inout HTTPDNSAlibabaProvider.Configuration) -> Void = { _ in }
        ) throws -> HTTPDNSAlibabaProvider {
            var settings = HTTPDNSAlibabaProvider.Configuration(
                name: "p",
                version: .v2,
                credential: HTTPDNSVendorCredential(account: "100000")
            )
            settings.addressStore = HTTPDNSDiskStore(path: "/nowhere/addresses")
            change(&settings)
            return try HTTPDNSAlibabaProvider(settings)
        }
        let secret = HTTPDNSSecret { "abc" }
        func tencent(_ change: (inout HTTPDNSTencentProvider.Configuration) -> Void = { _ in }) throws
            -> HTTPDNSTencentProvider
        {
            var settings = HTTPDNSTencentProvider.Configuration(
                name: "p",
                credential: HTTPDNSVendorCredential(account: "1", secret: secret)
            )
            change(&settings)
            return try HTTPDNSTencentProvider(settings)
        }
        #expect(try alibaba().isEquivalent(to: alibaba()) && tencent().isEquivalent(to: tencent()))
        #expect(try !alibaba().isEquivalent(to: tencent()) && !alibaba().isEquivalent(to: doh()))
        for change in [
            { $0.name = "q" }, { $0.version = .v1 }, { $0.credential.account = "2" }, { $0.region = .germany },
            { $0.customParameters = ["a": "b"] }, { $0.url = "https://192.0.2.1" }, { $0.discoversAddresses = false },
            { $0.bootstrap = [HTTPDNSAddress(v4: 192, 0, 2, 1)] }, { $0.addressStore = nil },
            { $0.addressStore = HTTPDNSDiskStore(path: "/nowhere/else") }, { $0.answerScope = .private },
            { $0.trustRoots = .file("/a") },
        ] as [(inout HTTPDNSAlibabaProvider.Configuration) -> Void] {
            #expect(try !alibaba().isEquivalent(to: alibaba(change)))
        }
        for change in [
            { $0.name = "q" }, { $0.credential.account = "2" }, { $0.region = .international },
            { $0.credential.secret = HTTPDNSSecret { "abc" } },
            { $0.url = "https://192.0.2.1" }, { $0.bootstrap = [HTTPDNSAddress(v4: 192, 0, 2, 1)] },
            { $0.sendsExpiry = false }, { $0.encryptsClientSubnet = false }, { $0.accountRefusalStatuses = [403] },
            { $0.discoversAddresses = false }, { $0.answerScope = .private }, { $0.trustRoots = .file("/a") },
        ] as [(inout HTTPDNSTencentProvider.Configuration) -> Void] {
            #expect(try !tencent().isEquivalent(to: tencent(change)))
        }
        #expect(HTTPDNSSecret.file("/a") == .file("/a") && HTTPDNSSecret.file("/a") != .file("/b"))
        #expect(HTTPDNSSecret({ "a" }) != HTTPDNSSecret({ "a" }))
        let closure = HTTPDNSSecret { "a" }
        #expect(closure == closure && closure != .file("/a"))
        let scripted = HTTPDNSScriptedProvider()
        #expect(scripted.isEquivalent(to: scripted) && !scripted.isEquivalent(to: HTTPDNSScriptedProvider()))
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
    func versions() {
        #expect(ResolvingSettings.isNewer(1, than: 0) && !ResolvingSettings.isNewer(0, than: 1))
        #expect(ResolvingSettings.isNewer(0, than: .max) && !ResolvingSettings.isNewer(.max, than: 0))
        let word = PackedSettingsVersion(generation: 1 << 40, version: .max)
        #expect(word.generation == 1 << 40 && word.version == .max)
        let use = DirectUse(under: word, countsRollout: true, dependsOnKey: false)
        #expect(use.countsRollout && !use.dependsOnKey && use.holds(under: word))
        #expect(!use.holds(under: PackedSettingsVersion(generation: 1 << 40 + 1, version: .max)))
        #expect(!use.holds(under: PackedSettingsVersion(generation: 1 << 40, version: 0)))
        #expect(!DirectUse.unknown.holds(under: PackedSettingsVersion(generation: 1, version: 0)))
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
