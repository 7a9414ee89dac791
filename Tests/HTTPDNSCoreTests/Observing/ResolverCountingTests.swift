// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import HTTPDNSCore

struct ResolverCountingTests {
    @Test("No increment is lost when eight threads count at once")
    func exact() async {
        let counting = ResolverCounting(providers: ["a", "b"])
        let rounds = 8_000
        // Nothing between two increments: a lost one needs two threads in the same nanoseconds.
        let tight = 200_000
        let ended = (0..<8).map { _ in OneShot<Bool>() }
        for end in ended {
            let hasStarted = DetachedThread.start {
                for round in 0..<rounds {
                    counting.count(AnswerCount.allCases[round & 15])
                    counting.count(.eviction, times: 3)
                    counting.count(.answer, provider: 1, elapsed: .nanoseconds(7))
                    counting.countFailure(HTTPDNSProviderError(code: .refused, message: "no"), provider: 0)
                }
                for _ in 0..<tight { counting.count(.negativeHit) }
                end.deliver(true)
            }
            if !hasStarted { end.deliver(false) }
        }
        for end in ended { #expect(await end.value(), "a thread could not be started") }
        let counters = counting.snapshot()
        let each = 8 * rounds / 16
        #expect(counters.hits == 2 * each)
        #expect(counters.negativeHits == 8 * tight + each)
        #expect(counters.immediate == 3 * each)
        #expect(counters.policyRefusals == each)
        #expect(counters.answers.values.reduce(0, +) == 11 * each)
        #expect(counters.evictions == 8 * rounds * 3)
        #expect(counters.providers["b"]?.answerTime == .nanoseconds(8 * rounds * 7))
        #expect(counters.providers["a"]?.failures == [.refused: 8 * rounds])
    }

    /// One row: what is counted, and what the snapshot has then. Everything else has to stay zero.
    struct Row: Sendable, CustomTestStringConvertible {
        var count: AnswerCount
        var source: HTTPDNSResolver.Resolution.Source?
        var field: String?
        var testDescription: String { "\(count)" }
    }

    @Test(
        "Each kind of answer is counted under its own name and source",
        arguments: [
            Row(count: .hitFromProvider, source: .provider, field: "hits"),
            Row(count: .hitFromSystem, source: .system, field: "hits"),
            Row(count: .staleHitFromProvider, source: .provider, field: "staleHits"),
            Row(count: .staleHitFromSystem, source: .system, field: "staleHits"),
            Row(count: .negativeHit, field: "negativeHits"),
            Row(count: .failureHit, field: "failureHits"),
            Row(count: .pinned, source: .request, field: "immediate"),
            Row(count: .mapped, source: .mapping, field: "immediate"),
            Row(count: .literal, source: .literal, field: "immediate"),
            Row(count: .miss, field: "misses"),
            Row(count: .joined, field: "joined"),
            Row(count: .awaitedProvider, source: .provider),
            Row(count: .awaitedSystem, source: .system),
            Row(count: .staleAfterWaitFromProvider, source: .provider, field: "staleServedAfterWait"),
            Row(count: .staleAfterWaitFromSystem, source: .system, field: "staleServedAfterWait"),
            Row(count: .policyRefusal, field: "policyRefusals"),
        ]
    )
    func answers(row: Row) {
        let counting = ResolverCounting(providers: [])
        counting.count(row.count)
        let counters = counting.snapshot()
        #expect(counters.answers == (row.source.map { [$0: 1] } ?? [:]))
        #expect(nonzero(counters) == (row.field.map { [$0: 1] } ?? [:]))
    }

    @Test("Each kind of event is counted under its own name")
    func occurrences() {
        var seen: Set<[String: Int]> = []
        for occurrence in OccurrenceCount.allCases {
            let counting = ResolverCounting(providers: [])
            counting.count(occurrence, times: 2)
            let fields = nonzero(counting.snapshot())
            #expect(fields.count == 1 && fields.values.first == 2, "\(occurrence)")
            #expect(seen.insert(fields).inserted, "\(occurrence)")
        }
    }

    /// Failures are counted by code.
    @Test("A query is in flight until it is answered, failed or canceled")
    func providers() throws {
        let counting = ResolverCounting(providers: ["a"])
        for _ in 0..<6 { counting.count(.query, provider: 0) }
        counting.count(.hedge, provider: 0)
        counting.count(.probe, provider: 0)
        counting.count(.answer, provider: 0, elapsed: .milliseconds(10))
        counting.count(.negative, provider: 0, elapsed: .milliseconds(30))
        counting.count(.canceled, provider: 0)
        counting.countFailure(HTTPDNSProviderError(code: .timedOut, message: "late"), provider: 0)
        counting.countFailure(CancellationError(), provider: 0)
        counting.count(.query, provider: 7)
        counting.countFailure(CancellationError(), provider: -1)
        let provider = try #require(counting.snapshot().providers["a"])
        #expect(provider.failures == [.timedOut: 1, .other: 1])
        #expect(provider.queriesInFlight == 1)
        #expect(provider.hedges == 1 && provider.probes == 1)
        #expect(provider.meanAnswerTime == .milliseconds(20))
    }

    /// It adds up again.
    @Test("The difference of two snapshots is what happened between them")
    func difference() {
        let counting = ResolverCounting(providers: ["a"])
        for count in AnswerCount.allCases { counting.count(count) }
        for count in OccurrenceCount.allCases { counting.count(count) }
        for count in ProviderCount.allCases { counting.count(count, provider: 0, elapsed: .seconds(1)) }
        let earlier = counting.snapshot(cacheEntries: 5, cacheBytes: 500)
        #expect(earlier - HTTPDNSResolver.Counters() == earlier, "a field is missing in the arithmetic")
        for count in AnswerCount.allCases { counting.count(count) }
        for count in OccurrenceCount.allCases { counting.count(count, times: 4) }
        for code in HTTPDNSProviderError.Code.all {
            counting.countFailure(HTTPDNSProviderError(code: code, message: ""), provider: 0)
        }
        let later = counting.snapshot(cacheEntries: 3, cacheBytes: 200)
        let difference = later - earlier
        #expect(difference.hits == 2 && difference.evictions == 4 && difference.cacheEntries == -2)
        #expect(difference.providers["a"]?.failures.count == HTTPDNSProviderError.Code.all.count)
        #expect(difference.providers["a"]?.queries == 0)
        #expect(earlier + difference == later)
    }

    /// The stored numbers that are not zero, by name.
    private func nonzero(_ counters: HTTPDNSResolver.Counters) -> [String: Int] {
        var result: [String: Int] = [:]
        for case (let name?, let value as Int) in Mirror(reflecting: counters).children where value != 0 {
            result[name] = value
        }
        return result
    }
}
