// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSTesting
import Testing

struct SourceOrderTests {
    @Test("The request's own endpoints win over mappings and providers, without a wait")
    func pinned() throws {
        let fixture = try ResolverFixture {
            $0.mappings = [try HTTPDNSMapping.Key("img.test"): .addresses(["203.0.113.1"])]
        }
        let endpoint = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 203, 0, 113, 9), port: 8443)
        let resolution = try #require(try fixture.immediate("img.test") { $0.addresses = [endpoint] })
        #expect(resolution.endpoints == [endpoint])
        #expect(resolution.source == .request)
        #expect(resolution.timeToLive == nil)
        #expect(resolution.mapping == nil)
        #expect(try fixture.immediate("img.test") { $0.addresses = [] }?.source == .mapping)
        #expect(fixture.provider.queries.isEmpty)
    }

    @Test(
        "Literals are connected to as they are, without a query",
        arguments: ["203.0.113.7", "2001:db8::7", "127.0.0.1", "10.0.0.1"]
    )
    func literals(text: String) throws {
        let fixture = try ResolverFixture()
        let resolution = try #require(try fixture.immediate(text, port: 8080))
        #expect(resolution.addresses == [text])
        #expect(resolution.endpoints.map(\.port) == [8080])
        #expect(resolution.source == .literal)
        #expect(fixture.provider.queries.isEmpty && fixture.system.questions.isEmpty)
    }

    @Test("Special literals are refused")
    func specialLiterals() throws {
        let fixture = try ResolverFixture()
        let error = #expect(throws: HTTPDNSResolver.Error.self) { try fixture.immediate("169.254.169.254") }
        #expect(error?.code == .policyRefused)
        #expect(error?.message.contains("169.254.169.254") == true && error?.hint?.contains("policy.allow") == true)
    }

    @Test("The name localhost is both loopbacks, whatever mappings and options are set")
    func localhost() throws {
        let fixture = try ResolverFixture()
        #expect(try fixture.immediate("localhost")?.addresses == ["127.0.0.1", "::1"])
        #expect(try fixture.immediate("app.localhost")?.addresses == ["127.0.0.1", "::1"])
        #expect(try fixture.immediate("localhost") { $0.families = .v4 }?.addresses == ["127.0.0.1"])
        #expect(try fixture.immediate("localhost") { $0.usesSystemResolver = true }?.source == .literal)
        #expect(fixture.system.questions.isEmpty)
    }

    /// The next lookup sees a changed mapping.
    @Test("A mapping wins over providers and cache")
    func mapping() async throws {
        let fixture = try ResolverFixture()
        try fixture.say(["203.0.113.1"], about: "img.test")
        #expect(try await fixture.resolve("img.test").source == .provider)
        try fixture.resolver.mappings.apply { $0["img.test"] = .addresses(["203.0.113.2", "[2001:db8::2]:8443"]) }
        let mapped = try #require(try fixture.immediate("img.test"))
        #expect(mapped.endpoints.map(\.description) == ["203.0.113.2:443", "[2001:db8::2]:8443"])
        #expect(mapped.source == .mapping)
        #expect(mapped.generation == 2)
        #expect(mapped.timeToLive == nil)
        #expect(mapped.mapping?.key.description == "img.test")
        #expect(mapped.mapping?.targets.count == 2)
        try fixture.resolver.mappings.apply { $0["img.test"] = nil }
        let cached = try #require(try fixture.immediate("img.test"))
        #expect(cached.addresses == ["203.0.113.1"])
        #expect(cached.generation == 3)
    }

    @Test("A rule's own time to live is passed on")
    func mappingLife() throws {
        let mapping = HTTPDNSMapping(.addresses([.init(HTTPDNSAddress(v4: 203, 0, 113, 8))]), timeToLive: .seconds(30))
        let fixture = try ResolverFixture { $0.mappings = [try HTTPDNSMapping.Key("img.test"): mapping] }
        #expect(try fixture.immediate("img.test")?.timeToLive == .seconds(30))
    }

    /// Equal weights too.
    @Test("Weights decide the order by chance; without weights the given order is kept")
    func weights() throws {
        func order(_ ticket: UInt64, _ mapping: HTTPDNSMapping) throws -> [String]? {
            let fixture = try ResolverFixture(ticket: ticket) {
                $0.mappings = [try HTTPDNSMapping.Key("img.test"): mapping]
            }
            return try fixture.immediate("img.test")?.addresses
        }
        let shares = HTTPDNSMapping.weighted(["203.0.113.1": 95, "203.0.113.2": 4, "203.0.113.3": 1])
        #expect(try order(0, shares) == ["203.0.113.1", "203.0.113.2", "203.0.113.3"])
        #expect(try order(94, shares) == ["203.0.113.1", "203.0.113.3", "203.0.113.2"])
        #expect(try order(95, shares) == ["203.0.113.2", "203.0.113.3", "203.0.113.1"])
        #expect(try order(99, shares) == ["203.0.113.3", "203.0.113.2", "203.0.113.1"])
        let equal = HTTPDNSMapping.weighted(["203.0.113.9": 7, "203.0.113.2": 7])
        #expect(try order(6, equal) == ["203.0.113.9", "203.0.113.2"])
        #expect(try order(7, equal) == ["203.0.113.2", "203.0.113.9"])
        let three = HTTPDNSMapping.weighted(["203.0.113.1": 5, "203.0.113.2": 5, "203.0.113.3": 5])
        #expect(try order(4, three)?.first == "203.0.113.1")
        #expect(try order(5, three)?.first == "203.0.113.2")
        #expect(try order(14, three)?.first == "203.0.113.3")
        #expect(try order(99, .addresses(["203.0.113.9", "203.0.113.2"])) == ["203.0.113.9", "203.0.113.2"])
    }

    @Test("The policy drops refused addresses of a mapping, and fails when none is left")
    func mappingPolicy() throws {
        let fixture = try ResolverFixture {
            $0.mappings = [
                try HTTPDNSMapping.Key("mixed.test"): .addresses(["169.254.169.254", "10.0.0.1"]),
                try HTTPDNSMapping.Key("bad.test"): .addresses(["169.254.169.254", "0.0.0.0"]),
            ]
        }
        #expect(try fixture.immediate("mixed.test")?.addresses == ["10.0.0.1"])
        let error = #expect(throws: HTTPDNSResolver.Error.self) { try fixture.immediate("bad.test") }
        #expect(error?.code == .policyRefused)
        #expect(error?.message.contains("169.254.169.254") == true && error?.message.contains("0.0.0.0") == true)
    }

    /// All else stays the name's own.
    @Test("A via mapping uses the addresses of another name, by that name's own route")
    func via() async throws {
        let fixture = try ResolverFixture {
            $0.mappings = [
                try HTTPDNSMapping.Key("cdn.test"): .via("edge.test"),
                try HTTPDNSMapping.Key("edge.test"): .via("pop.test"),
                try HTTPDNSMapping.Key("fixed.test"): .via("map.test"),
                try HTTPDNSMapping.Key("map.test"): .addresses(["203.0.113.5"]),
                try HTTPDNSMapping.Key("self.test"): .via("app.localhost"),
            ]
        }
        try fixture.say(["203.0.113.1"], about: "pop.test")
        let resolution = try await fixture.resolve("cdn.test")
        #expect(resolution.addresses == ["203.0.113.1"])
        #expect(resolution.source == .provider)
        #expect(resolution.identity == nil)
        #expect(resolution.mapping?.key.description == "cdn.test")
        #expect(resolution.mapping?.via.map(\.description) == ["edge.test", "pop.test"])
        #expect(resolution.route?.pattern == .any)
        #expect(fixture.provider.queries.map(\.host.description) == ["pop.test"])
        #expect(try fixture.immediate("pop.test")?.isCached == true)

        let fixed = try #require(try fixture.immediate("fixed.test"))
        #expect(fixed.addresses == ["203.0.113.5"])
        #expect(fixed.source == .mapping)
        #expect(try fixture.immediate("self.test")?.addresses == ["127.0.0.1", "::1"])
    }

    @Test("The identity moves to another name only if every via rule on the path says so")
    func identity() throws {
        let taken = HTTPDNSMapping(.via(try HTTPDNSName("b.test"), usesTargetIdentity: true))
        let kept = HTTPDNSMapping(.via(try HTTPDNSName("b.test"), usesTargetIdentity: false))
        let second = HTTPDNSMapping(.via(try HTTPDNSName("c.test"), usesTargetIdentity: true))
        let last = HTTPDNSMapping.addresses(["203.0.113.5"])
        func identity(_ first: HTTPDNSMapping, _ second: HTTPDNSMapping) throws -> String? {
            let fixture = try ResolverFixture {
                $0.mappings = [
                    try HTTPDNSMapping.Key("a.test"): first, try HTTPDNSMapping.Key("b.test"): second,
                    try HTTPDNSMapping.Key("c.test"): last,
                ]
            }
            return try fixture.immediate("a.test")?.identity?.description
        }
        #expect(try identity(taken, second) == "c.test")
        #expect(try identity(taken, last) == "b.test")
        #expect(try identity(kept, second) == nil)
    }

    @Test("An error behind via rules has the requested name and the chain of rules")
    func viaError() async throws {
        let fixture = try ResolverFixture { $0.mappings = [try HTTPDNSMapping.Key("cdn.test"): .via("edge.test")] }
        let error = await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("cdn.test") }
        #expect(error?.code == .nameNotFound)
        #expect(error?.host == "cdn.test")
        #expect(error?.message == "cdn.test via edge.test: edge.test does not exist, says provider doh")
    }

    /// The reason is the request, a mapping, a route, or the lack of a route.
    @Test("Names left to the system resolver go there and to no provider")
    func system() async throws {
        let fixture = try ResolverFixture {
            $0.mappings = [
                try HTTPDNSMapping.Key("mapped.test"): .system,
                try HTTPDNSMapping.Key("pinned.test"): .addresses(["203.0.113.1"]),
            ]
            $0.routes = [
                HTTPDNSRoute(.suffix(try HTTPDNSName("shop.test")), .providers(["doh"], fallback: .off)),
                HTTPDNSRoute(.exact(try HTTPDNSName("routed.shop.test")), .system),
            ]
        }
        for name in ["mapped.test", "pinned.test", "routed.shop.test", "img.shop.test", "other.test", "db"] {
            try fixture.system.answer(.success([HTTPDNSAddress(v4: 203, 0, 113, 99)]), for: HTTPDNSName(name))
        }
        let reasons: [String: HTTPDNSResolver.Resolution.SystemReason] = [
            "mapped.test": .mapping, "pinned.test": .request, "routed.shop.test": .route, "img.shop.test": .request,
            "other.test": .noRoute, "db": .noRoute,
        ]
        for (name, isAsked) in [
            ("mapped.test", false), ("pinned.test", true), ("routed.shop.test", false), ("img.shop.test", true),
            ("other.test", false), ("db", false),
        ] {
            let resolution = try await fixture.resolve(name) { $0.usesSystemResolver = isAsked }
            #expect(resolution.source == .system, "\(name)")
            #expect(resolution.timeToLive == .seconds(30))
            #expect(resolution.provider == nil)
            #expect(resolution.systemReason == reasons[name], "\(name)")
        }
        #expect(fixture.provider.queries.isEmpty)
        #expect(fixture.system.questions.count == 6)
        // The system's answers are kept for 30 s, apart from those of providers. A use near the end would refresh them.
        fixture.time.advance(by: .seconds(15))
        #expect(try fixture.immediate("img.shop.test") { $0.usesSystemResolver = true }?.isCached == true)
        #expect(try fixture.immediate("img.shop.test") == nil)
        fixture.time.advance(by: .seconds(15))
        #expect(try fixture.immediate("img.shop.test") { $0.usesSystemResolver = true } == nil)
    }

    @Test("An internal name goes to a provider only by a route that names it exactly")
    func internalNames() async throws {
        let fixture = try ResolverFixture {
            $0.routes.append(HTTPDNSRoute(.exact(try HTTPDNSName("intranet")), .providers(["doh"], fallback: .off)))
        }
        try fixture.say(["203.0.113.1"], about: "intranet")
        #expect(try await fixture.resolve("intranet").source == .provider)
        let error = await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("db") }
        #expect(error?.code == .nameNotFound)
        #expect(
            error?.description
                == "not asked: single-label names go to no provider; the system resolver does not know db "
                + "(add a mapping or route)"
        )
        #expect(fixture.provider.queries.count == 1)
    }

    @Test("Families filter every source, and an error names the missing family")
    func families() async throws {
        let fixture = try ResolverFixture {
            $0.mappings = [try HTTPDNSMapping.Key("map.test"): .addresses(["203.0.113.1"])]
        }
        try fixture.say(["203.0.113.1", "2001:db8::1"], about: "both.test")
        #expect(try await fixture.resolve("both.test") { $0.families = .v6 }.addresses == ["2001:db8::1"])
        #expect(try await fixture.resolve("both.test") { $0.families = .v4 }.addresses == ["203.0.113.1"])
        #expect(try await fixture.resolve("both.test").addresses == ["203.0.113.1", "2001:db8::1"])
        #expect(fixture.provider.queries.map(\.families) == [.v6, .v4, .both])
        for (host, families, text) in [("map.test", HTTPDNSAddress.Families.v6, "IPv6"), ("2001:db8::1", .v4, "IPv4")] {
            let error = #expect(throws: HTTPDNSResolver.Error.self) {
                try fixture.immediate(host) { $0.families = families }
            }
            #expect(error?.code == .noAddresses)
            #expect(error?.message.contains("has no \(text) address") == true, "\(error?.message ?? "")")
        }
        try fixture.say(["203.0.113.1"], about: "v4.test")
        let error = await #expect(throws: HTTPDNSResolver.Error.self) {
            try await fixture.resolve("v4.test") { $0.families = .v6 }
        }
        #expect(error?.code == .noAddresses)
        #expect(error?.message == "v4.test has no IPv6 address, says provider doh")
    }
}
