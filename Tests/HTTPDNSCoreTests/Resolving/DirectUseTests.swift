// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSTesting
import Testing

@testable import HTTPDNSCore

/// The first use of a cached answer under some settings examines them, and later uses may not. All must come to the same.
struct DirectUseTests {
    private static let hosts = [
        "plain.test", "ported.test", "suffix.ported.test", "system.test", "via.test", "spare.test", "hidden.test",
        "only.test", "denied.test", "inside.test", "process.test", "key.test", "half.test", "shadow.test", "off.test",
    ]

    private func fixture(ticket: UInt64 = 0) throws -> ResolverFixture {
        let fixture = try ResolverFixture(ticket: ticket) { configuration in
            func route(_ name: String, _ change: (inout HTTPDNSRoute) -> Void) throws {
                var route = HTTPDNSRoute(.exact(try HTTPDNSName(name)), .providers(["doh"], fallback: .off))
                change(&route)
                configuration.routes.append(route)
            }
            try route("only.test") { $0.only = [HTTPDNSAddressBlock("203.0.113.0/24")].compactMap { $0 } }
            try route("inside.test") { $0.allowed = [HTTPDNSAddressBlock("10.0.0.0/8")].compactMap { $0 } }
            try route("process.test") { $0.rollout = .init(percent: 50) }
            try route("key.test") { $0.rollout = .init(percent: 90, by: .key) }
            try route("half.test") { $0.rollout = .init(percent: 0.01, by: .key) }
            try route("shadow.test") { $0.mode = .shadow }
            configuration.policy.denied = [HTTPDNSAddressBlock("198.51.100.0/24")].compactMap { $0 }
            configuration.mappings = [
                try HTTPDNSMapping.Key("ported.test:8443"): .addresses(["203.0.113.200"]),
                try HTTPDNSMapping.Key("*.ported.test:8443"): .addresses(["203.0.113.201"]),
                try HTTPDNSMapping.Key("system.test"): .system,
                try HTTPDNSMapping.Key("via.test"): .via("plain.test"),
                try HTTPDNSMapping.Key("spare.test"): .lastResort(["203.0.113.202"]),
                try HTTPDNSMapping.Key("hidden.test"): .addresses(["203.0.113.203"]),
            ]
        }
        for host in Self.hosts {
            let addresses =
                switch host {
                case "inside.test": ["10.0.0.1"]
                case "denied.test", "only.test": ["203.0.113.1", "198.51.100.1"]
                default: ["203.0.113.1"]
                }
            try fixture.say(addresses, about: host)
            fixture.system.answer(.success([HTTPDNSAddress(v4: 203, 0, 113, 9)]), for: try HTTPDNSName(host))
        }
        try fixture.resolver.mappings.apply { $0.hide("hidden.test") }
        return fixture
    }

    @Test("Later uses of an answer equal the first one, and count the same", arguments: [UInt64(0), 9_999])
    func same(ticket: UInt64) async throws {
        let fixture = try fixture(ticket: ticket)
        let changes: [(inout HTTPDNSResolver.Query) -> Void] = [
            { _ in }, { $0.usesSystemResolver = true }, { $0.rolloutKey = "7" }, { $0.rolloutKey = "14" },
            { $0.families = .v4 }, { $0.families = [] },
            { $0.clientSubnet = HTTPDNSAddressBlock("203.0.113.0/24") },
        ]
        for _ in 0..<2 {
            for host in Self.hosts + ["plain.test."] {
                for change in changes {
                    _ = try? await fixture.resolve(host, change)
                    for port in [UInt16(443), 8443] { try compare(fixture, host, port, change) }
                }
            }
            // Everything is examined again.
            try fixture.resolver.mappings.apply { $0["unrelated.test"] = .system }
        }
    }

    private func compare(
        _ fixture: ResolverFixture,
        _ host: String,
        _ port: UInt16,
        _ change: (inout HTTPDNSResolver.Query) -> Void
    ) throws {
        // Another name and a change: nothing is known of the version.
        try fixture.resolver.mappings.apply { $0["unrelated.test"] = .via("plain.test") }
        var results: [Result<HTTPDNSResolver.Resolution?, any Error>] = []
        var counts: [[Int]] = []
        for _ in 0..<4 {
            let before = Self.counts(fixture)
            results.append(Result { try fixture.immediate(host, port: port, change) })
            counts.append(zip(Self.counts(fixture), before).map { $0 - $1 })
        }
        for later in 1..<4 {
            switch (results[0], results[later]) {
            case (.success(let first), .success(let next)): #expect(first == next, "\(host):\(port)")
            case (.failure(let first), .failure(let next)): #expect("\(first)" == "\(next)", "\(host):\(port)")
            default: Issue.record("\(host):\(port): \(results)")
            }
            #expect(counts[0] == counts[later], "\(host):\(port)")
        }
    }

    private static func counts(_ fixture: ResolverFixture) -> [Int] {
        let counters = fixture.resolver.counters
        return [
            counters.hits, counters.staleHits, counters.negativeHits, counters.failureHits, counters.immediate,
            counters.misses, counters.joined, counters.policyRefusals, counters.rolledOut, counters.outsideRollout,
            counters.switchedOff, counters.lastResort,
        ]
    }

    @Test("An answer is used directly beside mappings and a policy for other names")
    func isUsed() async throws {
        let fixture = try fixture()
        func isDirect(_ host: String) throws -> Bool {
            let (name, version) = (try HTTPDNSName(host), fixture.resolver.live.word)
            let cache = fixture.resolver.cache
            return cache.findForDirectUse(name, families: nil, isSystemOnly: false, under: version) != nil
        }
        for host in Self.hosts {
            _ = try await fixture.resolve(host)
            _ = try fixture.immediate(host)
        }
        for host in ["plain.test", "process.test", "key.test", "inside.test", "hidden.test"] {
            #expect(try isDirect(host), "\(host)")
        }
        // On another port a rule decides; one address is denied; the system resolver answers.
        for host in ["ported.test", "suffix.ported.test", "only.test", "denied.test", "system.test", "shadow.test"] {
            #expect(try !isDirect(host), "\(host)")
        }
        try fixture.resolver.mappings.apply { $0["plain.test:9"] = .system }
        #expect(try !isDirect("plain.test"))
        _ = try fixture.immediate("plain.test")
        #expect(try !isDirect("plain.test"))
        try fixture.resolver.mappings.apply { $0["plain.test:9"] = nil }
        _ = try fixture.immediate("plain.test")
        #expect(try isDirect("plain.test"))
    }

    @Test("A change of mappings, routes or policy decides about the next query")
    func changes() async throws {
        let fixture = try fixture()
        _ = try await fixture.resolve("plain.test")
        for _ in 0..<3 { #expect(try fixture.immediate("plain.test")?.source == .provider) }
        try fixture.resolver.mappings.apply { $0["plain.test"] = .addresses(["203.0.113.77"]) }
        #expect(try fixture.immediate("plain.test")?.source == .mapping)
        try fixture.resolver.mappings.apply { $0["plain.test"] = nil }
        for _ in 0..<3 { #expect(try fixture.immediate("plain.test")?.source == .provider) }
        fixture.resolver.killSwitch.turnOff()
        #expect(try fixture.immediate("plain.test")?.source != .provider)
        fixture.resolver.killSwitch.turnOn()
        for _ in 0..<3 { #expect(try fixture.immediate("plain.test")?.source == .provider) }
        fixture.time.advance(by: .seconds(61))
        #expect(try fixture.immediate("plain.test") == nil)
    }
}
