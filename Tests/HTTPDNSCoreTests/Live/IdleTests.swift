// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSTesting
import Testing

@testable import HTTPDNSCore

struct IdleTests {
    /// However much time passes after the traffic stops.
    @Test("An idle resolver sends no queries and keeps no timers")
    func quiet() async throws {
        let fixture = try ResolverFixture(providers: ["doh", "backup"], fallback: .system) {
            $0.routes[0].rollout = HTTPDNSRoute.Rollout(percent: 100)
            var shadow = HTTPDNSRoute(.suffix(try HTTPDNSName("shadow.test")), .providers(["doh"], fallback: .off))
            shadow.mode = .shadow
            $0.routes.append(shadow)
        }
        for number in 0..<200 {
            let host = number % 10 == 0 ? "n\(number).shadow.test" : "n\(number).test"
            try fixture.say(["203.0.113.1"], timeToLive: .seconds(2), about: host)
            try fixture.say(["203.0.113.1"], timeToLive: .seconds(2), about: host, at: 1)
            try fixture.system.answer(.success([HTTPDNSAddress(v4: 203, 0, 113, 99)]), for: HTTPDNSName(host))
            _ = try await fixture.resolve(host)
        }
        // Used shortly before its life ends: the last that is asked.
        fixture.time.advance(by: .milliseconds(1500))
        for number in 1..<10 { _ = try await fixture.resolve("n\(number).test") }
        while fixture.resolver.shadows.waitingCount > 0 || fixture.isAtWork {
            try Task.checkCancellation()
            await Task.yield()
        }
        // A provider in quarantine is tried on demand alone.
        fixture.provider.answer(.failure(.unavailable), for: try HTTPDNSName("bad.test"))
        try fixture.say(["203.0.113.1"], timeToLive: .seconds(2), about: "bad.test", at: 1)
        _ = try await fixture.resolve("bad.test")
        while fixture.resolver.shadows.waitingCount > 0 || fixture.isAtWork {
            try Task.checkCancellation()
            await Task.yield()
        }

        let asked = fixture.providers.map(\.queries.count)
        let looked = fixture.system.questions.count
        for _ in 0..<120 {
            #expect(fixture.time.sleeperCount == 0)
            fixture.time.advance(by: .seconds(30))
            for _ in 0..<20 { await Task.yield() }
        }
        #expect(fixture.providers.map(\.queries.count) == asked)
        #expect(fixture.system.questions.count == looked)
        #expect(fixture.time.sleeperCount == 0)
        guard case .quarantined? = fixture.resolver.providerHealth.first?.state else {
            Issue.record("the provider should rest until somebody asks")
            return
        }
    }
}

extension ResolverFixture {
    /// Whether a flight, a query or a timer of one is still there.
    fileprivate var isAtWork: Bool {
        time.sleeperCount > 0 || resolver.providerHealth.contains { $0.inFlight + $0.queued > 0 }
            || resolver.cache.shards.contains { $0.state.withLock { $0.lookups.count } > 0 }
    }
}
