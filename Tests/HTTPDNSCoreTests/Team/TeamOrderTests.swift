// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import HTTPDNSTesting
import Testing

@testable import HTTPDNSCore

@Suite("Order of a pool's providers")
struct TeamOrderTests {
    private typealias Simulation = TeamSimulation

    @Test("Healthy providers keep the given order, before suspects and due probes")
    func givenOrder() throws {
        var team = TeamSimulation([
            ("failed", Simulation.failing()), ("silent", Simulation.blackHole),
            ("fine", Simulation.failing(.serverFailure)),
        ])
        try team.ask(["failed"])
        team.run(for: .milliseconds(1500))
        #expect(team.standing("failed") == .probeDue)
        try team.ask(["silent"])
        team.run(for: .milliseconds(60))
        #expect(team.standing("silent") == .suspect)
        let before = team.sent.count
        try team.ask(["failed", "silent", "fine"])
        team.run(for: .milliseconds(10))
        // The one that is due is tried beside the first, which fails at once, and is not asked twice.
        #expect(team.sent.dropFirst(before).map(\.provider) == ["fine", "failed", "silent"])
    }

    @Test("With order fastest the lowest latency is first, and unknown ones last")
    func fastest() throws {
        var team = TeamSimulation([
            ("slow", Simulation.answering(after: .milliseconds(40))),
            ("quick", Simulation.answering(after: .milliseconds(5))),
            ("unknown", Simulation.answering(after: .milliseconds(1))),
        ])
        for name in ["slow", "quick"] { try team.ask([name]) }
        team.run(for: .seconds(1))
        let id = try team.ask(["unknown", "slow", "quick"], order: .fastest)
        let given = try team.ask(["slow", "quick"], order: .given)
        team.run(for: .seconds(1))
        #expect(team.text(id).hasPrefix("quick"))
        #expect(team.text(given).hasPrefix("slow"))
    }

    @Test("Chance tries a provider whose latency is unknown or a minute old")
    func explores() throws {
        var team = TeamSimulation([
            ("known", Simulation.answering(after: .milliseconds(5))),
            ("unknown", Simulation.answering(after: .milliseconds(1))),
        ])
        try team.ask(["known"])
        team.run(for: .milliseconds(10))
        let tried = try team.ask(order: .fastest, explores: true)
        team.run(for: .milliseconds(10))
        #expect(team.text(tried).hasPrefix("unknown"))
        let nothingToExplore = try team.ask(order: .fastest, explores: true)
        team.run(for: .milliseconds(10))
        #expect(team.text(nothingToExplore).hasPrefix("unknown"))
        let given = try team.ask(order: .given, explores: true)
        team.run(for: .seconds(61))
        #expect(team.text(given).hasPrefix("known"))
        try team.ask(["unknown"])
        team.run(for: .milliseconds(10))
        let old = try team.ask(order: .fastest, explores: true)
        team.run(for: .milliseconds(10))
        #expect(team.text(old).hasPrefix("known"))
    }

    @Test("When all providers rest, only the one whose rest ends first is asked")
    func lastResort() throws {
        var team = TeamSimulation([("a", Simulation.failing()), ("b", Simulation.failing())])
        try team.ask(["b"])
        team.run(for: .milliseconds(500))
        try team.ask(["a"])
        team.run(for: .milliseconds(100))
        #expect(!team.state.mayAsk(["a", "b"], at: team.now))
        let id = try team.ask()
        team.run(for: .milliseconds(1))
        #expect(team.sent.last?.provider == "b")
        #expect(
            team.text(id)
                == "failed at 600 ms: b: 503 in 0 ms; a: not asked: in quarantine for another 900 ms (503) in 0 ms"
        )
        team.set("a", Simulation.answering(after: .zero))
        let hoped = try team.ask()
        team.run(for: .milliseconds(1))
        #expect(team.text(hoped).hasPrefix("a at"))
        #expect(team.standing("a") == .healthy)
        #expect(team.state.mayAsk(["a", "b"], at: team.now))
    }

    /// The failure says when to ask again.
    @Test("A provider that asked for a rest is not asked even as the last resort")
    func wishedRest() throws {
        var team = TeamSimulation([("a", Simulation.failing(.rateLimited, retryAfter: .seconds(40)))])
        try team.ask()
        team.run(for: .seconds(10))
        let id = try team.ask()
        team.run(for: .seconds(1))
        #expect(team.text(id) == "failed at 10 s: a: not asked: it wants no queries for another 30 s (503) in 0 ms")
        guard case .outcome(.failed(_, _, let retryAfter)) = team.endings[id]?.ending else {
            Issue.record("it did not fail")
            return
        }
        #expect(retryAfter == team.now + .seconds(29))
        team.set("a", Simulation.answering(after: .zero))
        team.run(for: .seconds(29))
        #expect(team.state.mayAsk(["a"], at: team.now))
        let back = try team.ask()
        team.run(for: .seconds(1))
        #expect(team.text(back).hasPrefix("a at 40 s: addresses"))
    }

    /// At most one probe is in progress.
    @Test("A probe is a copy, and the caller gets the healthy provider's answer")
    func probes() throws {
        var team = TeamSimulation([
            ("sick", Simulation.failing()), ("well", Simulation.answering(after: .milliseconds(10))),
        ])
        try team.ask()
        team.run(for: .milliseconds(1200))
        team.set("sick", Simulation.answering(after: .milliseconds(200)))
        let asks = try (0..<5).map { _ in try team.ask() }
        team.run(for: .milliseconds(20))
        #expect(asks.allSatisfy { team.text($0) == "well at 1.2 s: addresses" })
        #expect(team.sent.filter { $0.provider == "sick" && $0.isProbe }.count == 1)
        #expect(team.sentTo("sick") == 2)
        team.run(for: .milliseconds(200))
        #expect(team.standing("sick") == .healthy)
        let id = try team.ask()
        team.run(for: .seconds(1))
        #expect(team.text(id).hasPrefix("well at 1.5 s"), "200 ms are more than the hedge delay")
        #expect(team.sentTo("sick") == 3)
    }

    @Test("A probe counts as the lookup's own query when all others fail")
    func probeSaves() throws {
        var team = TeamSimulation([
            ("back", Simulation.failing()), ("gone", Simulation.answering(after: .zero)),
        ])
        try team.ask()
        team.run(for: .milliseconds(1200))
        team.set("back", Simulation.answering(after: .milliseconds(30)))
        team.set("gone", Simulation.failing(after: .milliseconds(10)))
        let id = try team.ask()
        team.run(for: .milliseconds(100))
        #expect(team.text(id) == "back at 1.2 s: addresses")
        #expect(team.failedAttempts(id) == ["gone: 503 in 10 ms"])
        #expect(team.sentTo("back") == 2)
    }

    @Test("A canceled lookup ends its queries, and proves nothing about the provider")
    func cancels() throws {
        var team = TeamSimulation([("a", Simulation.blackHole), ("b", Simulation.blackHole)])
        let id = try team.ask()
        team.run(for: .milliseconds(60))
        team.leave(id)
        #expect(team.text(id) == "canceled at 60 ms")
        team.run(for: .seconds(3))
        #expect(team.state.queries.isEmpty)
        #expect(team.state.members.allSatisfy { $0.inFlight == 0 && $0.failures == 0 })
        #expect([team.standing("a"), team.standing("b")] == [.healthy, .healthy])
        #expect(team.reports.map(\.outcome) == [.canceled, .canceled])
    }
}
