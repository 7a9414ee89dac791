// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSTesting
import Testing

struct ClientSubnetTests {
    private func block(_ text: String) -> HTTPDNSAddressBlock { HTTPDNSAddressBlock(text)! }

    @Test("Clients of one /24 or /56 share one query and one answer")
    func cut() async throws {
        let fixture = try ResolverFixture()
        try fixture.say(["203.0.113.1"], about: "img.test")
        for number in 1...100 {
            _ = try await fixture.resolve("img.test") { $0.clientSubnet = block("198.51.100.\(number)/32") }
            _ = try await fixture.resolve("img.test") {
                $0.clientSubnet = block("2001:db8:1:2\(number % 90 + 10)::/64")
            }
        }
        #expect(fixture.provider.queries.count == 2)
    }

    @Test(
        "An answer of scope 0 is shared by all networks, one without a scope is not",
        arguments: [true, false]
    )
    func scopeZero(holdsForAllClients: Bool) async throws {
        let fixture = try ResolverFixture()
        var answer = HTTPDNSProviderAnswer.addresses([HTTPDNSAddress(v4: 203, 0, 113, 1)], timeToLive: .seconds(60))
        answer.holdsForAllClients = holdsForAllClients
        try fixture.provider.answer(.answer(answer), for: HTTPDNSName("img.test"))
        for number in 1...50 {
            let resolution = try await fixture.resolve("img.test") { $0.clientSubnet = block("198.51.\(number).0/24") }
            #expect(resolution.addresses == ["203.0.113.1"])
        }
        #expect(try await fixture.resolve("img.test").addresses == ["203.0.113.1"])
        #expect(fixture.provider.queries.count == (holdsForAllClients ? 1 : 51))
        #expect(fixture.resolver.counters.cacheEntries == (holdsForAllClients ? 1 : 51))
    }

    @Test("A shared answer serves past its life, and is renewed for the asking network")
    func sharedStale() async throws {
        let fixture = try ResolverFixture { $0.cache.refreshesAhead = false }
        var answer = HTTPDNSProviderAnswer.addresses([HTTPDNSAddress(v4: 203, 0, 113, 1)], timeToLive: .seconds(60))
        answer.holdsForAllClients = true
        try fixture.provider.answer(.answer(answer), for: HTTPDNSName("img.test"))
        _ = try await fixture.resolve("img.test") { $0.clientSubnet = block("198.51.100.0/24") }
        try fixture.provider.answer(.failure(.unavailable), for: HTTPDNSName("img.test"))
        fixture.time.advance(by: .seconds(60))
        for _ in 0..<3 {
            let stale = try await fixture.resolve("img.test") { $0.clientSubnet = block("192.0.2.0/24") }
            #expect(stale.isStale && stale.addresses == ["203.0.113.1"])
        }
        #expect(fixture.provider.queries.last?.clientSubnet == block("192.0.2.0/24"))
    }
}
