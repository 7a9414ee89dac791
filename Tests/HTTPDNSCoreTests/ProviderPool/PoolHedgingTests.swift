// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSTesting
import Testing

@testable import HTTPDNSCore

struct PoolHedgingTests {
    private typealias Simulation = PoolSimulation

    @Test("One healthy provider is queried alone")
    func alone() throws {
        var pool = PoolSimulation([
            ("ali", Simulation.answering(after: .milliseconds(20))), ("backup", Simulation.answering(after: .zero)),
        ])
        let id = try pool.ask()
        pool.run(for: .seconds(5))
        #expect(pool.text(id) == "ali at 20 ms: addresses")
        #expect(pool.sent.map(\.provider) == ["ali"])
        #expect(pool.state.queries.isEmpty)
        #expect(pool.state.asks.isEmpty)
    }

    /// The late answer still counts for the latency.
    @Test("The next provider is asked when the first is late, and the first answer wins")
    func hedges() throws {
        var pool = PoolSimulation([
            ("slow", Simulation.answering(after: .milliseconds(400))),
            ("quick", Simulation.answering(after: .milliseconds(10))),
        ])
        let id = try pool.ask()
        pool.run(for: .milliseconds(60))
        #expect(pool.text(id) == "quick at 60 ms: addresses")
        #expect(pool.sent.map(\.at) == [.zero, .milliseconds(50)])
        #expect(pool.failedAttempts(id).isEmpty)
        pool.run(for: .milliseconds(340))
        #expect(pool.state.members[0].health.latency.mean == .milliseconds(400))
        #expect(pool.reports.map(\.isHedge) == [true, false])
        #expect(pool.reports.map(\.isLate) == [false, true])
    }

    @Test("Of a burst to a slow provider ten lookups are hedged, then one in ten")
    func hedgeBudget() throws {
        let limits = HTTPDNSResolver.Configuration.ProviderLimits(maximumInFlight: 1000)
        var pool = PoolSimulation(
            [
                ("slow", Simulation.answering(after: .milliseconds(60))),
                ("quick", Simulation.answering(after: .milliseconds(10))),
            ],
            limits: ["slow": limits, "quick": limits]
        )
        for number in 0..<200 { _ = try pool.ask(host: "n\(number).test") }
        pool.run(for: .seconds(1))
        #expect(pool.sent.count { $0.provider == "quick" } == 10)
        pool.set("slow", Simulation.answering(after: .milliseconds(150)))
        for number in 0..<30 { _ = try pool.ask(host: "m\(number).test") }
        pool.run(for: .seconds(1))
        #expect(pool.sent.count { $0.provider == "quick" } == 13)
    }

