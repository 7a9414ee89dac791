// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSTesting
import Testing

@testable import HTTPDNSCore

struct RouteCountersTests {
    private let clock = HTTPDNSManualClock()
    private let provider: HTTPDNSScriptedProvider

    init() throws {
        let answer = HTTPDNSProviderAnswer.addresses([HTTPDNSAddress(v4: 203, 0, 113, 1)], timeToLive: .seconds(30))
        provider = HTTPDNSScriptedProvider(
            scripts: [try HTTPDNSName("a.shop.test"): .answer(answer)],
            clock: clock
        )
    }

    private func settings() throws -> HTTPDNSResolver.Configuration {
        var settings = HTTPDNSResolver.Configuration()
        settings.providers = [provider]
        settings.routes = [HTTPDNSRoute(try .init("*.shop.test"), .providers(["scripted"], fallback: .off))]
        settings.families = .v4
        settings.timeSource = clock
        return settings
    }

    private func resolver() throws -> HTTPDNSResolver {
        let system = ScriptedSystemResolver([
            try HTTPDNSName("sys.test"): .success([HTTPDNSAddress(v4: 203, 0, 113, 50)])
        ])
        return try HTTPDNSResolver(settings(), systemResolver: system, random: { _ in 0 })
    }

    private func ask(_ resolver: HTTPDNSResolver, _ name: String) async throws {
        _ = try? await resolver.resolve(HTTPDNSResolver.Query(.name(try HTTPDNSName(name)), port: 443))
    }

    @Test("Each lookup counts once for its route, and the sums match the resolver's")
    func counted() async throws {
        let resolver = try resolver()
        for _ in 0..<3 { try await ask(resolver, "a.shop.test") }
        try await ask(resolver, "none.shop.test")
        for _ in 0..<2 { try await ask(resolver, "sys.test") }
        let counters = resolver.counters
        let shop = try #require(counters.routes["*.shop.test"])
        #expect(shop.fresh == 3 && shop.stale == 0 && shop.system == 0)
        #expect(shop.failures == [.nameNotFound: 1] && shop.queries == 4)
        #expect(counters.routes[HTTPDNSResolver.Counters.unrouted]?.system == 2)
        #expect(counters.routes.count == 2)
        #expect(counters.hits == 3 && counters.misses == 3 && counters.answers == [.provider: 3, .system: 2])
    }

    @Test("Stale answers are counted as such, and failures by their code")
    func stale() async throws {
        let resolver = try resolver()
        try await ask(resolver, "a.shop.test")
        provider.answer(
            .failure(HTTPDNSProviderError(code: .unreachable, message: "gone")),
            for: try HTTPDNSName("a.shop.test")
        )
        clock.advance(by: .seconds(31))
        try await ask(resolver, "a.shop.test")
        try await ask(resolver, "b.shop.test")
        let shop = try #require(resolver.counters.routes["*.shop.test"])
        #expect(shop.fresh == 1 && shop.stale == 1)
        #expect(shop.failures.values.reduce(0, +) == 1)
    }

    @Test("A route keeps its counters through a reload, even one that was removed")
    func reload() async throws {
        let resolver = try resolver()
        try await ask(resolver, "a.shop.test")
        var settings = try settings()
        settings.routes.insert(HTTPDNSRoute(try .init("x.test"), .system), at: 0)
        settings.routes[1].staleLimit = .zero
        try resolver.reload(settings)
        try await ask(resolver, "a.shop.test")
        #expect(resolver.counters.routes["*.shop.test"]?.fresh == 2)
        settings.routes.removeLast()
        try resolver.reload(settings)
        #expect(resolver.counters.routes["*.shop.test"]?.fresh == 2)
        #expect(resolver.counters.hits + resolver.counters.misses == 2)
    }

    @Test("Beyond a thousand patterns all others share one set of counters")
    func bound() throws {
        let counting = ResolverCounting(providers: [])
        let routes = try (0..<1500).map { counting.route(try HTTPDNSRoute.Pattern("n\($0).test")) }
        for route in routes { route.countFailure(.timedOut) }
        let counters = counting.snapshot()
        #expect(counters.routes.count == 1002)
        #expect(counters.routes[HTTPDNSResolver.Counters.otherRoutes]?.failures == [.timedOut: 500])
        #expect(counting.route(try HTTPDNSRoute.Pattern("n3.test")) === routes[3])
    }

    @Test("Differences and sums include the routes")
    func arithmetic() {
        var early = HTTPDNSResolver.Counters()
        early.routes["*"] = HTTPDNSResolver.Counters.Route()
        early.routes["*"]?.fresh = 2
        var late = early
        late.routes["*"]?.fresh = 5
        late.routes["*"]?.failures = [.timedOut: 1]
        late.routes["new"] = HTTPDNSResolver.Counters.Route()
        late.routes["new"]?.stale = 4
        let between = late - early
        #expect(between.routes["*"]?.fresh == 3 && between.routes["*"]?.failures == [.timedOut: 1])
        #expect(between.routes["new"]?.stale == 4)
        #expect(early + between == late)
    }

    @Test("Every plain number of the counters has a name when encoded")
    func names() {
        var counters = HTTPDNSResolver.Counters()
        for (number, field) in HTTPDNSResolver.Counters.named.enumerated() {
            counters[keyPath: field.value] = number + 1
        }
        let numbers = Mirror(reflecting: counters).children.filter { $0.value is Int }
        #expect(numbers.compactMap(\.label).sorted() == HTTPDNSResolver.Counters.named.map(\.key).sorted())
        for child in numbers { #expect(counters.byName[child.label ?? ""] == child.value as? Int) }
        #expect(HTTPDNSResolver.Counters(byName: counters.byName) == counters)
    }
}
