// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSTesting
import Testing

@testable import HTTPDNSCore

struct PoolLimitsTests {
    private typealias Simulation = PoolSimulation

    @Test("Queries beyond the limit wait in the order of their arrival")
    func queues() throws {
        var pool = PoolSimulation(
            [("a", Simulation.answering(after: .milliseconds(10)))],
            limits: ["a": .init(maximumInFlight: 2)]
        )
        let ids = try (0..<6).map { try pool.ask(host: "n\($0).test") }
        #expect(pool.state.members[0].report(at: pool.now).queued == 4)
        pool.run(for: .seconds(1))
        #expect(ids.map { pool.text($0) } == [10, 10, 20, 20, 30, 30].map { "a at \($0) ms: addresses" })
        #expect(pool.peakInFlight == ["a": 2])
        #expect(pool.reports.map(\.queued) == [0, 0, 10, 10, 20, 20].map { .milliseconds($0) })
        #expect(
            pool.state.members[0].health.latency.mean == .milliseconds(10),
            "the queue is not the provider's latency"
        )
    }

    /// Answers of one burst come together, a latency after those of the one before. The alarms of queued names are late where an
    /// answer comes at the deadline.
    @Test("A patient name waits for its slot while answers come, however far apart", arguments: [100, 400, 500, 1000])
    func patient(latency: Int) throws {
        var pool = PoolSimulation(
            [("a", Simulation.answering(after: .milliseconds(latency)))],
            limits: ["a": .init(maximumInFlight: 2)],
            attemptLimit: .seconds(2)
        )
        let ids = try (0..<8).map { try pool.ask(host: "n\($0).test", limit: .seconds(1), patience: .seconds(9)) }
        pool.run(for: .seconds(10))
        let texts = ids.map { pool.text($0) }
        #expect(texts.allSatisfy { $0.hasSuffix("addresses") }, "\(texts)")
    }

    /// The queued query is not sent any more.
    @Test("A lookup queued at a busy provider moves to a free one after the hedge delay")
    func leavesQueue() throws {
        var pool = PoolSimulation(
            [
                ("busy", Simulation.answering(after: .milliseconds(200))),
                ("free", Simulation.answering(after: .milliseconds(5))),
            ],
            limits: ["busy": .init(maximumInFlight: 1)]
        )
        try pool.ask(["busy"])
        let id = try pool.ask()
        pool.run(for: .seconds(1))
        #expect(pool.text(id) == "free at 55 ms: addresses")
        #expect(pool.sentTo("busy") == 1)
        #expect(pool.state.members[0].inFlight == 0)
    }

    @Test("While all providers are busy a lookup checks again after doubling pauses")
    func looksAgain() throws {
        var pool = PoolSimulation(
            [
                ("a", Simulation.answering(after: .milliseconds(500))),
                ("b", Simulation.answering(after: .milliseconds(70))),
            ],
            limits: ["a": .init(maximumInFlight: 1), "b": .init(maximumInFlight: 1)]
        )
        try pool.ask(["a"])
        try pool.ask(["b"])
        let id = try pool.ask()
        pool.run(for: .seconds(2))
        // At 50 ms the other was still busy, at 100 ms it was not.
        #expect(pool.text(id) == "b at 170 ms: addresses")

        var crowd = PoolSimulation(
            [("a", Simulation.blackHole), ("b", Simulation.blackHole)],
            limits: ["a": .init(maximumInFlight: 1), "b": .init(maximumInFlight: 1)]
        )
        try crowd.ask(["a"])
        try crowd.ask(["b"])
        let waiting = try crowd.ask()
        var looks: [Duration] = []
        for _ in 0..<900 {
            crowd.run(for: .milliseconds(1))
            let next = crowd.state.asks[waiting]?.hedgeAt.map { $0 - crowd.start }
            if let next, looks.last != next { looks.append(next) }
        }
        #expect(looks == [50, 100, 200, 400, 800, 1600].map { .milliseconds($0) })
    }

    @Test("A query that never left the queue does not count against the provider")
    func timesOutInQueue() throws {
        var pool = PoolSimulation(
            [("a", Simulation.answering(after: .milliseconds(400)))],
            limits: ["a": .init(maximumInFlight: 1)]
        )
        let first = try pool.ask()
        let second = try pool.ask(limit: .milliseconds(300))
        let third = try pool.ask()
        pool.leave(third)
        pool.run(for: .seconds(2))
        #expect(pool.text(first).hasPrefix("a at 400 ms"))
        #expect(
            pool.text(second)
                == "failed at 300 ms, timed out: a: not asked: all its 1 places were taken by other queries in 300 ms"
        )
        #expect(pool.sentTo("a") == 1)
        #expect(pool.state.members[0].failures == 0)
        #expect(pool.standing("a") == .healthy)
    }

    /// Its first deadline passes while it waits, and its second one only then ends it.
    @Test("A postponed query ends at its last deadline while the queue stays full")
    func postponedAlarm() throws {
        var pool = PoolSimulation(
            [("a", Simulation.answering(after: .milliseconds(250)))],
            limits: ["a": .init(maximumInFlight: 1)]
        )
        try pool.ask()
        pool.run(for: .milliseconds(250))
        try pool.ask()
        let late = try pool.ask(
            host: "b.test",
            limit: .milliseconds(250),
            patience: .milliseconds(600),
            wantedFor: .milliseconds(100)
        )
        for number in 0..<8 { try pool.ask(host: "c\(number).test", limit: .seconds(5), patience: .seconds(5)) }
        pool.run(for: .seconds(2))
        #expect(pool.endings[late]?.at == .milliseconds(850))
    }

    @Test("A provider over its budget is skipped without blame until the budget refills")
    func budget() throws {
        var pool = PoolSimulation(
            [("a", Simulation.answering(after: .zero)), ("b", Simulation.answering(after: .zero))],
            limits: ["a": .init(queriesPerSecond: 2)]
        )
        let ids = try (0..<4).map { _ in try pool.ask() }
        pool.run(for: .milliseconds(1))
        #expect(ids.map { String(pool.text($0).prefix(1)) } == ["a", "a", "b", "b"])
        #expect(pool.failedAttempts(ids[2]) == ["a: over its budget of 2 queries a second in 0 ms"])
        #expect(pool.standing("a") == .healthy)
        #expect(!pool.state.mayAsk(["a"], at: pool.now))
        #expect(pool.state.mayAsk(["a", "b"], at: pool.now))
        let alone = try pool.ask(["a"])
        #expect(pool.text(alone) == "failed at 1 ms: a: over its budget of 2 queries a second in 0 ms")
        pool.run(for: .milliseconds(500))
        let again = try pool.ask()
        pool.run(for: .milliseconds(1))
        #expect(pool.text(again).hasPrefix("a"))
    }

    @Test("A query that left the queue unsent is not charged to the budget")
    func budgetGivenBack() throws {
        var pool = PoolSimulation(
            [("a", Simulation.answering(after: .milliseconds(10)))],
            limits: ["a": .init(maximumInFlight: 1, queriesPerSecond: 2)]
        )
        try pool.ask()
        let queued = try pool.ask()
        #expect(!pool.state.mayAsk(["a"], at: pool.now))
        pool.leave(queued)
        #expect(pool.state.mayAsk(["a"], at: pool.now))
        let next = try pool.ask()
        pool.run(for: .milliseconds(100))
        #expect(pool.text(next) == "a at 20 ms: addresses")
    }

    /// The limit of a provider that is offered half as much again, and the time of the calls.
    enum Overload: CaseIterable, Sendable {
        case slots, slotsOfShortCalls, rate, rateAndSlots
    }

    /// 40 queries a second are the limit, by 8 slots of 200 ms on average, or by the rate.
    @Test("At 150 % of a provider's limit with deadlines, 80 % of the limit is answered", arguments: Overload.allCases)
    func overload(_ overload: Overload) throws {
        let latencies = Lock(SplitMix(seed: 7))
        var limits = HTTPDNSResolver.Configuration.ProviderLimits()
        if overload != .rate { limits.maximumInFlight = 8 }
        if overload == .rate || overload == .rateAndSlots { limits.queriesPerSecond = 40 }
        let (mean, limit): (Double, Duration) = overload == .rateAndSlots ? (0.19, .seconds(1)) : (0.2, .seconds(1))
        var pool = PoolSimulation(
            [
                (
                    "a",
                    { query, now in
                        let share = 0.5 + latencies.withLock { Double($0.next() >> 11) / Double(1 << 53) }
                        return Simulation.answering(after: .seconds(mean * share))(query, now)
                    }
                )
            ],
            limits: ["a": limits]
        )
        var ids: [(id: PoolRequest.ID, at: Duration)] = []
        for number in 0..<3600 {
            let id =
                overload == .slotsOfShortCalls
                ? try pool.ask(host: "n\(number).test", limit: .seconds(5), wantedFor: limit)
                : try pool.ask(host: "n\(number).test", limit: limit)
            ids.append((id, pool.elapsed))
            pool.run(for: .seconds(1) / 60)
        }
        let inTime = ids.count { id, began in
            guard let (ending, at) = pool.endings[id], case .outcome(.answered) = ending else { return false }
            return at <= began + limit
        }
        #expect(inTime >= 60 * 32, "\(inTime) of \(60 * 40)")
    }

    @Test("A lookup without waiting calls is sent behind those that calls wait for")
    func postponed() throws {
        var pool = PoolSimulation(
            [("a", Simulation.answering(after: .milliseconds(100)))],
            limits: ["a": .init(maximumInFlight: 1)]
        )
        // The provider's usual time becomes known.
        try pool.ask()
        pool.run(for: .milliseconds(100))
        try pool.ask()
        let abandoned = try pool.ask(host: "b.test", wantedFor: .milliseconds(150))
        let wanted = try pool.ask(host: "c.test", wantedFor: .seconds(2))
        pool.run(for: .seconds(1))
        #expect(pool.text(wanted) == "a at 300 ms: addresses")
        #expect(pool.text(abandoned) == "a at 400 ms: addresses")
    }

    @Test("A hedge that was not sent is given back to the budget")
    func hedgeGivenBack() throws {
        for isOverBudget in [true, false] {
            var limits = HTTPDNSResolver.Configuration.ProviderLimits(maximumInFlight: 1)
            if isOverBudget { limits.queriesPerSecond = 0.001 }
            var pool = PoolSimulation(
                [
                    ("a", Simulation.answering(after: .milliseconds(80))),
                    ("b", Simulation.answering(after: .seconds(10))),
                ],
                limits: ["b": limits]
            )
            // The slot of b is taken, or its budget is spent.
            try pool.ask(["b"], limit: .seconds(20))
            try pool.ask()
            pool.run(for: .milliseconds(100))
            var taken = 0
            while pool.state.hedgeBudget.take() { taken += 1 }
            #expect(taken == 10, "over budget: \(isOverBudget)")
        }
    }

    @Test("A query that is canceled before it is sent is not charged to the budget")
    func unsent() throws {
        var pool = PoolSimulation([("a", { _, _ in (.zero, .unsent) })], limits: ["a": .init(queriesPerSecond: 2)])
        for _ in 0..<5 {
            pool.leave(try pool.ask())
            #expect(pool.state.mayAsk(["a"], at: pool.now))
            pool.run(for: .microseconds(1))
        }
        #expect(pool.sentTo("a") == 5)
    }

    @Test("A query that ignores cancellation holds its slot only for a while")
    func stubborn() throws {
        var pool = PoolSimulation([("a", Simulation.blackHole)], limits: ["a": .init(maximumInFlight: 1)])
        try pool.ask()
        let id = try #require(pool.state.queries.keys.first)
        let (next, _) = pool.state.check(id, until: pool.now, jitter: 1000, at: pool.now)
        #expect(next == pool.now + PoolSelector.patience)
        #expect(pool.state.members[0].inFlight == 1)
        let early = pool.state.check(id, until: pool.now, jitter: 1000, at: pool.now)
        #expect(early.0 == next && early.1.isEmpty)
        #expect(pool.state.members[0].inFlight == 1)
        let last = pool.state.check(id, until: pool.now, jitter: 1000, at: pool.now + PoolSelector.patience)
        #expect(last.0 == nil)
        #expect(pool.state.members[0].inFlight == 0)
        let late = pool.state.returned(id, .canceled, jitter: 1000, at: pool.now)
        #expect(late.isEmpty)
        #expect(pool.state.members[0].inFlight == 0)
    }

    @Test("Slow queries lose as many slots to waiting names as there are waiting names")
    func makesRoom() async throws {
        let fixture = PoolFixture(["ali"], limits: ["ali": .init(maximumInFlight: 4)])
        let provider = fixture.providers[0]
        for number in 0..<9 { try fixture.say(.known, about: "n\(number).test", at: 0) }
        for number in 0..<5 {
            #expect(await fixture.pool.ask(try fixture.poolAttempt("n\(number).test")).text == "ali: addresses")
        }
        while fixture.time.sleeperCount > 0 { await Task.yield() }
        let slow = try (0..<4).map { try HTTPDNSName("slow\($0).test") }
        for host in slow { provider.hold(host) }
        var held = try slow.prefix(3).map { fixture.pool.begin(try fixture.poolAttempt($0.description)) }
        // One alarm for each question, and one timer for each query.
        await fixture.time.sleepers(atLeast: 6)
        fixture.time.advance(by: MemberHealth.leastPlaceTime / 2)
        // The provider goes on answering: the three are slow for reasons of their own.
        #expect(await fixture.pool.ask(try fixture.poolAttempt("n5.test")).text == "ali: addresses")
        held.append(fixture.pool.begin(try fixture.poolAttempt("slow3.test")))
        let waiting = try (6..<8).map { fixture.pool.begin(try fixture.poolAttempt("n\($0).test")) }
        #expect(fixture.pool.health[0].queued == 2)
        fixture.time.advance(by: MemberHealth.leastPlaceTime / 2)
        for question in waiting { #expect(await fixture.pool.outcome(of: question).text == "ali: addresses") }
        // As many as wait make room: of four slow ones two go on.
        #expect(fixture.pool.health[0].inFlight == 2)
        await provider.queries(atLeast: 12)
        provider.release()
        var texts: [String] = []
        for question in held { texts.append(await fixture.pool.outcome(of: question).text) }
        let lost = "failed: ali: no answer, and others waited for its place in 250 ms"
        #expect(texts.filter { $0 == lost }.count == 2 && texts.filter { $0 == "ali: nothing" }.count == 2, "\(texts)")
        #expect(provider.peakInFlight <= 4)
        fixture.pool.shutdown()
    }

    @Test("Slow queries keep their slots while the provider has never answered")
    func keepsPlaces() async throws {
        let fixture = PoolFixture(["ali"], limits: ["ali": .init(maximumInFlight: 2)])
        let provider = fixture.providers[0]
        try fixture.say(.known, about: "img.test", at: 0)
        let slow = try (0..<2).map { try HTTPDNSName("slow\($0).test") }
        for host in slow { provider.hold(host) }
        let held = try slow.map { fixture.pool.begin(try fixture.poolAttempt($0.description)) }
        let waiting = fixture.pool.begin(try fixture.poolAttempt())
        for _ in 0..<3 {
            await fixture.time.sleepers(atLeast: 5)
            fixture.time.advance(by: MemberHealth.leastPlaceTime)
        }
        await fixture.time.sleepers(atLeast: 5)
        #expect(fixture.pool.health[0].queued == 1)
        fixture.time.advance(by: MemberHealth.leastPlaceTime)
        #expect(await fixture.pool.outcome(of: waiting).text == "ali: addresses")
        provider.release()
        for question in held { _ = await fixture.pool.outcome(of: question) }
        fixture.pool.shutdown()
    }

    /// Whatever the providers do.
    @Test(
        "Every lookup ends by its deadline, limits hold, and nothing is left behind",
        arguments: 0..<40
    )
    func random(_ seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        func behaviour(_ random: inout SplitMix) -> PoolSimulation.Behaviour {
            let latency = Duration.milliseconds(Int.random(in: 0...300, using: &random))
            let codes: [HTTPDNSProviderError.Code] = [.serverFailure, .httpStatus, .timedOut, .refused, .unreachable]
            switch Int.random(in: 0..<8, using: &random) {
            case 0: return Simulation.blackHole
            case 1: return Simulation.failing(codes.randomElement(using: &random) ?? .refused, after: latency)
            case 2: return Simulation.failing(.rateLimited, after: latency, retryAfter: .seconds(2))
            case 3: return Simulation.negative(after: latency)
            case 4: return { _, _ in (latency, .canceled) }
            default: return Simulation.answering(after: latency)
            }
        }
        let names = ["a", "b", "c"]
        var pool = PoolSimulation(
            names.map { ($0, behaviour(&random)) },
            limits: ["a": .init(maximumInFlight: 2), "b": .init(maximumInFlight: 1, queriesPerSecond: 20)]
        )
        var open: [(id: PoolRequest.ID, deadline: Duration)] = []
        var all: [(id: PoolRequest.ID, deadline: Duration)] = []
        for step in 0..<300 {
            if step.isMultiple(of: 25), let name = names.randomElement(using: &random) {
                pool.set(name, behaviour(&random))
            }
            if Bool.random(using: &random) {
                let limit = Duration.milliseconds(Int.random(in: 0...1500, using: &random))
                let id = try pool.ask(
                    names.shuffled(using: &random),
                    host: "n\(step % 5).test",
                    order: Bool.random(using: &random) ? .given : .fastest,
                    secondOpinion: Bool.random(using: &random),
                    explores: Bool.random(using: &random),
                    limit: limit
                )
                open.append((id, pool.elapsed + limit))
                all.append((id, pool.elapsed + limit))
            }
            if Int.random(in: 0..<5, using: &random) == 0, let index = open.indices.randomElement(using: &random) {
                pool.leave(open.remove(at: index).id)
            }
            pool.jitter = .random(in: 0..<MemberHealth.jitterSteps, using: &random)
            pool.run(for: .milliseconds(Int.random(in: 0...60, using: &random)))
            let probed = pool.state.queries.values.filter { $0.isProbe && !$0.isEnded && $0.sentAt != nil }.map(
                \.member
            )
            #expect(Set(probed).count == probed.count)
        }
        pool.run(for: .seconds(5))
        for (id, deadline) in all {
            let at = try #require(pool.endings[id]?.at)
            #expect(at <= deadline)
        }
        #expect(pool.state.asks.isEmpty)
        #expect(pool.state.queries.isEmpty)
        #expect(pool.state.members.allSatisfy { $0.report(at: pool.now).queued == 0 && $0.inFlight == 0 })
        #expect(pool.peakInFlight["a"] ?? 0 <= 2)
        #expect(pool.peakInFlight["b"] ?? 0 <= 1)
        #expect(
            pool.sent.count == pool.reports.filter { $0.outcome != .failed(.overBudget) }.count
        )
    }
}

/// A random number generator that a seed repeats.
struct SplitMix: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}

extension HTTPDNSProviderError {
    fileprivate static let overBudget = HTTPDNSProviderError(
        code: .rateLimited,
        message: "over its budget of 20 queries a second"
    )
}
