// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import HTTPDNSTesting
import Testing

@testable import HTTPDNSCore

@Suite("A pool asked about many names", .timeLimit(.minutes(10)))
struct TeamBatchTests {
    private func hosts(_ count: Int) throws -> [HTTPDNSName] {
        try (0..<count).map { try HTTPDNSName("n\($0).test") }
    }

    /// Each name has its own outcome.
    @Test("Names go in batches of the provider's size, each name once")
    func batches() async throws {
        let fixture = TeamFixture(["ali"], batchLimit: 4)
        let hosts = try hosts(10)
        for host in hosts.dropFirst() { fixture.providers[0].answer(.known, for: host) }
        let outcomes = await fixture.team.ask(try fixture.assignment(), batch: hosts + hosts)
        #expect(outcomes.count == 10)
        #expect(outcomes[hosts[0]]?.text == "ali: nothing")
        #expect(hosts.dropFirst().allSatisfy { outcomes[$0]?.text == "ali: addresses" })
        #expect(fixture.providers[0].batches.map(\.count).sorted() == [2, 4, 4])
        #expect(fixture.providers[0].queries.count == 3)
        #expect(fixture.reports.map(\.names).sorted() == [2, 4, 4])
        #expect(await fixture.team.ask(try fixture.assignment(), batch: []).isEmpty)
    }

    @Test("Names that a batch left open are queried singly, at other providers too")
    func leftOpen() async throws {
        let fixture = TeamFixture(batchLimit: 10)
        let hosts = try hosts(3)
        fixture.providers[0].answer(.known, for: hosts[0])
        fixture.providers[0].answer(.failure(.unavailable), for: hosts[1])
        for host in hosts { fixture.providers[1].answer(.known, for: host) }
        let outcomes = await fixture.team.ask(try fixture.assignment(secondOpinion: true), batch: hosts)
        #expect(hosts.map { outcomes[$0]?.text } == ["ali: addresses", "backup: addresses", "backup: addresses"])
        #expect(fixture.providers[1].batches.isEmpty)
    }

    @Test("A provider without batches is queried for each name, within its limit")
    func singles() async throws {
        let fixture = TeamFixture(
            ["ali"],
            limits: ["ali": HTTPDNSResolver.Configuration.ProviderLimits(maximumInFlight: 3)]
        )
        let hosts = try hosts(50)
        for host in hosts { fixture.providers[0].answer(.known, for: host) }
        let outcomes = await fixture.team.ask(try fixture.assignment(), batch: hosts)
        #expect(outcomes.values.allSatisfy { $0.text == "ali: addresses" })
        #expect(outcomes.count == 50)
        #expect(fixture.providers[0].queries.count == 50)
        #expect(fixture.providers[0].peakInFlight <= 3)
    }

    @Test("A batch skips a first provider in quarantine for the next available one")
    func restingFirst() async throws {
        let fixture = TeamFixture(batchLimit: 10)
        try fixture.say(.failure(.unavailable), at: 0)
        try fixture.say(.known, at: 1)
        _ = try await fixture.team.ask(fixture.assignment())
        let hosts = try hosts(3)
        for host in hosts { fixture.providers[1].answer(.known, for: host) }
        let outcomes = await fixture.team.ask(try fixture.assignment(), batch: hosts)
        #expect(outcomes.values.allSatisfy { $0.text == "backup: addresses" })
        #expect(fixture.providers[1].batches == [hosts])
        #expect(fixture.providers[0].queries.count == 1)
    }

    @Test("A canceled batch returns immediately, with each name canceled")
    func cancels() async throws {
        let fixture = TeamFixture(["ali"], batchLimit: 2)
        fixture.providers[0].hold()
        let hosts = try hosts(6)
        let assignment = try fixture.assignment()
        let task = Task { await fixture.team.ask(assignment, batch: hosts) }
        await fixture.providers[0].queries(atLeast: 3)
        task.cancel()
        let outcomes = await task.value
        #expect(hosts.allSatisfy { outcomes[$0]?.text == "canceled" })
        #expect(fixture.providers[0].queries.count == 3)
    }
}
