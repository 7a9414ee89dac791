// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import HTTPDNSTesting
import Testing

@testable import HTTPDNSCore

@Suite("Hedges, deadlines and second opinions of a pool")
struct TeamHedgingTests {
    private typealias Simulation = TeamSimulation

    @Test("One healthy provider is queried alone")
    func alone() throws {
        var team = TeamSimulation([
            ("ali", Simulation.answering(after: .milliseconds(20))), ("backup", Simulation.answering(after: .zero)),
        ])
        let id = try team.ask()
        team.run(for: .seconds(5))
        #expect(team.text(id) == "ali at 20 ms: addresses")
        #expect(team.sent.map(\.provider) == ["ali"])
        #expect(team.state.queries.isEmpty)
        #expect(team.state.asks.isEmpty)
    }

    /// The late answer still counts for the latency.
    @Test("The next provider is asked when the first is late, and the first answer wins")
    func hedges() throws {
        var team = TeamSimulation([
            ("slow", Simulation.answering(after: .milliseconds(400))),
            ("quick", Simulation.answering(after: .milliseconds(10))),
        ])
        let id = try team.ask()
        team.run(for: .milliseconds(60))
        #expect(team.text(id) == "quick at 60 ms: addresses")
        #expect(team.sent.map(\.at) == [.zero, .milliseconds(50)])
        #expect(team.failedAttempts(id).isEmpty)
        team.run(for: .milliseconds(340))
        #expect(team.state.members[0].health.latency.mean == .milliseconds(400))
        #expect(team.reports.map(\.isHedge) == [true, false])
        #expect(team.reports.map(\.isLate) == [false, true])
    }

    @Test("Of a burst to a slow provider ten lookups are hedged, then one in ten")
    func hedgeBudget() throws {
        let limits = HTTPDNSResolver.Configuration.ProviderLimits(maximumInFlight: 1000)
        var team = TeamSimulation(
            [
                ("slow", Simulation.answering(after: .milliseconds(60))),
                ("quick", Simulation.answering(after: .milliseconds(10))),
            ],
            limits: ["slow": limits, "quick": limits]
        )
        for number in 0..<200 { _ = try team.ask(host: "n\(number).test") }
        team.run(for: .seconds(1))
        #expect(team.sent.count { $0.provider == "quick" } == 10)
        team.set("slow", Simulation.answering(after: .milliseconds(150)))
        for number in 0..<30 { _ = try team.ask(host: "m\(number).test") }
        team.run(for: .seconds(1))
        #expect(team.sent.count { $0.provider == "quick" } == 13)
    }

