// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSConfiguration
import Testing

#if YAML
struct ResolvingSettingsTests {
    private let text = """
        version: 1
        providers:
          one: { kind: doh, url: https://192.0.2.53/q, limits: { in_flight: 7, per_second: 50 } }
          two: { kind: doh, url: https://192.0.2.54/q, limits: { in_flight: 8 } }
          three: { kind: doh, url: https://192.0.2.55/q }
        routes:
          "*.shop.example":
            providers: [one, two]
            order: fastest
            second_opinion: true
            stale_limit: 10m
            client_subnet: 203.0.113.0/24
            https_records: true
            allow: [10.1.0.0/16, 169.254.7.7]
            only: "2001:db8::/32"
          pay.shop.example: { providers: one, stale_limit: 0s, order: given, second_opinion: false, https_records: false }
        cache:
          entries: 12
          bytes: 64KiB
          stale_limit: 30m
          stale_after: 0s
          refresh_ahead: false
          refresh_idle_names: false
          ttl: { system: 5s }
          preresolve: [A.example, b.example.]
          snapshot: { file: state/httpdns.cache }
        resolver: { families: v6, internal_zones: [Corp.shop.example], hedge_after: 20ms, \
        attempt_limit: 500ms, time_limit: 2s, system_threads: 32 }
        """

    @Test("Routes set how their providers are queried and which addresses are allowed")
    func routes() throws {
        let settings = try HTTPDNSConfigurationFile.settings(text, name: "conf/f.yaml")
        let shop = try #require(settings.configuration.resolver.routes.first { "\($0.pattern)" == "*.shop.example" })
        #expect(shop.order == .fastest)
        #expect(shop.wantsSecondOpinion)
        #expect(shop.staleLimit == .seconds(600))
        #expect(shop.clientSubnet == HTTPDNSAddressBlock("203.0.113.0/24"))
        #expect(shop.usesHTTPSRecords)
        #expect(shop.allowed.map(\.description) == ["10.1.0.0/16", "169.254.7.7/32"])
        #expect(shop.only == [try #require(HTTPDNSAddressBlock("2001:db8::/32"))])
        var pay = HTTPDNSRoute(
            .exact(try HTTPDNSName("pay.shop.example")),
            .providers(["one"], fallback: .off),
            location: HTTPDNSSourceLocation(file: "conf/f.yaml", line: 16)
        )
        pay.staleLimit = .zero
        #expect(settings.configuration.resolver.routes.contains(pay))
    }

    @Test("Cache, limits and time limits reach the resolver")
    func configuration() throws {
        let resolver = try HTTPDNSConfigurationFile.parse(text, name: "conf/f.yaml").resolver
        #expect(resolver.cache.entries == 12)
        #expect(resolver.cache.bytes == .kibibytes(64))
        #expect(resolver.cache.staleLimit == .seconds(1800))
        #expect(resolver.cache.staleAfter == .zero)
        #expect(resolver.cache.refreshesAhead == false)
        #expect(resolver.preresolve.map(\.description) == ["a.example", "b.example"])
        #expect(resolver.snapshotPath == "conf/state/httpdns.cache")
        #expect(resolver.families == .v6)
        #expect(resolver.internalZones.map(\.description) == ["corp.shop.example"])
        #expect(resolver.cache.systemTimeToLive == .seconds(5))
        #expect(resolver.hedgeAfter == .milliseconds(20))
        #expect(resolver.attemptLimit == .milliseconds(500))
        #expect(resolver.timeLimit == .seconds(2))
        #expect(resolver.systemThreads == 32)
        let expected = [
            "one": HTTPDNSResolver.Configuration.ProviderLimits(maximumInFlight: 7, queriesPerSecond: 50),
            "two": HTTPDNSResolver.Configuration.ProviderLimits(maximumInFlight: 8),
        ]
        #expect(resolver.providerLimits == expected)
    }

    /// Keys without values keep them too.
    @Test("A file without resolving settings keeps the defaults")
    func defaults() throws {
        let defaults = HTTPDNSResolver.Configuration()
        for text in ["version: 1", "version: 1\nresolver:\ncache: { snapshot: , ttl: }"] {
            let resolver = try HTTPDNSConfigurationFile.parse(text, name: "f.yaml").resolver
            #expect(resolver.cache == defaults.cache)
            #expect(resolver.snapshotPath == nil && resolver.preresolve.isEmpty && resolver.providerLimits.isEmpty)
            #expect(resolver.families == defaults.families && resolver.hedgeAfter == defaults.hedgeAfter)
            #expect(resolver.attemptLimit == defaults.attemptLimit && resolver.timeLimit == defaults.timeLimit)
            #expect(resolver.systemThreads == 16)
        }
    }
}
#endif
