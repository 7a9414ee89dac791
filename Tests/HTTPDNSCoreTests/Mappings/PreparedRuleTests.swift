// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSTesting
import Testing

@testable import HTTPDNSCore

/// Most rules with addresses answer from what was prepared with the set; the others, and all once a route has rules about
/// addresses, are put together for each question. Both ways must come to the same.
struct PreparedRuleTests {
    private static let mappings: [String: HTTPDNSMapping] = [
        "one.test": .addresses(["203.0.113.1", "203.0.113.2:8443"]),
        "one.test:8443": .addresses(["203.0.113.3"]),
        "*.zone.test": .addresses(["2001:db8::1", "203.0.113.4"]),
        "life.test": {
            var mapping = HTTPDNSMapping.addresses(["203.0.113.5"])
            mapping.timeToLive = .seconds(30)
            return mapping
        }(),
        "two.test": .weighted(["203.0.113.6": 95, "203.0.113.7": 5]),
        "even.test": .weighted(["203.0.113.6": 50, "203.0.113.7": 50]),
        "three.test": .weighted(["203.0.113.6": 90, "203.0.113.7": 5, "203.0.113.8": 5]),
        "inside.test": .addresses(["10.0.0.1", "127.0.0.1"]),
        "metadata.test": .addresses(["169.254.169.254"]),
        "mixed.test": .addresses(["169.254.169.254", "203.0.113.9"]),
        "way.test": .via("one.test"),
    ]

    private func fixture(ticket: UInt64, withAddressRules: Bool) throws -> ResolverFixture {
        try ResolverFixture(ticket: ticket) { configuration in
            configuration.routes = []
            if withAddressRules {
                var route = HTTPDNSRoute(
                    .exact(try HTTPDNSName("unrelated.test")),
                    .providers(["doh"], fallback: .off)
                )
                route.allowed = [HTTPDNSAddressBlock("10.0.0.0/8")].compactMap { $0 }
                configuration.routes = [route]
            }
            for (key, mapping) in PreparedRuleTests.mappings {
                configuration.mappings[try HTTPDNSMapping.Key(key)] = mapping
            }
        }
    }

    @Test(
        "A prepared answer equals the one that the lookup would build",
        arguments: [
            "one.test", "a.zone.test", "a.b.zone.test", "life.test", "two.test", "even.test", "three.test",
            "inside.test",
            "metadata.test", "mixed.test", "way.test",
        ],
        [UInt64(0), 94, 95, .max]
    )
    func same(name: String, ticket: UInt64) throws {
        let prepared = try fixture(ticket: ticket, withAddressRules: false)
        let composed = try fixture(ticket: ticket, withAddressRules: true)
        for port in [UInt16(443), 8443] {
            for families in [nil, HTTPDNSAddress.Families.v4, .v6, .both] {
                let answers = [prepared, composed].map { fixture in
                    Result { try fixture.immediate(name, port: port) { $0.families = families } }
                }
                switch (answers[0], answers[1]) {
                case (.success(let ours), .success(let theirs)):
                    #expect(ours == theirs)
                    #expect(ours?.mapping == theirs?.mapping && ours?.mapping != nil)
                case (.failure(let ours), .failure(let theirs)):
                    #expect("\(ours)" == "\(theirs)")
                default:
                    Issue.record("port \(port), \(String(describing: families)): \(answers)")
                }
            }
        }
    }

    @Test("A policy that refuses an address of a rule decides again after each change")
    func policies() throws {
        let fixture = try fixture(ticket: 0, withAddressRules: false)
        func addresses(denying block: String?) throws -> [String] {
            var settings = fixture.settings
            settings.policy.denied = [block.flatMap { HTTPDNSAddressBlock($0) }].compactMap { $0 }
            _ = try fixture.resolver.reload(settings)
            return try (0..<3).flatMap { _ in
                try fixture.immediate("one.test")?.endpoints.map(\.description) ?? []
            }
        }
        let (first, second) = ("203.0.113.1:443", "203.0.113.2:8443")
        for _ in 0..<2 {
            #expect(try addresses(denying: nil) == [first, second, first, second, first, second])
            #expect(try addresses(denying: "203.0.113.1/32") == [second, second, second])
            #expect(try addresses(denying: "198.51.100.0/24") == [first, second, first, second, first, second])
            #expect(throws: HTTPDNSResolver.Error.self) { try addresses(denying: "203.0.113.0/24") }
        }
    }

