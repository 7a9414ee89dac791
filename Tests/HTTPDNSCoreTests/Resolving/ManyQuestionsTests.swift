// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSTesting
import Testing

struct ManyQuestionsTests {
    /// What callers saw.
    private struct Tally {
        var fresh = 0, cached = 0, stale = 0, refused = 0

        mutating func add(_ result: Result<HTTPDNSResolver.Resolution, any Error>) {
            switch result {
            case .success(let resolution) where resolution.isStale: stale += 1
            case .success(let resolution) where resolution.isCached: cached += 1
            case .success: fresh += 1
            case .failure: refused += 1
            }
        }
    }

    /// Over a thousand lookups.
    @Test("The counters match what callers saw and what providers were asked")
    func counters() async throws {
        let fixture = try ResolverFixture(providers: ["ali", "backup"]) { $0.cache.refreshesAhead = false }
        let resolver = fixture.resolver
        for (name, life) in [("a.test", 7), ("b.test", 3), ("c.test", 20)] as [(String, Int64)] {
            for index in 0..<2 { try fixture.say(["203.0.113.1"], timeToLive: .seconds(life), about: name, at: index) }
        }
        let names = try ["a.test", "b.test", "c.test", "gone.test", "bad.test"].map { try HTTPDNSName($0) }
        for provider in fixture.providers { provider.answer(.failure(.unavailable), for: names[4]) }
        var tally = Tally()
        for round in 0..<50 {
            // From half-time on the first provider answers about nothing, and about b.test none does.
            if round == 25 {
                for name in names { fixture.providers[0].answer(.failure(.unavailable), for: name) }
                fixture.providers[1].answer(.failure(.unavailable), for: names[1])
            }
            await withTaskGroup(of: Result<HTTPDNSResolver.Resolution, any Error>.self) { group in
                for number in 0..<20 {
                    let question = HTTPDNSResolver.Query(.name(names[number % 5]), port: 443)
                    group.addTask {
                        do { return .success(try await resolver.resolve(question)) } catch { return .failure(error) }
                    }
                }
                for await result in group { tally.add(result) }
            }
            fixture.time.advance(by: .seconds(1))
        }
        let counters = resolver.counters
        #expect(counters.queries == 1_000)
        #expect(counters.hits == tally.cached)
        #expect(counters.staleServed == tally.stale && tally.stale > 0)
        #expect(tally.fresh + tally.cached + tally.stale + tally.refused == 1_000)
        #expect(counters.answers.values.reduce(0, +) == 1_000 - tally.refused)
        #expect(counters.negativeHits > 0 && counters.failureHits > 0 && counters.misses > 0)
        // Each name is asked for 200 times, and the first of them is no hit. Each miss asks a provider at least.
        #expect(counters.negativeHits < 200 && counters.negativeHits + counters.failureHits <= tally.refused)
        #expect(counters.misses <= fixture.providers.reduce(0) { $0 + $1.queries.count })
        #expect(counters.overloaded == 0 && counters.immediate == 0 && counters.policyRefusals == 0)
        for provider in fixture.providers {
            let counted = try #require(counters.providers[provider.name])
            #expect(counted.queries == provider.queries.count)
            #expect(counted.queriesInFlight == 0 && counted.canceled == 0)
        }
        let backup = try #require(counters.providers["backup"])
        #expect(backup.negatives == fixture.providers[1].queries.count { $0.host == names[3] })
        #expect(counters.cacheEntries == 5)
    }