    @Test("After four hedge delays of silence a lookup is hedged outside of the budget")
    func hedgesAwayFromDead() throws {
        var pool = PoolSimulation([
            ("dead", Simulation.blackHole), ("quick", Simulation.answering(after: .milliseconds(10))),
        ])
        let ids = try (0..<100).map { try pool.ask(host: "n\($0).test") }
        pool.run(for: .milliseconds(300))
        for id in ids { #expect(["quick at 60 ms: addresses", "quick at 210 ms: addresses"].contains(pool.text(id))) }
    }

    /// The failure is kept in the answer.
    @Test("After a failure the next provider is asked immediately")
    func goesOn() throws {
        var pool = PoolSimulation([
            ("ali", Simulation.failing(after: .milliseconds(12))),
            ("backup", Simulation.answering(after: .milliseconds(8))),
        ])
        let id = try pool.ask()
        pool.run(for: .seconds(1))
        #expect(pool.text(id) == "backup at 20 ms: addresses")
        #expect(pool.failedAttempts(id) == ["ali: 503 in 12 ms"])
    }

    /// The second is within its own hedge delay.
    @Test("A late failure of the first provider does not start the third too early")
    func failsLate() throws {
        var pool = PoolSimulation([
            ("a", Simulation.failing(after: .milliseconds(55))), ("b", Simulation.answering(after: .milliseconds(15))),
            ("c", Simulation.answering(after: .zero)),
        ])
        let id = try pool.ask()
        pool.run(for: .seconds(1))
        #expect(pool.text(id) == "b at 65 ms: addresses")
        #expect(pool.sentTo("c") == 0)
    }

    @Test(
        "A transient failure is never an answer",
        arguments: [
            HTTPDNSProviderError.Code.timedOut, .unreachable, .httpStatus, .badResponse, .serverFailure, .refused,
            .rateLimited,
            .shutDown,
        ]
    )
    func transient(_ code: HTTPDNSProviderError.Code) throws {
        var pool = PoolSimulation([
            ("ali", Simulation.failing(code)), ("backup", Simulation.negative(after: .milliseconds(1))),
        ])
        let id = try pool.ask()
        pool.run(for: .seconds(1))
        #expect(pool.text(id) == "backup at 1 ms: nothing")
    }

    /// Not past the limit of an attempt.
    @Test("A hedge waits for the provider's 95th percentile when that is longer")
    func percentile() throws {
        var pool = PoolSimulation([
            ("far", Simulation.answering(after: .milliseconds(200))), ("other", Simulation.blackHole),
        ])
        for _ in 0..<5 {
            try pool.ask()
            pool.run(for: .seconds(2))
        }
        let hedges = pool.sentTo("other")
        #expect(hedges > 0)
        try pool.ask(["far", "other"])
        pool.run(for: .seconds(2))
        #expect(pool.sentTo("other") == hedges)
        let delay = pool.state.members[0].health.hedgeDelay
        #expect(delay >= .milliseconds(200) && delay <= .milliseconds(250))

        var slow = PoolSimulation(
            [("slow", Simulation.answering(after: .milliseconds(90)))],
            attemptLimit: .milliseconds(95)
        )
        for _ in 0..<8 {
            try slow.ask()
            slow.run(for: .seconds(1))
        }
        #expect(slow.state.members[0].health.hedgeDelay == .milliseconds(95))
    }

    @Test("One healthy provider among four dead ones costs two hedge delays, once")
    func manyDead() throws {
        let dead = ["a", "b", "c", "d"].map { ($0, Simulation.blackHole) }
        var pool = PoolSimulation(dead + [("alive", Simulation.answering(after: .milliseconds(10)))])
        let first = try pool.ask()
        // Asked while the first still waits: it sees who is silent, and does not begin with those.
        pool.run(for: .milliseconds(120))
        let second = try pool.ask()
        #expect(pool.sent.prefix(5).map(\.at) == [0, 50_000, 75_000, 87_500, 97_500].map { .microseconds($0) })
        pool.run(for: .milliseconds(300))
        #expect(pool.text(first) == "alive at 108 ms: addresses")
        #expect(pool.text(second) == "alive at 180 ms: addresses")
        pool.run(for: .milliseconds(300))
        for _ in 0..<50 {
            let started = pool.elapsed
            let id = try pool.ask()
            pool.run(for: .milliseconds(20))
            #expect(pool.text(id) == "alive at \((started + .milliseconds(10)).shortText): addresses")
        }
    }

    @Test("A black-holed provider is asked by the first lookup and by probes only")
    func blackHoledFirst() throws {
        var pool = PoolSimulation([
            ("dead", Simulation.blackHole), ("alive", Simulation.answering(after: .milliseconds(10))),
        ])
        let first = try pool.ask()
        pool.run(for: .milliseconds(100))
        #expect(pool.text(first) == "alive at 60 ms: addresses")
        for _ in 0..<100 {
            let id = try pool.ask()
            pool.run(for: .milliseconds(100))
            #expect(pool.text(id).hasPrefix("alive"))
        }
        // Silent until 1 s, then 1 s of quarantine; tried at 2, 5 and 10 s, each time for 1 s, and left alone for twice as
        // long.
        let asked = pool.sent.filter { $0.provider == "dead" }
        #expect(asked.map(\.at) == [.zero, .milliseconds(2000), .milliseconds(5000), .milliseconds(10000)])
        #expect(asked.map(\.isProbe) == [false, true, true, true])
        #expect(pool.sentTo("alive") == 101)
    }

    /// The error names the providers that were silent or not asked.
    @Test("One deadline bounds every attempt of a lookup")
    func deadline() throws {
        var pool = PoolSimulation([
            ("a", Simulation.blackHole), ("b", Simulation.blackHole), ("c", Simulation.blackHole),
        ])
        let id = try pool.ask(limit: .milliseconds(120))
        pool.run(for: .seconds(2))
        #expect(
            pool.text(id)
                == "failed at 120 ms, timed out: a: no answer in 120 ms; b: no answer in 70 ms; c: no answer in 45 ms"
        )
        #expect(pool.sent.map(\.limit) == [.milliseconds(120), .milliseconds(70), .milliseconds(45)])
        // 45 ms are less than any provider is given before it is even hedged: no proof of anything.
        #expect(pool.standing("c") == .healthy)
        #expect(pool.standing("a") == .probeDue)
        let late = try pool.ask(limit: .zero)
        #expect(pool.text(late).hasPrefix("failed at 2 s, timed out: a: not asked: no time was left in 0 ms"))
    }

