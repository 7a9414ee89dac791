// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSTesting
import Testing

@testable import HTTPDNSCore

struct NameGatheringTests {
    private let time = HTTPDNSManualClock()

    private func hosts(_ count: Int) throws -> [HTTPDNSName] {
        try (0..<count).map { try HTTPDNSName("n\($0).test") }
    }

    private func provider(_ limit: Int, known hosts: [HTTPDNSName]) -> HTTPDNSScriptedProvider {
        let provider = HTTPDNSScriptedProvider(name: "ali", batchLimit: limit, clock: HTTPDNSManualClock())
        for host in hosts { provider.answer(.known, for: host) }
        return provider
    }

    private func pool(_ provider: any HTTPDNSProvider, perSecond: Double? = nil) -> ProviderPool {
        ProviderPool(
            [ProviderLease(provider)],
            limits: ["ali": .init(queriesPerSecond: perSecond)],
            hedgeAfter: .milliseconds(50),
            attemptLimit: .seconds(1),
            timeSource: HTTPDNSManualClock(),
            gatheringTime: time,
            random: { $0 - 1 }
        )
    }

    private func begin(
        _ hosts: [HTTPDNSName],
        at pool: ProviderPool,
        families: HTTPDNSAddress.Families = .v4
    ) -> [ProviderPool.Question] {
        hosts.map { host in
            pool.begin(
                ProviderPool.PoolAttempt(
                    providers: ["ali"],
                    query: HTTPDNSProviderQuery(host: host, families: families, timeLimit: .zero),
                    deadline: HTTPDNSManualClock().now() + .seconds(3)
                )
            )
        }
    }

    /// Lets the first names of so many queries have waited, once those are complete.
    private func passWindow(_ provider: HTTPDNSScriptedProvider, queries: Int, leaders: Int) async {
        await provider.queries(atLeast: queries)
        await time.sleepers(atLeast: leaders)
        time.advance(by: NameGathering.window)
    }

    private func outcomes(_ questions: [ProviderPool.Question], at pool: ProviderPool) async -> [String] {
        var texts: [String] = []
        for question in questions { texts.append(await pool.outcome(of: question).text) }
        return texts
    }

    @Test("Twenty concurrent names are four queries of a provider that takes five")
    func burst() async throws {
        let hosts = try hosts(20)
        let provider = provider(5, known: Array(hosts.dropFirst()))
        let pool = pool(provider)
        let questions = begin(hosts, at: pool)
        // Full queries do not wait: the clock stands.
        await passWindow(provider, queries: 4, leaders: 4)
        let texts = await outcomes(questions, at: pool)
        #expect(texts == ["ali: nothing"] + Array(repeating: "ali: addresses", count: 19))
        #expect(provider.batches.map(\.count) == [5, 5, 5, 5])
        #expect(Set(provider.batches.joined()) == Set(hosts))
        #expect(provider.queries.count == 4)
        pool.shutdown()
    }

    @Test("Fewer names than a query takes are sent together after a short wait")
    func window() async throws {
        let hosts = try hosts(4)
        let provider = provider(5, known: hosts)
        let pool = pool(provider)
        let questions = begin(Array(hosts.prefix(3)), at: pool)
        await time.sleepers(atLeast: 1)
        while pool.gatherings["ali"]?.count ?? 0 < 3 { await Task.yield() }
        #expect(provider.queries.isEmpty)
        time.advance(by: NameGathering.window)
        #expect(await outcomes(questions, at: pool) == Array(repeating: "ali: addresses", count: 3))
        #expect(provider.batches.map { Set($0) } == [Set(hosts.prefix(3))])

        let last = begin([hosts[3]], at: pool)
        await time.sleepers(atLeast: 1)
        time.advance(by: NameGathering.window)
        #expect(await outcomes(last, at: pool) == ["ali: addresses"])
        #expect(provider.batches.count == 1 && provider.queries.count == 2)
        pool.shutdown()
    }