    /// Both are counted.
    @Test("Of a thousand lookups for one name one misses and the others join")
    func joined() async throws {
        let fixture = try ResolverFixture()
        let resolver = fixture.resolver
        try fixture.say(["203.0.113.1"], about: "img.test")
        fixture.provider.hold()
        let question = HTTPDNSResolver.Query(.name(try HTTPDNSName("img.test")), port: 443)
        try await withThrowingTaskGroup(of: Bool.self) { group in
            for _ in 0..<1_000 { group.addTask { try await resolver.resolve(question).isCached } }
            while resolver.counters.misses + resolver.counters.joined < 1_000, !Task.isCancelled { await Task.yield() }
            fixture.provider.release()
            for try await isCached in group { #expect(!isCached) }
        }
        let counters = resolver.counters
        #expect(counters.misses == 1 && counters.joined == 999 && counters.hits == 0)
        #expect(counters.providers["doh"]?.queries == 1 && counters.providers["doh"]?.answers == 1)
    }

    @Test("200 names that hang do not keep 100 others from their answers")
    func slowNames() async throws {
        let fixture = try ResolverFixture()
        let resolver = fixture.resolver
        let slow = try (0..<200).map { try HTTPDNSName("slow\($0).test") }
        let good = try (0..<100).map { try HTTPDNSName("n\($0).test") }
        for host in slow { fixture.provider.hold(host) }
        for host in good { try fixture.say(["203.0.113.1"], about: host.description) }
        func ask(_ host: HTTPDNSName) -> Task<[String], any Error> {
            Task { try await resolver.resolve(HTTPDNSResolver.Query(.name(host), port: 443)).addresses }
        }
        let lost = slow.map(ask)
        await fixture.provider.queries(atLeast: 128)
        let found = good.map(ask)
        // An alarm for each name, and a timer for each query under way.
        await fixture.time.sleepers(atLeast: 300 + 128)
        fixture.time.advance(by: .seconds(1))
        for task in found { #expect(try await task.value == ["203.0.113.1"]) }
        #expect(fixture.provider.peakInFlight <= 128)
        for task in lost { task.cancel() }
        await resolver.shutdown()
    }

    /// Known names are served meanwhile.
    @Test("Five thousand concurrent cold names are asked once each, within the limit")
    func coldNames() async throws {
        let fixture = try ResolverFixture { configuration in
            configuration.cache.entries = 20_000
            configuration.providerLimits = ["doh": .init(maximumInFlight: 32)]
        }
        let resolver = fixture.resolver
        try fixture.say(["203.0.113.9"], about: "hot.test")
        _ = try await fixture.resolve("hot.test")
        fixture.provider.hold()
        let names = try (0..<5_000).map { try HTTPDNSName("n\($0).test") }
        let answer = HTTPDNSProviderAnswer.addresses([HTTPDNSAddress(v4: 203, 0, 113, 1)], timeToLive: .seconds(60))
        for name in names { fixture.provider.answer(.answer(answer), for: name) }
        let resolved = try await withThrowingTaskGroup(of: HTTPDNSResolver.Resolution.self) { group in
            for name in names {
                group.addTask { try await resolver.resolve(HTTPDNSResolver.Query(.name(name), port: 443)) }
            }
            await fixture.provider.queries(atLeast: 33)
            for _ in 0..<100 { #expect(try fixture.immediate("hot.test")?.addresses == ["203.0.113.9"]) }
            #expect(fixture.provider.queries.count == 33)
            fixture.provider.release()
            return try await group.reduce(into: 0) { $0 += $1.addresses == ["203.0.113.1"] ? 1 : 0 }
        }
        #expect(resolved == 5_000)
        #expect(fixture.provider.queries.count == 5_001)
        #expect(Set(fixture.provider.queries.map(\.host)).count == 5_001)
        #expect(fixture.provider.peakInFlight <= 32)
    }

    /// The other half is for the request.
    @Test("A query whose call has used half of its time waits behind those of others")
    func littleTime() async throws {
        let fixture = try ResolverFixture {
            $0.providerLimits["doh"] = HTTPDNSResolver.Configuration.ProviderLimits(maximumInFlight: 1)
        }
        for host in ["slow.test", "early.test", "late.test"] { try fixture.say(["203.0.113.1"], about: host) }
        func queued(_ count: Int) async {
            while fixture.resolver.providerHealth[0].queued < count, !Task.isCancelled { await Task.yield() }
        }
        fixture.provider.hold()
        async let slow = fixture.resolve("slow.test")
        await fixture.provider.queries(atLeast: 1)
        async let early = fixture.resolve("early.test") { $0.timeLimit = .seconds(2) }
        await queued(1)
        fixture.time.advance(by: .milliseconds(400))
        // With another query as slow as the first one, this one ends within half of the limit, and the early one does not.
        async let late = fixture.resolve("late.test") { $0.timeLimit = .milliseconds(2900) }
        await queued(2)
        fixture.time.advance(by: .milliseconds(150))
        fixture.provider.release()
        _ = try await (slow, early, late)
        #expect(fixture.provider.queries.map(\.host.description) == ["slow.test", "late.test", "early.test"])
    }
}
