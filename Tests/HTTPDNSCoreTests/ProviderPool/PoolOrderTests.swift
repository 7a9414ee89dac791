// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSTesting
import Testing

@testable import HTTPDNSCore

struct PoolOrderTests {
    private typealias Simulation = PoolSimulation

    @Test("Healthy providers keep the given order, before suspects and due probes")
    func givenOrder() throws {
        var pool = PoolSimulation([
            ("failed", Simulation.failing()), ("silent", Simulation.blackHole),
            ("fine", Simulation.failing(.serverFailure)),
        ])
        try pool.ask(["failed"])
        pool.run(for: .milliseconds(1500))
        #expect(pool.standing("failed") == .probeDue)
        try pool.ask(["silent"])
        pool.run(for: .milliseconds(60))
        #expect(pool.standing("silent") == .suspect)
        let before = pool.sent.count
        try pool.ask(["failed", "silent", "fine"])
        pool.run(for: .milliseconds(10))
        // The one that is due is tried beside the first, which fails at once, and is not asked twice.
        #expect(pool.sent.dropFirst(before).map(\.provider) == ["fine", "failed", "silent"])
    }

    @Test("With order fastest the lowest latency is first, and unknown ones last")
    func fastest() throws {
        var pool = PoolSimulation([
            ("slow", Simulation.answering(after: .milliseconds(40))),
            ("quick", Simulation.answering(after: .milliseconds(5))),
            ("unknown", Simulation.answering(after: .milliseconds(1))),
        ])
        for name in ["slow", "quick"] { try pool.ask([name]) }
        pool.run(for: .seconds(1))
        let id = try pool.ask(["unknown", "slow", "quick"], order: .fastest)
        let given = try pool.ask(["slow", "quick"], order: .given)
        pool.run(for: .seconds(1))
        #expect(pool.text(id).hasPrefix("quick"))
        #expect(pool.text(given).hasPrefix("slow"))
    }

    @Test("Chance tries a provider whose latency is unknown or a minute old")
    func explores() throws {
        var pool = PoolSimulation([
            ("known", Simulation.answering(after: .milliseconds(5))),
            ("unknown", Simulation.answering(after: .milliseconds(1))),
        ])
        try pool.ask(["known"])
        pool.run(for: .milliseconds(10))
        let tried = try pool.ask(order: .fastest, explores: true)
        pool.run(for: .milliseconds(10))
        #expect(pool.text(tried).hasPrefix("unknown"))
        let nothingToExplore = try pool.ask(order: .fastest, explores: true)
        pool.run(for: .milliseconds(10))
        #expect(pool.text(nothingToExplore).hasPrefix("unknown"))
        let given = try pool.ask(order: .given, explores: true)
        pool.run(for: .seconds(61))
        #expect(pool.text(given).hasPrefix("known"))
        try pool.ask(["unknown"])
        pool.run(for: .milliseconds(10))
        let old = try pool.ask(order: .fastest, explores: true)
        pool.run(for: .milliseconds(10))
        #expect(pool.text(old).hasPrefix("known"))
    }

