// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Glibc
import HTTPDNSCore
import HTTPDNSTesting
import Synchronization
import Testing

private final class Tally: Sendable {
    let count = Atomic(0)
}

/// Everything at once on the real clock, for the thread sanitizer: `make sanitize`.
struct ResolverStressTests {
    private static let names = 50
    private static let tasks = 200

    /// How long it goes on: `HTTPDNS_STRESS_SECONDS`, else half a second.
    private static var length: Duration {
        getenv("HTTPDNS_STRESS_SECONDS").flatMap { Double(String(cString: $0)) }.map { .seconds($0) }
            ?? .milliseconds(500)
    }

    /// Mappings change, the cache is cleared and callers are canceled all the time.
    @Test("200 tasks on 50 names are all answered while everything changes")
    func everythingAtOnce() async throws {
        let hosts = try (0..<Self.names).map { try HTTPDNSName("n\($0).shop.test") }
        let provider = HTTPDNSScriptedProvider(name: "doh")
        for (number, host) in hosts.enumerated() {
            let address = HTTPDNSAddress(v4: 203, 0, 113, UInt8(number))
            // From a life of nothing to one that outlasts the test.
            let life = Duration.milliseconds([0, 1, 5, 20, 100, 60_000][number % 6])
            provider.answer(.answer(.addresses([address], timeToLive: life)), for: host)
        }
        var configuration = HTTPDNSResolver.Configuration()
        configuration.providers = [provider]
        configuration.routes = [HTTPDNSRoute(.any, .providers(["doh"], fallback: .off))]
        configuration.cache.entries = 40
        let resolver = try HTTPDNSResolver(configuration)
        let clock = ContinuousClock()
        let end = clock.now + Self.length
        let answered = Tally()
        let listener = Task {
            var count = 0
            for await _ in resolver.events { count += 1 }
            return count
        }

        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0..<Self.tasks {
                group.addTask {
                    var number = task % Self.names
                    repeat {
                        number = (number &* 31 &+ 7) % Self.names
                        let question = HTTPDNSResolver.Query(.name(hosts[number]), port: number % 2 == 0 ? 443 : 8443)
                        if number % 11 == 3 {
                            let hasty = Task { try await resolver.resolve(question) }
                            hasty.cancel()
                            _ = await hasty.result
                            continue
                        }
                        let resolution = try await resolver.resolve(question)
                        #expect(!resolution.endpoints.isEmpty)
                        answered.count.add(1, ordering: .relaxed)
                    } while clock.now < end
                }
            }
            group.addTask {
                var round = 0
                while clock.now < end {
                    round += 1
                    let host = hosts[round % Self.names]
                    try resolver.mappings.apply { rules in
                        let key = HTTPDNSMapping.Key(.exact(host))
                        rules[key] =
                            rules[key] == nil
                            ? HTTPDNSMapping(.addresses([.init(HTTPDNSAddress(v4: 203, 0, 113, 250))])) : nil
                    }
                    if round % 16 == 0 { resolver.removeAllCached() }
                    if round % 32 == 0 { await resolver.preresolve(hosts) }
                    _ = resolver.counters
                    _ = resolver.providerHealth
                    await Task.yield()
                }
            }
            try await group.waitForAll()
        }
        #expect(answered.count.load(ordering: .relaxed) > Self.tasks / 2)
        let counters = resolver.counters
        #expect(counters.cacheEntries <= 40)
        await resolver.shutdown()
        #expect(await listener.value > 0)
    }
}