    @Test("After four hedge delays of silence a lookup is hedged outside of the budget")
    func hedgesAwayFromDead() throws {
        var team = TeamSimulation([
            ("dead", Simulation.blackHole), ("quick", Simulation.answering(after: .milliseconds(10))),
        ])
        let ids = try (0..<100).map { try team.ask(host: "n\($0).test") }
        team.run(for: .milliseconds(300))
        for id in ids { #expect(["quick at 60 ms: addresses", "quick at 210 ms: addresses"].contains(team.text(id))) }
    }

    /// The failure is kept in the answer.
    @Test("After a failure the next provider is asked immediately")
    func goesOn() throws {
        var team = TeamSimulation([
            ("ali", Simulation.failing(after: .milliseconds(12))),
            ("backup", Simulation.answering(after: .milliseconds(8))),
        ])
        let id = try team.ask()
        team.run(for: .seconds(1))
        #expect(team.text(id) == "backup at 20 ms: addresses")
        #expect(team.failedAttempts(id) == ["ali: 503 in 12 ms"])
    }

    /// The second is within its own hedge delay.
    @Test("A late failure of the first provider does not start the third too early")
    func failsLate() throws {
        var team = TeamSimulation([
            ("a", Simulation.failing(after: .milliseconds(55))), ("b", Simulation.answering(after: .milliseconds(15))),
            ("c", Simulation.answering(after: .zero)),
        ])
        let id = try team.ask()
        team.run(for: .seconds(1))
        #expect(team.text(id) == "b at 65 ms: addresses")
        #expect(team.sentTo("c") == 0)
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
        var team = TeamSimulation([
            ("ali", Simulation.failing(code)), ("backup", Simulation.negative(after: .milliseconds(1))),
        ])
        let id = try team.ask()
        team.run(for: .seconds(1))
        #expect(team.text(id) == "backup at 1 ms: nothing")
    }

    /// Not past the limit of an attempt.
    @Test("A hedge waits for the provider's 95th percentile when that is longer")
    func percentile() throws {
        var team = TeamSimulation([
            ("far", Simulation.answering(after: .milliseconds(200))), ("other", Simulation.blackHole),
        ])
        for _ in 0..<5 {
            try team.ask()
            team.run(for: .seconds(2))
        }
        let hedges = team.sentTo("other")
        #expect(hedges > 0)
        try team.ask(["far", "other"])
        team.run(for: .seconds(2))
        #expect(team.sentTo("other") == hedges)
        let delay = team.state.members[0].health.hedgeDelay
        #expect(delay >= .milliseconds(200) && delay <= .milliseconds(250))

        var slow = TeamSimulation(
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
        var team = TeamSimulation(dead + [("alive", Simulation.answering(after: .milliseconds(10)))])
        let first = try team.ask()
        // Asked while the first still waits: it sees who is silent, and does not begin with those.
        team.run(for: .milliseconds(120))
        let second = try team.ask()
        #expect(team.sent.prefix(5).map(\.at) == [0, 50_000, 75_000, 87_500, 97_500].map { .microseconds($0) })
        team.run(for: .milliseconds(300))
        #expect(team.text(first) == "alive at 108 ms: addresses")
        #expect(team.text(second) == "alive at 180 ms: addresses")
        team.run(for: .milliseconds(300))
        for _ in 0..<50 {
            let started = team.elapsed
            let id = try team.ask()
            team.run(for: .milliseconds(20))
            #expect(team.text(id) == "alive at \((started + .milliseconds(10)).shortText): addresses")
        }
    }

    @Test("A black-holed provider is asked by the first lookup and by probes only")
    func blackHoledFirst() throws {
        var team = TeamSimulation([
            ("dead", Simulation.blackHole), ("alive", Simulation.answering(after: .milliseconds(10))),
        ])
        let first = try team.ask()
        team.run(for: .milliseconds(100))
        #expect(team.text(first) == "alive at 60 ms: addresses")
        for _ in 0..<100 {
            let id = try team.ask()
            team.run(for: .milliseconds(100))
            #expect(team.text(id).hasPrefix("alive"))
        }
        // Silent until 1 s, then 1 s of quarantine; tried at 2, 5 and 10 s, each time for 1 s, and left alone for twice as
        // long.
        let asked = team.sent.filter { $0.provider == "dead" }
        #expect(asked.map(\.at) == [.zero, .milliseconds(2000), .milliseconds(5000), .milliseconds(10000)])
        #expect(asked.map(\.isProbe) == [false, true, true, true])
        #expect(team.sentTo("alive") == 101)
    }

    /// The error names the providers that were silent or not asked.
    @Test("One deadline bounds every attempt of a lookup")
    func deadline() throws {
        var team = TeamSimulation([
            ("a", Simulation.blackHole), ("b", Simulation.blackHole), ("c", Simulation.blackHole),
        ])
        let id = try team.ask(limit: .milliseconds(120))
        team.run(for: .seconds(2))
        #expect(
            team.text(id)
                == "failed at 120 ms, timed out: a: no answer in 120 ms; b: no answer in 70 ms; c: no answer in 45 ms"
        )
        #expect(team.sent.map(\.limit) == [.milliseconds(120), .milliseconds(70), .milliseconds(45)])
        // 45 ms are less than any provider is given before it is even hedged: no proof of anything.
        #expect(team.standing("c") == .healthy)
        #expect(team.standing("a") == .probeDue)
        let late = try team.ask(limit: .zero)
        #expect(team.text(late).hasPrefix("failed at 2 s, timed out: a: not asked: no time was left in 0 ms"))
    }

    /// No provider is awaited any longer.
    @Test("When all providers fail before the deadline, the lookup is not a time-out")
    func allFail() throws {
        var team = TeamSimulation([("a", Simulation.failing()), ("b", Simulation.blackHole)])
        let id = try team.ask()
        team.run(for: .seconds(3))
        #expect(team.text(id) == "failed at 1 s: a: 503 in 0 ms; b: no answer in 1 s")
    }

    @Test("With a second opinion addresses win over \"no such name\", in any order")
    func secondOpinion() throws {
        for order in [["liar", "honest"], ["honest", "liar"]] {
            var team = TeamSimulation([
                ("liar", Simulation.negative(after: .milliseconds(5))),
                ("honest", Simulation.answering(after: .milliseconds(20))),
            ])
            let id = try team.ask(order, secondOpinion: true)
            team.run(for: .seconds(1))
            #expect(team.text(id) == "honest at \(order[0] == "liar" ? 25 : 20) ms: addresses")
        }
    }

    /// And at the deadline.
    @Test("A negative answer stands once all others are negative or failed")
    func negativeStands() throws {
        var team = TeamSimulation([
            ("a", Simulation.negative(after: .milliseconds(5))), ("b", Simulation.failing(after: .milliseconds(5))),
            ("c", Simulation.negative(after: .milliseconds(5))),
        ])
        let id = try team.ask(secondOpinion: true)
        team.run(for: .seconds(1))
        #expect(team.text(id) == "a at 15 ms: nothing")
        #expect(team.failedAttempts(id) == ["b: 503 in 5 ms"])

        var silent = TeamSimulation([
            ("a", Simulation.negative(after: .milliseconds(5))), ("b", Simulation.blackHole),
        ])
        let short = try silent.ask(secondOpinion: true, limit: .milliseconds(300))
        silent.run(for: .seconds(1))
        #expect(silent.text(short) == "a at 300 ms: nothing")
        #expect(silent.failedAttempts(short) == ["b: no answer in 295 ms"])
    }

    @Test("The opinion of a quarantined provider delays a denial by the hedge delay at most")
    func doubtfulOpinion() throws {
        var team = TeamSimulation([
            ("a", Simulation.negative(after: .milliseconds(5))), ("b", Simulation.failing()),
        ])
        try team.ask(["b"])
        team.run(for: .milliseconds(10))
        #expect(team.standing("b") == .quarantined)
        team.set("b", Simulation.answering(after: .milliseconds(20)))
        let heard = try team.ask(secondOpinion: true)
        team.run(for: .milliseconds(100))
        #expect(team.text(heard) == "b at 35 ms: addresses")

        team.set("b", Simulation.failing())
        try team.ask(["b"])
        team.run(for: .milliseconds(10))
        team.set("b", Simulation.blackHole)
        let unheard = try team.ask(secondOpinion: true)
        team.run(for: .milliseconds(100))
        #expect(team.text(unheard) == "a at 175 ms: nothing")
    }

    @Test("Without a second opinion a trusted provider's negative answer is final")
    func oneOpinion() throws {
        var team = TeamSimulation([
            ("a", Simulation.answering(after: .milliseconds(5))), ("b", Simulation.answering(after: .zero)),
        ])
        try team.ask(host: "known.test")
        team.run(for: .milliseconds(5))
        team.set("a", Simulation.negative(after: .milliseconds(5)))
        let id = try team.ask()
        team.run(for: .seconds(1))
        #expect(team.text(id) == "a at 10 ms: nothing")
        #expect(team.sentTo("b") == 0)
    }
}