    /// Such as those of the kill switch, also when it is the one that waits for the others.
    @Test("A name whose caller leaves before its query is sent is not in it", arguments: [0, 1])
    func canceled(index: Int) async throws {
        var hosts = try hosts(3)
        let provider = provider(5, known: hosts)
        let gathering = NameGathering(provider, timeSource: time)
        var callers: [Task<HTTPDNSProviderAnswer, any Error>] = []
        for host in hosts {
            let query = HTTPDNSProviderQuery(host: host, families: .v4, timeLimit: .seconds(1))
            callers.append(Task { try await gathering.answer(to: query, onJoining: {}) })
            while gathering.count < callers.count, !Task.isCancelled { await Task.yield() }
        }
        await time.sleepers(atLeast: 1)
        let leaver = callers.remove(at: index)
        leaver.cancel()
        await #expect(throws: CancellationError.self) { try await leaver.value }
        hosts.remove(at: index)
        time.advance(by: NameGathering.window)
        for caller in callers { _ = try await caller.value }
        #expect(provider.batches == [hosts])
        #expect(provider.queries.map(\.host) == [hosts[0]])
    }

    @Test("Names queried in other families are sent apart")
    func kinds() async throws {
        let hosts = try hosts(4)
        let provider = provider(2, known: hosts)
        let pool = pool(provider)
        let questions =
            begin(Array(hosts[..<2]), at: pool, families: .v4) + begin(Array(hosts[2...]), at: pool, families: .both)
        await passWindow(provider, queries: 2, leaders: 2)
        #expect(await outcomes(questions, at: pool) == Array(repeating: "ali: addresses", count: 4))
        #expect(Set(provider.batches.map { Set($0) }) == [Set(hosts[..<2]), Set(hosts[2...])])
        pool.shutdown()
    }

    @Test("One name that the service refuses does not fail the others of its query")
    func refusedName() async throws {
        struct Picky: HTTPDNSProvider {
            let inner: HTTPDNSScriptedProvider
            let bad: HTTPDNSName
            var name: String { inner.name }
            var batchLimit: Int { inner.batchLimit }
            func resolve(_ query: HTTPDNSProviderQuery) async throws -> HTTPDNSProviderAnswer {
                if query.host == bad { throw HTTPDNSProviderError(code: .refused, message: "no such name here") }
                return try await inner.resolve(query)
            }
            func resolve(_ query: HTTPDNSProviderQuery, batch: [HTTPDNSName]) async throws -> [HTTPDNSName:
                HTTPDNSProviderAnswer]
            {
                if batch.contains(bad) { throw HTTPDNSProviderError(code: .refused, message: "no such name here") }
                return try await inner.resolve(query, batch: batch)
            }
        }
        let hosts = try hosts(3)
        let inner = provider(3, known: hosts)
        let pool = pool(Picky(inner: inner, bad: hosts[1]))
        let questions = begin(hosts, at: pool)
        await passWindow(inner, queries: 2, leaders: 1)
        let texts = await outcomes(questions, at: pool)
        #expect(texts == ["ali: addresses", "failed: ali: no such name here in 0 ms", "ali: addresses"])
        #expect(inner.batches.isEmpty && Set(inner.queries.map(\.host)) == [hosts[0], hosts[2]])
        pool.shutdown()
    }

    @Test("A canceled waiter does not end the query of the others; the last one does")
    func cancellation() async throws {
        let hosts = try hosts(3)
        let provider = provider(3, known: hosts)
        provider.hold()
        let pool = pool(provider)
        let tasks = begin(hosts, at: pool).map { question in Task { await pool.outcome(of: question) } }
        await passWindow(provider, queries: 1, leaders: 1)
        tasks[0].cancel()
        tasks[1].cancel()
        #expect(await tasks[0].value.text == "canceled")
        #expect(await tasks[1].value.text == "canceled")
        provider.release()
        #expect(await tasks[2].value.text == "ali: addresses")
        #expect(provider.queries.count == 1)

        provider.hold()
        let all = begin(hosts, at: pool).map { question in Task { await pool.outcome(of: question) } }
        await passWindow(provider, queries: 2, leaders: 1)
        for task in all { task.cancel() }
        for task in all { #expect(await task.value.text == "canceled") }
        while pool.health[0].inFlight > 0 { await Task.yield() }
        #expect(provider.queries.count == 2)
        pool.shutdown()
    }

    @Test("Names that share a query count once in the budget")
    func budget() async throws {
        let hosts = try hosts(4)
        let provider = provider(4, known: hosts)
        let pool = pool(provider, perSecond: 4)
        let questions = begin(hosts, at: pool)
        await passWindow(provider, queries: 1, leaders: 1)
        #expect(await outcomes(questions, at: pool) == Array(repeating: "ali: addresses", count: 4))
        #expect(pool.mayAsk(["ali"]))
        pool.shutdown()
    }
}