    /// No provider is awaited any longer.
    @Test("When all providers fail before the deadline, the lookup is not a time-out")
    func allFail() throws {
        var pool = PoolSimulation([("a", Simulation.failing()), ("b", Simulation.blackHole)])
        let id = try pool.ask()
        pool.run(for: .seconds(3))
        #expect(pool.text(id) == "failed at 1 s: a: 503 in 0 ms; b: no answer in 1 s")
    }

    @Test("With a second opinion addresses win over \"no such name\", in any order")
    func secondOpinion() throws {
        for order in [["liar", "honest"], ["honest", "liar"]] {
            var pool = PoolSimulation([
                ("liar", Simulation.negative(after: .milliseconds(5))),
                ("honest", Simulation.answering(after: .milliseconds(20))),
            ])
            let id = try pool.ask(order, secondOpinion: true)
            pool.run(for: .seconds(1))
            #expect(pool.text(id) == "honest at \(order[0] == "liar" ? 25 : 20) ms: addresses")
        }
    }

    /// And at the deadline.
    @Test("A negative answer stands once all others are negative or failed")
    func negativeStands() throws {
        var pool = PoolSimulation([
            ("a", Simulation.negative(after: .milliseconds(5))), ("b", Simulation.failing(after: .milliseconds(5))),
            ("c", Simulation.negative(after: .milliseconds(5))),
        ])
        let id = try pool.ask(secondOpinion: true)
        pool.run(for: .seconds(1))
        #expect(pool.text(id) == "a at 15 ms: nothing")
        #expect(pool.failedAttempts(id) == ["b: 503 in 5 ms"])

        var silent = PoolSimulation([
            ("a", Simulation.negative(after: .milliseconds(5))), ("b", Simulation.blackHole),
        ])
        let short = try silent.ask(secondOpinion: true, limit: .milliseconds(300))
        silent.run(for: .seconds(1))
        #expect(silent.text(short) == "a at 300 ms: nothing")
        #expect(silent.failedAttempts(short) == ["b: no answer in 295 ms"])
    }

    @Test("The opinion of a quarantined provider delays a denial by the hedge delay at most")
    func doubtfulOpinion() throws {
        var pool = PoolSimulation([
            ("a", Simulation.negative(after: .milliseconds(5))), ("b", Simulation.failing()),
        ])
        try pool.ask(["b"])
        pool.run(for: .milliseconds(10))
        #expect(pool.standing("b") == .quarantined)
        pool.set("b", Simulation.answering(after: .milliseconds(20)))
        let heard = try pool.ask(secondOpinion: true)
        pool.run(for: .milliseconds(100))
        #expect(pool.text(heard) == "b at 35 ms: addresses")

        pool.set("b", Simulation.failing())
        try pool.ask(["b"])
        pool.run(for: .milliseconds(10))
        pool.set("b", Simulation.blackHole)
        let unheard = try pool.ask(secondOpinion: true)
        pool.run(for: .milliseconds(100))
        #expect(pool.text(unheard) == "a at 175 ms: nothing")
    }

    @Test("Without a second opinion a trusted provider's negative answer is final")
    func oneOpinion() throws {
        var pool = PoolSimulation([
            ("a", Simulation.answering(after: .milliseconds(5))), ("b", Simulation.answering(after: .zero)),
        ])
        try pool.ask(host: "known.test")
        pool.run(for: .milliseconds(5))
        pool.set("a", Simulation.negative(after: .milliseconds(5)))
        let id = try pool.ask()
        pool.run(for: .seconds(1))
        #expect(pool.text(id) == "a at 10 ms: nothing")
        #expect(pool.sentTo("b") == 0)
    }
}
