// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSTesting
import Testing

@testable import HTTPDNSCore

struct ProviderPoolTests {
    /// A hundred later lookups never ask it.
    @Test("A black-holed first provider costs the hedge delay once")
    func blackHoled() async throws {
        let fixture = PoolFixture()
        try fixture.say(.silence, at: 0)
        try fixture.say(.known, at: 1)
        async let first = fixture.pool.ask(fixture.poolAttempt())
        await fixture.providers[0].queries(atLeast: 1)
        // The provider's own limit, the team's, and the hedge.
        await fixture.time.sleepers(atLeast: 3)
        #expect(fixture.providers[1].queries.isEmpty)
        fixture.time.advance(by: .milliseconds(51))
        #expect(try await first.text == "backup: addresses")
        for _ in 0..<100 {
            #expect(try await fixture.pool.ask(fixture.poolAttempt()).text == "backup: addresses")
        }
        #expect(fixture.providers.map(\.queries.count) == [1, 101])
        #expect(fixture.pool.health.map(\.state) == [.suspect, .healthy])
        #expect(fixture.providers[0].queries[0].timeLimit == .seconds(1))
    }

    /// No caller waits for the probe after it.
    @Test("A query that lost goes on, and its failure leads to quarantine")
    func loserIsLearntFrom() async throws {
        let fixture = PoolFixture()
        try fixture.say(.silence, at: 0)
        try fixture.say(.known, at: 1)
        async let first = fixture.pool.ask(fixture.poolAttempt())
        await fixture.time.sleepers(atLeast: 3)
        fixture.time.advance(by: .milliseconds(51))
        _ = try await first
        await fixture.time.sleepers(atLeast: 2)
        fixture.time.advance(by: .milliseconds(949))
        while fixture.pool.health[0].inFlight > 0, !Task.isCancelled { await Task.yield() }
        #expect(
            fixture.pool.health[0].state
                == .quarantined(until: ContinuousClock.Instant(fixture.time.now() + .seconds(1)), reason: "no answer")
        )
        #expect(fixture.pool.health[0].failures == 1)
        #expect(fixture.pool.mayAsk(["ali", "backup"]))
        #expect(!fixture.pool.mayAsk(["ali"]))
        fixture.time.advance(by: .seconds(1))
        #expect(fixture.pool.mayAsk(["ali"]))
        fixture.providers[0].hold()
        try fixture.say(.known, at: 0)
        #expect(try await fixture.pool.ask(fixture.poolAttempt()).text == "backup: addresses")
        await fixture.providers[0].queries(atLeast: 2)
        #expect(try await fixture.pool.ask(fixture.poolAttempt()).text == "backup: addresses")
        fixture.providers[0].release()
        while fixture.pool.health[0].state != .healthy, !Task.isCancelled { await Task.yield() }
        #expect(try await fixture.pool.ask(fixture.poolAttempt()).text == "ali: addresses")
        #expect(fixture.providers.map(\.queries.count) == [3, 3])
        let probes = fixture.reports.filter(\.isProbe)
        #expect(probes.map(\.provider) == ["ali"])
        #expect(probes.map(\.isLate) == [true])
    }

    /// All are answered.
    @Test("Five thousand cold names are queried eight at a time, each once")
    func manyNames() async throws {
        let fixture = PoolFixture(["ali"], limits: ["ali": .init(maximumInFlight: 8)])
        let names = try (0..<5000).map { try HTTPDNSName("n\($0).test") }
        for name in names { fixture.providers[0].answer(.known, for: name) }
        fixture.providers[0].hold()
        let answered = await withTaskGroup(of: String.self) { group in
            for name in names {
                group.addTask {
                    guard let poolAttempt = try? fixture.poolAttempt(name.description) else { return "no name" }
                    return await fixture.pool.ask(poolAttempt).text
                }
            }
            await fixture.providers[0].queries(atLeast: 8)
            while fixture.pool.health[0].inFlight + fixture.pool.health[0].queued < 5000, !Task.isCancelled {
                await Task.yield()
            }
            #expect(fixture.pool.health[0].inFlight == 8)
            #expect(fixture.providers[0].queries.count == 8)
            fixture.providers[0].release()
            return await group.reduce(into: 0) { $0 += $1 == "ali: addresses" ? 1 : 0 }
        }
        #expect(answered == 5000)
        #expect(fixture.providers[0].peakInFlight == 8)
        #expect(Set(fixture.providers[0].queries.map(\.host)).count == 5000)
        #expect(fixture.providers[0].queries.count == 5000)
        while fixture.pool.health[0].inFlight > 0, !Task.isCancelled { await Task.yield() }
        #expect(fixture.pool.health[0].successes == 5000)
        // No alarm outlives its question: the time limit of this suite is what fails otherwise.
        while fixture.time.sleeperCount > 0, !Task.isCancelled { await Task.yield() }
    }

    /// The other provider is healthy.
    @Test(
        "A second opinion corrects a provider that denies every name"
    )
    func liar() async throws {
        let fixture = PoolFixture()
        for number in 0..<200 { try fixture.say(.known, about: "n\(number).test", at: 1) }
        for number in 0..<200 {
            let outcome = try await fixture.pool.ask(fixture.poolAttempt("n\(number).test", secondOpinion: true))
            #expect(outcome.text == "backup: addresses")
        }
        #expect(
            try await fixture.pool.ask(fixture.poolAttempt("unknown.test", secondOpinion: true)).text == "ali: nothing"
        )
    }

    /// Also at a provider that ignores the cancellation.
    @Test("A canceled caller returns immediately, and its queries end")
    func cancels() async throws {
        for ignoresCancellation in [false, true] {
            let fixture = PoolFixture(["ali"], ignoresCancellation: ignoresCancellation)
            fixture.providers[0].hold()
            let poolAttempt = try fixture.poolAttempt()
            let task = Task { await fixture.pool.ask(poolAttempt) }
            await fixture.providers[0].queries(atLeast: 1)
            task.cancel()
            #expect(await task.value.text == "canceled")
            #expect(fixture.pool.health[0].failures == 0)
            if !ignoresCancellation {
                while fixture.pool.health[0].inFlight > 0, !Task.isCancelled { await Task.yield() }
            }
            fixture.providers[0].release()
            while fixture.pool.health[0].inFlight > 0, !Task.isCancelled { await Task.yield() }
            #expect(fixture.reports.map(\.outcome) == [.canceled])
            let early = Task { () -> String in
                withUnsafeCurrentTask { $0?.cancel() }
                return await fixture.pool.ask(poolAttempt).text
            }
            #expect(await early.value == "canceled")
            #expect(fixture.providers[0].queries.count == 1)
        }
    }

    @Test("A provider that ignores cancellation frees its slot a second after its limit")
    func stubborn() async throws {
        let fixture = PoolFixture(["ali"], limits: ["ali": .init(maximumInFlight: 1)], ignoresCancellation: true)
        fixture.providers[0].hold()
        async let first = fixture.pool.ask(fixture.poolAttempt())
        await fixture.time.sleepers(atLeast: 2)
        fixture.time.advance(by: .seconds(3))
        #expect(try await first.text.contains("ali: no answer in 3 s"))
        #expect(fixture.pool.health[0].inFlight == 1)
        await fixture.time.sleepers(atLeast: 1)
        fixture.time.advance(by: .seconds(1))
        while fixture.pool.health[0].inFlight > 0, !Task.isCancelled { await Task.yield() }
        fixture.providers[0].release()
        try fixture.say(.known, at: 0)
        #expect(try await fixture.pool.ask(fixture.poolAttempt()).text == "ali: addresses")
    }

    @Test("A shutdown ends all lookups and queries, and later lookups immediately")
    func shutsDown() async throws {
        let fixture = PoolFixture(["ali"], limits: ["ali": .init(maximumInFlight: 1)])
        fixture.providers[0].hold()
        async let running = fixture.pool.ask(fixture.poolAttempt())
        await fixture.providers[0].queries(atLeast: 1)
        async let queued = fixture.pool.ask(fixture.poolAttempt("other.test"))
        while fixture.pool.health[0].queued == 0, !Task.isCancelled { await Task.yield() }
        fixture.pool.shutdown()
        #expect(try await [running.text, queued.text] == ["canceled", "canceled"])
        while fixture.pool.health[0].inFlight > 0, !Task.isCancelled { await Task.yield() }
        #expect(try await fixture.pool.ask(fixture.poolAttempt()).text == "canceled")
        fixture.pool.shutdown()
        #expect(fixture.providers[0].queries.count == 1)
    }

    @Test("An answer with one family missing is definite, and kept unchanged")
    func partial() async throws {
        let fixture = PoolFixture()
        let failure = HTTPDNSProviderAnswer.Family.failed(HTTPDNSProviderError(code: .timedOut, message: "no answer"))
        let v4 = HTTPDNSProviderAnswer.Family.addresses(
            [HTTPDNSAddress(v4: 203, 0, 113, 7)],
            timeToLive: .seconds(60),
            canonicalName: nil
        )
        try fixture.say(.answer(HTTPDNSProviderAnswer(v4: v4, v6: failure)), at: 0)
        var poolAttempt = try fixture.poolAttempt()
        poolAttempt.query.families = .both
        guard case .answered(let answer) = await fixture.pool.ask(poolAttempt) else {
            Issue.record("not answered")
            return
        }
        #expect(answer.answer == HTTPDNSProviderAnswer(v4: v4, v6: failure))
        #expect(answer.answer.failedFamilies(among: .both) == .v6 && answer.answer.hasLateFamily(among: .both))
        #expect(fixture.pool.health[0].successes == 1)
    }

    @Test("A failure to complete an answer is about the name, until many names fail", arguments: [true, false])
    func completes(_ completesAnswer: Bool) async throws {
        let fixture = PoolFixture()
        try fixture.say(.failure(HTTPDNSProviderError(code: .badResponse, message: "no answer")), at: 0)
        try fixture.say(.known, at: 1)
        var poolAttempt = try fixture.poolAttempt()
        poolAttempt.query.completesAnswer = completesAnswer
        _ = await fixture.pool.ask(poolAttempt)
        #expect((fixture.pool.health[0].state == .healthy) == completesAnswer)
        for host in ["two.test", "three.test"] {
            try fixture.say(
                .failure(HTTPDNSProviderError(code: .badResponse, message: "no answer")),
                about: host,
                at: 0
            )
            poolAttempt.query.host = try HTTPDNSName(host)
            _ = await fixture.pool.ask(poolAttempt)
        }
        #expect(fixture.pool.health[0].state != .healthy)
    }

    /// In real time. Nothing is left behind.
    @Test("Under load, failures and cancellations every lookup returns")
    func storm() async throws {
        let names = ["a", "b", "c"]
        let hosts = try (0..<40).map { try HTTPDNSName("n\($0).test") }
        var random = SplitMix(seed: 42)
        let providers = names.map { HTTPDNSScriptedProvider(name: $0) }
        for provider in providers {
            provider.delay(by: .milliseconds(2))
            for host in hosts {
                let scripts: [HTTPDNSScriptedProvider.Script?] = [
                    .known, .known, .silence, nil, .failure(.unavailable),
                    .failure(HTTPDNSProviderError(code: .serverFailure, message: "SERVFAIL")),
                ]
                provider.answer(scripts.randomElement(using: &random) ?? nil, for: host)
            }
        }
        let pool = ProviderPool(
            providers.map { ProviderLease($0) },
            limits: ["a": .init(maximumInFlight: 3), "b": .init(maximumInFlight: 5, queriesPerSecond: 200)],
            hedgeAfter: .milliseconds(3),
            attemptLimit: .milliseconds(30),
            timeSource: SystemTimeSource(),
            random: { .random(in: 0..<$0) }
        )
        let cancelAfter = (0..<1500).map { _ in Int.random(in: 0..<12, using: &random) }
        let outcomes = await withTaskGroup(of: ProviderPool.Outcome.self) { group in
            for (number, milliseconds) in cancelAfter.enumerated() {
                group.addTask {
                    let poolAttempt = ProviderPool.PoolAttempt(
                        providers: names,
                        order: number.isMultiple(of: 2) ? .given : .fastest,
                        wantsSecondOpinion: number.isMultiple(of: 3),
                        query: HTTPDNSProviderQuery(host: hosts[number % hosts.count], families: .v4, timeLimit: .zero),
                        deadline: SystemTimeSource().now() + .milliseconds(100)
                    )
                    let task = Task { await pool.ask(poolAttempt) }
                    if milliseconds < 6 {
                        // A moment that has to do with nothing: there is no event to await.
                        try? await Task.sleep(for: .milliseconds(milliseconds))
                        task.cancel()
                    }
                    return await task.value
                }
            }
            return await group.reduce(into: [ProviderPool.Outcome]()) { $0.append($1) }
        }
        #expect(outcomes.count == cancelAfter.count)
        while pool.health.contains(where: { $0.inFlight > 0 }), !Task.isCancelled { await Task.yield() }
        #expect(pool.health.allSatisfy { $0.queued == 0 })
        #expect(providers[0].peakInFlight <= 3)
        #expect(providers[1].peakInFlight <= 5)
        // A query that was given up before its task began does not reach the provider.
        for (health, provider) in zip(pool.health, providers) { #expect(health.queries >= provider.queries.count) }
    }
}
