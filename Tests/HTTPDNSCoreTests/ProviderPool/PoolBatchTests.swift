// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSTesting
import Testing

@testable import HTTPDNSCore

struct PoolBatchTests {
    private func hosts(_ count: Int) throws -> [HTTPDNSName] {
        try (0..<count).map { try HTTPDNSName("n\($0).test") }
    }

    private func ask(
        _ fixture: PoolFixture,
        _ hosts: [HTTPDNSName],
        secondOpinion: Bool = false
    ) async throws -> [HTTPDNSName: String] {
        let found = Lock<[HTTPDNSName: String]>([:])
        await fixture.pool.ask(try fixture.poolAttempt(secondOpinion: secondOpinion), batch: hosts) { host, answer in
            var text = answer.map { ProviderPool.Outcome.answered($0).text } ?? "left"
            if let answer, answer.isUnconfirmed { text = "denied by \(answer.provider.name)" }
            found.withLock { #expect($0.updateValue(text, forKey: host) == nil) }
        }
        return found.withLock { $0 }
    }

    /// Each name has its own outcome.
    @Test("Names go in batches of the provider's size, each name once")
    func batches() async throws {
        let fixture = PoolFixture(["ali"], batchLimit: 4)
        let hosts = try hosts(10)
        for host in hosts.dropFirst() { fixture.providers[0].answer(.known, for: host) }
        let outcomes = try await ask(fixture, hosts)
        #expect(outcomes.count == 10)
        #expect(outcomes[hosts[0]] == "ali: nothing")
        #expect(hosts.dropFirst().allSatisfy { outcomes[$0] == "ali: addresses" })
        #expect(fixture.providers[0].batches.map(\.count).sorted() == [2, 4, 4])
        #expect(fixture.providers[0].queries.count == 3)
        #expect(fixture.reports.map(\.names).sorted() == [2, 4, 4])
        #expect(try await ask(fixture, []).isEmpty)
    }

    @Test("A batch tells which names it left out, and which negative answers are not final")
    func leftOpen() async throws {
        let fixture = PoolFixture(batchLimit: 10)
        let hosts = try hosts(3)
        fixture.providers[0].answer(.known, for: hosts[0])
        fixture.providers[0].answer(.failure(.unavailable), for: hosts[1])
        let outcomes = try await ask(fixture, hosts, secondOpinion: true)
        #expect(hosts.map { outcomes[$0] } == ["ali: addresses", "left", "denied by ali"])
        #expect(fixture.providers[1].queries.isEmpty)
    }

    @Test("A batch skips a first provider in quarantine for the next available one")
    func restingFirst() async throws {
        let fixture = PoolFixture(batchLimit: 10)
        try fixture.say(.failure(.unavailable), at: 0)
        try fixture.say(.known, at: 1)
        _ = try await fixture.pool.ask(fixture.poolAttempt())
        let hosts = try hosts(3)
        for host in hosts { fixture.providers[1].answer(.known, for: host) }
        let outcomes = try await ask(fixture, hosts)
        #expect(outcomes.count == 3 && outcomes.values.allSatisfy { $0 == "backup: addresses" })
        #expect(fixture.providers[1].batches == [hosts])
        #expect(fixture.providers[0].queries.count == 1)
    }

    @Test("A canceled batch returns immediately, and leaves each name")
    func cancels() async throws {
        let fixture = PoolFixture(["ali"], batchLimit: 2)
        fixture.providers[0].hold()
        let hosts = try hosts(6)
        let task = Task { try await ask(fixture, hosts) }
        await fixture.providers[0].queries(atLeast: 3)
        task.cancel()
        let outcomes = try await task.value
        #expect(hosts.allSatisfy { outcomes[$0] == "left" })
        #expect(fixture.providers[0].queries.count == 3)
    }
}
