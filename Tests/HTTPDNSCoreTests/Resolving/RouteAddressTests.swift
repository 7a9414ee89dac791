// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSTesting
import Testing

struct RouteAddressTests {
    private func fixture(only: [String] = [], allowed: [String] = []) throws -> ResolverFixture {
        try ResolverFixture(fallback: .system) {
            var route = HTTPDNSRoute(.suffix(try HTTPDNSName("shop.test")), .providers(["doh"], fallback: .system))
            route.only = only.compactMap { HTTPDNSAddressBlock($0) }
            route.allowed = allowed.compactMap { HTTPDNSAddressBlock($0) }
            $0.routes.append(route)
            $0.mappings = [
                try HTTPDNSMapping.Key("map.shop.test"): .addresses(["198.51.100.1", "203.0.113.1"]),
                try HTTPDNSMapping.Key("wrong.shop.test"): .addresses(["198.51.100.1"]),
                try HTTPDNSMapping.Key("via.shop.test"): .via("elsewhere.test"),
            ]
        }
    }

    @Test("Blocks that a route allows are let through on its names, and on no others")
    func allows() async throws {
        let fixture = try fixture(allowed: ["10.1.0.0/16"])
        for name in ["img.shop.test", "img.other.test"] {
            try fixture.say(["10.1.2.3", "10.2.0.1", "203.0.113.1"], about: name)
        }
        #expect(try await fixture.resolve("img.shop.test").addresses == ["10.1.2.3", "203.0.113.1"])
        #expect(try fixture.immediate("img.shop.test")?.addresses == ["10.1.2.3", "203.0.113.1"])
        #expect(try await fixture.resolve("img.other.test").addresses == ["203.0.113.1"])
    }

    @Test("A route's block limit binds providers, mappings, via and the system alike")
    func limits() async throws {
        let fixture = try fixture(only: ["203.0.113.0/24"])
        try fixture.say(["198.51.100.1", "203.0.113.1"], about: "img.shop.test")
        try fixture.say(["198.51.100.1"], about: "lie.shop.test")
        try fixture.say(["198.51.100.1", "203.0.113.7"], about: "elsewhere.test")
        #expect(try await fixture.resolve("img.shop.test").addresses == ["203.0.113.1"])
        #expect(try fixture.immediate("map.shop.test")?.addresses == ["203.0.113.1"])
        #expect(try await fixture.resolve("via.shop.test").addresses == ["203.0.113.7"])
        #expect(try await fixture.resolve("elsewhere.test").addresses == ["198.51.100.1", "203.0.113.7"])
        let lie = await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("lie.shop.test") }
        #expect(lie?.code == .policyRefused)
        #expect(fixture.system.questions.count == 1)
        let mapped = #expect(throws: HTTPDNSResolver.Error.self) { try fixture.immediate("wrong.shop.test") }
        #expect(mapped?.code == .policyRefused)

        try fixture.provider.answer(.failure(.unavailable), for: HTTPDNSName("down.shop.test"))
        try fixture.system.answer(.success([HTTPDNSAddress(v4: 198, 51, 100, 1)]), for: HTTPDNSName("down.shop.test"))
        let system = await #expect(throws: HTTPDNSResolver.Error.self) { try await fixture.resolve("down.shop.test") }
        #expect(system?.code == .policyRefused)
        #expect(fixture.system.questions.count == 2)
    }

    @Test("A stale answer passes the same rules as when it was fresh")
    func stale() async throws {
        let fixture = try fixture(only: ["203.0.113.0/24"])
        try fixture.say(["198.51.100.1", "203.0.113.1"], about: "img.shop.test")
        _ = try await fixture.resolve("img.shop.test")
        try fixture.provider.answer(.failure(.unavailable), for: HTTPDNSName("img.shop.test"))
        fixture.time.advance(by: .seconds(60))
        let stale = try await fixture.resolve("img.shop.test")
        #expect(stale.isStale && stale.addresses == ["203.0.113.1"])
        #expect(try fixture.immediate("img.shop.test")?.addresses == ["203.0.113.1"])
    }
}
