// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSTesting
import Testing

@testable import HTTPDNSCore

struct RolloutTests {
    /// Worked out by another program, from the description alone.
    @Test(
        "A key's position is the same in every process and every release",
        arguments: [
            ("user-1", "*.shop.test", 8051), ("user-2", "*.shop.test", 8615), ("", "*", 1435),
            ("img.shop.test", "img.shop.test", 3186), ("käse", "*", 3610),
        ]
    )
    func vector(key: String, pattern: String, place: UInt64) throws {
        #expect(RolloutPlace.of(key, in: try HTTPDNSRoute.Pattern(pattern)) == place)
    }

    private func resolver(_ rollout: HTTPDNSRoute.Rollout?, place: UInt64 = 0) throws -> ResolverFixture {
        let fixture = try ResolverFixture(ticket: place) { $0.routes[0].rollout = rollout }
        try fixture.say(["203.0.113.1"], about: "img.test")
        try fixture.system.answer(.success([HTTPDNSAddress(v4: 203, 0, 113, 99)]), for: HTTPDNSName("img.test"))
        return fixture
    }

    /// The numbers of the keys that a rollout takes in.
    private func within(_ fixture: ResolverFixture) async throws -> Set<Int> {
        var within: Set<Int> = []
        for number in 0..<10_000 {
            let resolution = try await fixture.resolve("img.test") { $0.rolloutKey = "user-\(number)" }
            if resolution.source == .provider { within.insert(number) }
        }
        return within
    }

    /// 25 ± 1.5 % of 10,000 keys.
    @Test("A rollout of 25 % picks a stable quarter of keys, and a higher one only adds")
    func share() async throws {
        let fixture = try resolver(HTTPDNSRoute.Rollout(percent: 25, by: .key))
        let quarter = try await within(fixture)
        #expect((2350...2650).contains(quarter.count), "\(quarter.count)")
        #expect(try await within(fixture) == quarter)
        var counters = fixture.resolver.counters
        #expect(counters.rolledOut == 2 * quarter.count)
        #expect(counters.outsideRollout == 20_000 - 2 * quarter.count)

        var settings = fixture.settings
        settings.routes[0].rollout?.percent = 50
        try fixture.resolver.reload(settings)
        let half = try await within(fixture)
        #expect(half.isStrictSuperset(of: quarter))
        #expect((4850...5150).contains(half.count), "\(half.count)")
        #expect(fixture.provider.queries.count == 1, "its answer stayed in use through the reload")
        counters = fixture.resolver.counters
        #expect(counters.rolledOut + counters.outsideRollout == 30_000)

        settings.routes[0].rollout = nil
        try fixture.resolver.reload(settings)
        #expect(try await within(fixture).count == 10_000)
        #expect(fixture.resolver.counters.rolledOut == counters.rolledOut, "without a rollout nothing is counted")
    }

    @Test("Outside of a rollout a lookup takes the system path, and the result says so")
    func outsideRollout() async throws {
        let fixture = try resolver(HTTPDNSRoute.Rollout(percent: 0))
        let resolution = try await fixture.resolve("img.test")
        #expect(resolution.source == .system && resolution.systemReason == .outsideRollout && resolution.route == nil)
        #expect(fixture.provider.queries.isEmpty)
        #expect(fixture.resolver.counters.outsideRollout == 1)
    }

    @Test("A rollout by process decides once for all lookups", arguments: [(0, true), (2499, true), (2500, false)])
    func byProcess(place: UInt64, isWithin: Bool) async throws {
        let fixture = try resolver(HTTPDNSRoute.Rollout(percent: 25, by: .process), place: place)
        for key in ["user-1", "user-2", "user-3"] {
            let resolution = try await fixture.resolve("img.test") { $0.rolloutKey = key }
            #expect((resolution.source == .provider) == isWithin)
        }
    }

    @Test("A lookup without a key is positioned by its host name")
    func withoutKey() async throws {
        let fixture = try resolver(HTTPDNSRoute.Rollout(percent: 50, by: .key))
        let place = RolloutPlace.of("img.test", in: .any)
        #expect(try await fixture.resolve("img.test").systemReason == (place < 5000 ? nil : .outsideRollout))
        let share = Double(place + 1) / 100
        let within = try resolver(HTTPDNSRoute.Rollout(percent: share, by: .key))
        #expect(try await within.resolve("img.test").source == .provider)
        let outside = try resolver(HTTPDNSRoute.Rollout(percent: Double(place) / 100, by: .key))
        #expect(try await outside.resolve("img.test").source == .system)
    }

    @Test("A mapping wins over every route, and is outside of the rollout")
    func mapped() throws {
        let fixture = try resolver(HTTPDNSRoute.Rollout(percent: 0))
        try fixture.resolver.mappings.apply { $0["img.test"] = .addresses(["203.0.113.7"]) }
        #expect(try fixture.immediate("img.test")?.source == .mapping)
        #expect(fixture.resolver.counters.outsideRollout == 0)
    }

    @Test("A percentage that is out of range or too fine is refused", arguments: [-1, 100.01, 12.345, .nan, .infinity])
    func faults(percent: Double) {
        let error = #expect(throws: HTTPDNSResolver.ConfigurationError.self) {
            try self.resolver(HTTPDNSRoute.Rollout(percent: percent))
        }
        #expect(error?.message.contains("route \"*\": its rollout is \(percent) percent") == true)
    }

    @Test(
        "Two decimals of a percentage are exact",
        arguments: [(0.01, 1), (0.29, 29), (33.33, 3333), (99.99, 9999), (100, 10_000)]
    )
    func decimals(percent: Double, share: UInt64) {
        let rollout = HTTPDNSRoute.Rollout(percent: percent)
        #expect(rollout.share == share)
        #expect(rollout.fault == nil)
    }
}