    /// A copy of settings shares the index of its rules, and so does a set that one store hands to another.
    @Test("Resolvers that share rules check them by their own policies, in any order", arguments: [true, false])
    func sharedRules(byCopy: Bool) throws {
        var settings = HTTPDNSResolver.Configuration()
        settings.mappings = [try HTTPDNSMapping.Key("meta.test"): .addresses(["10.1.2.3"])]
        settings.indexedMappings = try HTTPDNSMappings(settings.mappings)
        let trusted = try HTTPDNSResolver(settings)
        var strict = settings
        if !byCopy { strict.mappings = [try HTTPDNSMapping.Key("a.test"): .addresses(["203.0.113.1"])] }
        strict.policy.denied = [try #require(HTTPDNSAddressBlock("10.0.0.0/8"))]
        let untrusted = try HTTPDNSResolver(strict)
        if !byCopy { try untrusted.mappings.replaceBase(with: trusted.mappings.current) }
        let query = HTTPDNSResolver.Query(.name(try HTTPDNSName("meta.test")), port: 443)
        for _ in 0..<3 {
            #expect(try trusted.cached(query)?.endpoints.count == 1)
            let error = #expect(throws: HTTPDNSResolver.Error.self) { try untrusted.cached(query) }
            #expect(error?.code == .policyRefused)
            // Both resolvers count their settings alike.
            settings.timeLimit += .seconds(1)
            strict.timeLimit += .seconds(1)
            try trusted.reload(settings)
            strict.mappings = settings.mappings
            strict.indexedMappings = settings.indexedMappings
            try untrusted.reload(strict)
        }
    }

    @Test("A rule with up to two weights is prepared, and one with more orders is not")
    func whichArePrepared() throws {
        func rule(_ text: String) throws -> IndexedRule {
            IndexedRule(try HTTPDNSMapping.Key(text), try #require(PreparedRuleTests.mappings[text]), .base)
        }
        #expect(try rule("one.test").isPrepared)
        #expect(try rule("two.test").isPrepared)
        #expect(try rule("even.test").isPrepared)
        #expect(try !rule("three.test").isPrepared)
        #expect(try !rule("way.test").isPrepared)
    }

    @Test("Of two weights the first gets exactly its share of the tickets", arguments: [95, 50])
    func shares(share: Int) throws {
        let mapping = HTTPDNSMapping.weighted(["203.0.113.6": share, "203.0.113.7": 100 - share])
        let rule = IndexedRule(try HTTPDNSMapping.Key("two.test"), mapping, .base)
        let first = (0..<UInt64(100)).filter { ticket in
            let isReversed = rule.drawsReverse { sum in
                #expect(sum == 100)
                return ticket
            }
            let endpoints = rule.endpoints(isReversed: isReversed, port: 443)
            return endpoints.first?.address == HTTPDNSAddress(v4: 203, 0, 113, 6)
        }
        #expect(first.count == share)
    }

    @Test("Changing a resolution's endpoints leaves the prepared answer alone")
    func copies() throws {
        let fixture = try fixture(ticket: 0, withAddressRules: false)
        var changed = try #require(try fixture.immediate("one.test"))
        changed.endpoints = []
        changed.provider = "mine"
        let next = try #require(try fixture.immediate("one.test"))
        #expect(next.endpoints.count == 2 && next.provider == nil)
        #expect(changed.mapping == next.mapping && changed.endpoints.isEmpty && changed.provider == "mine")
    }
}
