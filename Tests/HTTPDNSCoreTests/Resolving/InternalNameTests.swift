// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSTesting
import Testing

@testable import HTTPDNSCore

struct InternalNameTests {
    @Test(
        "An internal name goes to a provider only by a route for it or its zone",
        arguments: [
            ("redis.default", nil), ("redis.default.svc", nil), ("db.corp", nil), ("a.corp.shop.example", nil),
            ("corp.shop.example", nil), ("img.shop.example", "*.shop.example"), ("a.lab", "*.lab"),
            ("x.dev.corp.shop.example", "*.dev.corp.shop.example"), ("exact.svc", "exact.svc"), ("img.test", "*"),
            ("img.com", "*"), ("img.xn--p1ai", "*"), ("img.example", "*"), ("a.onion", nil), ("a.invalid", nil),
            ("a.alt", "*.alt"), ("shop.example.", "*"),
        ]
    )
    func routes(host: String, pattern: String?) throws {
        let fixture = try ResolverFixture { configuration in
            configuration.internalZones = [try HTTPDNSName("corp.shop.example")]
            configuration.routes = try [
                "*", "*.shop.example", "*.lab", "*.dev.corp.shop.example", "exact.svc", "*.alt",
            ]
            .map { HTTPDNSRoute(try .init($0), .providers(["doh"], fallback: .off)) }
        }
        #expect(try fixture.resolver.route(for: HTTPDNSName(host))?.pattern.description == pattern)
    }

    @Test(
        "Internal names go to name servers by a route for their zone or with a search",
        arguments: [
            ("db", "*", nil), ("db.svc.cluster.local", "*.svc.cluster.local", "*.svc.cluster.local"),
            ("printer.local", "*", nil), ("redis.default", "*", nil), ("corp.test", "*", nil),
            ("a.corp.test", "*", nil),
            ("img.test", "*", "*"), ("x.home.arpa", "*", nil),
        ] as [(String, String, String?)]
    )
    func nameServers(host: String, searching: String, plain: String?) throws {
        for (search, pattern) in [(HTTPDNSSearchList(.names([try HTTPDNSName("corp.test")])), searching), (nil, plain)]
        {
            let servers = HTTPDNSDNSProvider.Configuration(
                name: "office",
                servers: .addresses([HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 1), port: 53)])
            )
            let fixture = try ResolverFixture { configuration in
                configuration.providers.append(try HTTPDNSDNSProvider(servers))
                configuration.internalZones = [try HTTPDNSName("corp.test")]
                configuration.routes = try ["*", "*.svc.cluster.local", "*.arpa"].map {
                    HTTPDNSRoute(try .init($0), .providers([$0 == "*.arpa" ? "doh" : "office"], fallback: .off))
                }
                configuration.routes[0].search = search
            }
            #expect(try fixture.resolver.route(for: HTTPDNSName(host))?.pattern.description == pattern)
        }
    }

    @Test("Only name servers may have a search list, or a zone of internal names")
    func otherProviders() throws {
        for (pattern, search) in [("*", HTTPDNSSearchList(.names([]))), ("*.svc.cluster.local", nil)] {
            let error = #expect(throws: HTTPDNSResolver.ConfigurationError.self) {
                _ = try ResolverFixture { configuration in
                    configuration.routes = [HTTPDNSRoute(try .init(pattern), .providers(["doh"], fallback: .off))]
                    configuration.routes[0].search = search
                }
            }
            #expect(error?.message.contains("kind dns") == true)
        }
    }

    @Test("Names outside DNS are answered without a lookup, unless a route names them")
    func outsideDNS() async throws {
        let fixture = try ResolverFixture {
            $0.routes.append(HTTPDNSRoute(try .init("*.alt"), .providers(["doh"], fallback: .off)))
            $0.mappings = [try HTTPDNSMapping.Key("map.onion"): .addresses(["203.0.113.9"])]
        }
        for host in ["a.onion", "onion", "a.b.invalid"] {
            let error = await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve(host) }
            #expect(error?.code == .nameNotFound)
            #expect(error?.message.contains("was not looked up") == true)
            let bySystem = await #expect(throws: HTTPDNSResolver.Error.self) {
                try await fixture.resolve(host) { $0.usesSystemResolver = true }
            }
            #expect(bySystem?.code == .nameNotFound)
        }
        #expect(fixture.system.questions.isEmpty && fixture.provider.queries.isEmpty)
        try fixture.say(["203.0.113.1"], about: "a.alt")
        #expect(try await fixture.resolve("a.alt").addresses == ["203.0.113.1"])
        #expect(try await fixture.resolve("map.onion").addresses == ["203.0.113.9"])
    }

    @Test("A reload that makes a zone internal discards the providers' answers for it")
    func reload() async throws {
        let fixture = try ResolverFixture()
        try fixture.say(["203.0.113.1"], about: "a.corp.test")
        try fixture.system.answer(.success([HTTPDNSAddress(v4: 203, 0, 113, 2)]), for: HTTPDNSName("a.corp.test"))
        #expect(try await fixture.resolve("a.corp.test").source == .provider)
        var settings = fixture.settings
        settings.internalZones = [try HTTPDNSName("corp.test")]
        _ = try fixture.resolver.reload(settings)
        #expect(try await fixture.resolve("a.corp.test").source == .system)
    }

    @Test("The list of top-level domains is complete")
    func rootZone() {
        #expect(RootZone.names.count == 1437)
        #expect(["com", "de", "cn", "arpa", "dev", "zip", "xn--fiqs8s", "zw"].allSatisfy { RootZone.contains($0) })
        #expect(
            !["local", "svc", "default", "corp", "home", "lan", "onion", "COM", ""].contains { RootZone.contains($0) }
        )
    }

    @Test("A trailing dot is kept for the system resolver, and matters nowhere else")
    func trailingDot() async throws {
        let plain = try HTTPDNSName("img.shop.example")
        for text in ["img.shop.example.", "IMG.Shop.Example.", "img.shop.example\u{3002}"] {
            let dotted = try HTTPDNSName(text)
            #expect(dotted == plain && dotted.hashValue == plain.hashValue && dotted.description == plain.description)
            #expect(dotted.queryText == "img.shop.example.")
        }
        #expect(plain.queryText == "img.shop.example")

        let fixture = try ResolverFixture { $0.routes = [] }
        fixture.system.answer(.success([HTTPDNSAddress(v4: 203, 0, 113, 2)]), for: plain)
        for host in ["img.shop.example", "img.shop.example."] {
            _ = try await fixture.resolve(host)
            #expect(try fixture.immediate(host)?.isCached == true)
        }
        #expect(fixture.system.questions.map(\.isAbsolute) == [false, true])
    }

    @Test("Addresses of the system resolver live as long as the settings specify", arguments: [5, 30, 300] as [Int64])
    func systemTimeToLive(seconds: Int64) async throws {
        let fixture = try ResolverFixture {
            $0.routes = []
            $0.cache.refreshesAhead = false
            $0.cache.systemTimeToLive = .seconds(seconds)
        }
        try fixture.system.answer(.success([HTTPDNSAddress(v4: 203, 0, 113, 2)]), for: HTTPDNSName("img.test"))
        #expect(try await fixture.resolve("img.test").timeToLive == .seconds(seconds))
        fixture.time.advance(by: .seconds(seconds) - .nanoseconds(1))
        #expect(try fixture.immediate("img.test")?.isStale == false)
        fixture.time.advance(by: .nanoseconds(1))
        #expect(try fixture.immediate("img.test") == nil)
    }
}