    @Test("When all providers rest, only the one whose rest ends first is asked")
    func lastResort() throws {
        var pool = PoolSimulation([("a", Simulation.failing()), ("b", Simulation.failing())])
        try pool.ask(["b"])
        pool.run(for: .milliseconds(500))
        try pool.ask(["a"])
        pool.run(for: .milliseconds(100))
        #expect(!pool.state.mayAsk(["a", "b"], at: pool.now))
        let id = try pool.ask()
        pool.run(for: .milliseconds(1))
        #expect(pool.sent.last?.provider == "b")
        #expect(
            pool.text(id)
                == "failed at 600 ms: b: 503 in 0 ms; a: not asked: in quarantine for another 900 ms (503) in 0 ms"
        )
        pool.set("a", Simulation.answering(after: .zero))
        let hoped = try pool.ask()
        pool.run(for: .milliseconds(1))
        #expect(pool.text(hoped).hasPrefix("a at"))
        #expect(pool.standing("a") == .healthy)
        #expect(pool.state.mayAsk(["a", "b"], at: pool.now))
    }

    /// The failure says when to ask again.
    @Test("A provider that asked for a rest is not asked even as the last resort")
    func wishedRest() throws {
        var pool = PoolSimulation([("a", Simulation.failing(.rateLimited, retryAfter: .seconds(40)))])
        try pool.ask()
        pool.run(for: .seconds(10))
        let id = try pool.ask()
        pool.run(for: .seconds(1))
        #expect(pool.text(id) == "failed at 10 s: a: not asked: it wants no queries for another 30 s (503) in 0 ms")
        guard case .outcome(.failed(_, _, let retryAfter)) = pool.endings[id]?.ending else {
            Issue.record("it did not fail")
            return
        }
        #expect(retryAfter == pool.now + .seconds(29))
        pool.set("a", Simulation.answering(after: .zero))
        pool.run(for: .seconds(29))
        #expect(pool.state.mayAsk(["a"], at: pool.now))
        let back = try pool.ask()
        pool.run(for: .seconds(1))
        #expect(pool.text(back).hasPrefix("a at 40 s: addresses"))
    }

    /// At most one probe is in progress.
    @Test("A probe is a copy, and the caller gets the healthy provider's answer")
    func probes() throws {
        var pool = PoolSimulation([
            ("sick", Simulation.failing()), ("well", Simulation.answering(after: .milliseconds(10))),
        ])
        try pool.ask()
        pool.run(for: .milliseconds(1200))
        pool.set("sick", Simulation.answering(after: .milliseconds(200)))
        let asks = try (0..<5).map { _ in try pool.ask() }
        pool.run(for: .milliseconds(20))
        #expect(asks.allSatisfy { pool.text($0) == "well at 1.2 s: addresses" })
        #expect(pool.sent.filter { $0.provider == "sick" && $0.isProbe }.count == 1)
        #expect(pool.sentTo("sick") == 2)
        pool.run(for: .milliseconds(200))
        #expect(pool.standing("sick") == .healthy)
        let id = try pool.ask()
        pool.run(for: .seconds(1))
        #expect(pool.text(id).hasPrefix("well at 1.5 s"), "200 ms are more than the hedge delay")
        #expect(pool.sentTo("sick") == 3)
    }

    @Test("A probe counts as the lookup's own query when all others fail")
    func probeSaves() throws {
        var pool = PoolSimulation([
            ("back", Simulation.failing()), ("gone", Simulation.answering(after: .zero)),
        ])
        try pool.ask()
        pool.run(for: .milliseconds(1200))
        pool.set("back", Simulation.answering(after: .milliseconds(30)))
        pool.set("gone", Simulation.failing(after: .milliseconds(10)))
        let id = try pool.ask()
        pool.run(for: .milliseconds(100))
        #expect(pool.text(id) == "back at 1.2 s: addresses")
        #expect(pool.failedAttempts(id) == ["gone: 503 in 10 ms"])
        #expect(pool.sentTo("back") == 2)
    }

    @Test("A canceled lookup ends its queries, and proves nothing about the provider")
    func cancels() throws {
        var pool = PoolSimulation([("a", Simulation.blackHole), ("b", Simulation.blackHole)])
        let id = try pool.ask()
        pool.run(for: .milliseconds(60))
        pool.leave(id)
        #expect(pool.text(id) == "canceled at 60 ms")
        pool.run(for: .seconds(3))
        #expect(pool.state.queries.isEmpty)
        #expect(pool.state.members.allSatisfy { $0.inFlight == 0 && $0.failures == 0 })
        #expect([pool.standing("a"), pool.standing("b")] == [.healthy, .healthy])
        #expect(pool.reports.map(\.outcome) == [.canceled, .canceled])
    }
}
