// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import HTTPDNSCore

struct NegativeAnswerTrustTests {
    private typealias Simulation = PoolSimulation

    private func host(_ number: Int) throws -> HTTPDNSName { try HTTPDNSName("n\(number).test") }

    @Test("No trust is earned before the first answer or by an unconfirmed one")
    func start() throws {
        var trust = NegativeAnswerTrust()
        #expect(!trust.isEarned && !trust.isContradicted)
        for number in 0..<30 { trust.note(try host(number), .unconfirmed) }
        #expect(!trust.isEarned)
    }

    @Test(
        "Addresses, or a confirmed absence, earn trust for the next 19 names",
        arguments: [NegativeAnswerTrust.Evidence.positive, .confirmed]
    )
    func window(evidence: NegativeAnswerTrust.Evidence) throws {
        var trust = NegativeAnswerTrust()
        trust.note(try host(0), evidence)
        for number in 1...19 {
            trust.note(try host(number), .unconfirmed)
            #expect(trust.isEarned, "after \(number) names")
        }
        trust.note(try host(20), .unconfirmed)
        #expect(!trust.isEarned)
    }

    /// A repeated denial renews no confirmation.
    @Test("A name counts once, by its newest answer")
    func names() throws {
        var trust = NegativeAnswerTrust()
        trust.note(try host(0), .positive)
        trust.note(try host(0), .unconfirmed)
        #expect(!trust.isEarned)
        trust.note(try host(1), .confirmed)
        for number in 2...20 {
            trust.note(try host(1), .unconfirmed)
            trust.note(try host(number), .unconfirmed)
        }
        #expect(trust.isEarned)
        trust.note(try host(21), .unconfirmed)
        #expect(!trust.isEarned)
    }

    @Test("Lookups wait for the one that asks another provider, and share its outcome")
    func held() throws {
        var pool = Simulation([
            ("first", Simulation.negative(after: .milliseconds(5))),
            ("second", Simulation.negative(after: .milliseconds(20))),
        ])
        let ids = try (0..<10).map { try pool.ask(host: "n\($0).test") }
        pool.run(for: .milliseconds(25))
        for id in ids { #expect(pool.text(id) == "first at 25 ms: nothing") }
        #expect(pool.sentTo("second") == 1)
    }

    @Test("When the other provider has addresses, every waiting lookup asks it")
    func contradicted() throws {
        var pool = Simulation([
            ("liar", Simulation.negative(after: .milliseconds(5))),
            ("honest", Simulation.answering(after: .milliseconds(20))),
        ])
        let ids = try (0..<10).map { try pool.ask(host: "n\($0).test") }
        pool.run(for: .milliseconds(45))
        #expect(pool.text(ids[0]) == "honest at 25 ms: addresses")
        for id in ids.dropFirst() { #expect(pool.text(id) == "honest at 45 ms: addresses") }
        // Known to be wrong, it is not waited for again.
        let later = try pool.ask(host: "later.test")
        pool.run(for: .milliseconds(25))
        #expect(pool.text(later) == "honest at 70 ms: addresses")
    }

    @Test("A lookup waits for another one no longer than the hedge delay")
    func impatient() throws {
        var pool = Simulation([
            ("first", Simulation.negative(after: .milliseconds(5))), ("second", Simulation.blackHole),
        ])
        let ids = try (0..<2).map { try pool.ask(host: "n\($0).test") }
        pool.run(for: .milliseconds(60))
        #expect(pool.sentTo("second") == 2)
        pool.run(for: .seconds(2))
        for id in ids { #expect(pool.text(id).hasPrefix("first at")) }
    }

    @Test("A provider in quarantine is not asked to confirm a healthy one")
    func resting() throws {
        var pool = Simulation([
            ("first", Simulation.negative(after: .milliseconds(5))), ("second", Simulation.failing()),
        ])
        try pool.ask(["second"])
        pool.run(for: .milliseconds(10))
        let id = try pool.ask()
        pool.run(for: .milliseconds(10))
        #expect(pool.text(id) == "first at 15 ms: nothing" && pool.sentTo("second") == 1)
    }

    @Test("Canceling a lookup that waits for another one leaves that one alone")
    func givenUp() throws {
        var pool = Simulation([
            ("first", Simulation.negative(after: .milliseconds(5))),
            ("second", Simulation.negative(after: .milliseconds(20))),
        ])
        let ids = try (0..<2).map { try pool.ask(host: "n\($0).test") }
        pool.run(for: .milliseconds(10))
        pool.leave(ids[1])
        #expect(pool.text(ids[1]) == "canceled at 10 ms")
        pool.run(for: .milliseconds(50))
        #expect(pool.text(ids[0]) == "first at 25 ms: nothing")
    }
}
