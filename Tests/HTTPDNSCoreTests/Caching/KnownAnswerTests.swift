// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import HTTPDNSCore

struct KnownAnswerTests {
    private func at(_ seconds: Int64) -> MonotonicTime { MonotonicTime(nanoseconds: seconds * 1_000_000_000) }

    private func answer(_ last: UInt8, sentAt: Int64, life: Duration) -> KnownAnswer {
        .sample([HTTPDNSAddress(v4: 203, 0, 113, last)], sentAt: at(sentAt), life: life)
    }

    private let failure = HTTPDNSResolver.Error(code: .providersFailed, host: "a.test", message: "failed")

    private func failed(at seconds: Int64, skippedFallback: Bool = false) -> LookupFailure {
        LookupFailure(error: failure, sentAt: at(seconds), skippedFallback: skippedFallback)
    }

    /// The system resolver's answer instead of the providers'.
    private func fallback(_ last: UInt8, sentAt: Int64, life: Duration) -> KnownAnswer {
        var answer = answer(last, sentAt: sentAt, life: life)
        answer.providersFailure = failure
        return answer
    }

    private func fresh(_ entry: KnownAnswer, at seconds: Int64) -> UInt8? {
        guard case .fresh(let answer)? = packed(entry)?.find(at: at(seconds)) else { return nil }
        return answer.address(at: 0).bytes.last
    }

    private func packed(_ entry: KnownAnswer) -> CachedAnswer? {
        entry.isEmpty ? nil : CachedAnswer(CacheKey(HTTPDNSName(canonical: "a.test")), entry)
    }

    private func isSpent(_ entry: KnownAnswer, at seconds: Int64) -> Bool {
        packed(entry)?.isSpent(at: at(seconds)) ?? true
    }

    @Test("A failure leaves a fresh answer as it is and delays queries after its expiry")
    func failureKeepsAnswer() {
        var entry = KnownAnswer()
        entry.install(answer(1, sentAt: 0, life: .seconds(10)), at: at(0))
        entry.recordFailure(failed(at: 9), at: at(9))
        #expect(fresh(entry, at: 9) == 1)
        entry.recordFailure(failed(at: 10), at: at(10))
        guard case .backingOff(let failure)? = packed(entry)?.find(at: at(11)) else {
            Issue.record("no backing off")
            return
        }
        #expect(failure.failedAt == at(10))
        #expect(failure.retryAt == at(12))
        #expect(isSpent(entry, at: 12))
    }

    @Test("Names that failed together are retried at different times")
    func backoffJitter() {
        var moments: Set<MonotonicTime> = []
        for jitter in stride(from: 0.0, through: 1, by: 0.05) {
            var entry = KnownAnswer()
            for _ in 0..<3 { entry.recordFailure(failed(at: 0), jitter: jitter, at: at(0)) }
            guard let retryAt = entry.details.failure?.retryAt else { continue }
            #expect(at(4) <= retryAt && retryAt < at(5))
            moments.insert(retryAt)
            #expect(Lifetimes.backoff(afterFailures: 1, jitter: jitter) >= .seconds(1))
        }
        #expect(moments.count >= 20)
    }

    @Test("A denial that was doubted is used for its life when the addresses have ended")
    func doubtedDenial() throws {
        var entry = KnownAnswer()
        let v4 = HTTPDNSAddress(v4: 203, 0, 113, 1)
        entry.install(.sample([v4], sentAt: at(0), life: .seconds(10), staleLimit: .seconds(1)), at: at(0))
        _ = entry.recordDenial(failed(at: 9), until: at(12), at: at(9))
        guard case .stale(_, mayAsk: false)? = packed(entry)?.find(at: at(10)) else {
            Issue.record("the addresses are not served, or asked for again")
            return
        }
        #expect(packed(entry)?.failure(at: at(10))?.retryAt == at(14))
        guard case .backingOff(let failure)? = packed(entry)?.find(at: at(11)) else {
            Issue.record("no backing off")
            return
        }
        #expect(failure.retryAt == at(12))
        #expect(isSpent(entry, at: 12))
        // It does not count longer than it is doubted.
        _ = entry.recordDenial(failed(at: 9), until: at(300), at: at(9))
        #expect(packed(entry)?.failure(at: at(11))?.retryAt == at(14))
    }

    @Test("A newer answer that may not be kept still removes the older one")
    func contradicts() {
        var entry = KnownAnswer()
        entry.install(answer(1, sentAt: 0, life: .seconds(60)), at: at(0))
        entry.install(answer(2, sentAt: 5, life: .zero), at: at(5))
        #expect(fresh(entry, at: 5) == nil)
        #expect(entry.isEmpty)
    }

    /// So is a failure that arrives late.
    @Test("A slow old answer that arrives after a newer one is dropped")
    func keepsNewer() {
        var entry = KnownAnswer()
        entry.install(answer(2, sentAt: 5, life: .seconds(60)), at: at(6))
        entry.install(answer(1, sentAt: 1, life: .seconds(600)), at: at(9))
        #expect(fresh(entry, at: 9) == 2)
        entry.install(answer(1, sentAt: 1, life: .zero), at: at(9))
        #expect(fresh(entry, at: 9) == 2)
        _ = entry.installFallback(fallback(3, sentAt: 4, life: .seconds(9)), at: at(9))
        #expect(fresh(entry, at: 9) == 2)
        entry.recordFailure(failed(at: 4), at: at(64))
        #expect(isSpent(entry, at: 65))
    }

    @Test("A failed family keeps its addresses, no longer than their time to live")
    func keepsFailedFamily() throws {
        let v4 = HTTPDNSAddress(v4: 203, 0, 113, 1)
        let v6 = try #require(HTTPDNSAddress("2001:db8::1"))
        var entry = KnownAnswer()
        entry.install(.sample([v4, v6], sentAt: at(0), life: .seconds(10)), at: at(0))
        var partial = KnownAnswer.sample([v4], sentAt: at(8), life: .seconds(10))
        partial.details.failedFamilies = .v6
        let merged = entry.install(partial, at: at(8))
        #expect(merged.expiresAt == at(10))
        let kept = try #require(packed(entry))
        #expect(kept.addresses == [v4, v6])
        var late = partial
        late.sentAt = at(11)
        #expect(entry.install(late, at: at(11)).expiresAt == at(21))
        #expect(packed(entry)?.addressCount == 1)
    }

    @Test("A family that an answer lacks is lost when the next one lacks it too")
    func lostFamily() throws {
        let v4 = HTTPDNSAddress(v4: 203, 0, 113, 1)
        let v6 = try #require(HTTPDNSAddress("2001:db8::1"))
        var entry = KnownAnswer()
        entry.install(.sample([v4, v6], sentAt: at(0), life: .seconds(100), staleLimit: .seconds(60)), at: at(0))
        let without = KnownAnswer.sample([v6], sentAt: at(90), life: .seconds(3600), staleLimit: .seconds(60))
        let doubted = entry.install(without, at: at(90))
        #expect(packed(entry)?.addresses == [v4, v6])
        #expect(doubted.details.failedFamilies == .v4 && doubted.expiresAt == at(100) && doubted.refreshAt == at(100))
        // It is asked for alone.
        var partial = KnownAnswer.sample([], sentAt: at(95), life: .seconds(3600))
        partial.content = .nothing(failure)
        partial.queriedFamilies = .v4
        var completed = entry
        _ = completed.complete(with: partial, at: at(95), chance: 0)
        #expect(packed(completed)?.addresses == [v6] && completed.details.failedFamilies == [])
        // Or the next answer lacks it as well.
        var second = without
        second.sentAt = at(99)
        #expect(entry.install(second, at: at(99)).details.failedFamilies == [])
        #expect(packed(entry)?.addresses == [v6])
        // Past its own life it is not served beside newer addresses, but it is asked for once more.
        var late = KnownAnswer()
        late.install(.sample([v4, v6], sentAt: at(0), life: .seconds(10), staleLimit: .seconds(600)), at: at(0))
        let alone = late.install(without, at: at(90))
        #expect(packed(late)?.addresses == [v6] && alone.details.failedFamilies == .v4 && alone.refreshAt == at(100))
    }

    @Test("A family that was not queried is not lost")
    func familyNotQueried() throws {
        let v6 = try #require(HTTPDNSAddress("2001:db8::1"))
        let v4 = HTTPDNSAddress(v4: 203, 0, 113, 1)
        var entry = KnownAnswer()
        entry.install(.sample([v4, v6], sentAt: at(0), life: .seconds(100)), at: at(0))
        var only4 = KnownAnswer.sample([v4], sentAt: at(90), life: .seconds(100))
        only4.queriedFamilies = .v4
        #expect(entry.install(only4, at: at(90)).details.failedFamilies == [])
    }

    /// While queries for it fail, it serves without another query.
    @Test("An expired answer is stale up to the limit, then gone")
    func staleness() throws {
        var entry = KnownAnswer()
        entry.install(
            .sample([HTTPDNSAddress(v4: 203, 0, 113, 1)], sentAt: at(0), life: .seconds(10), staleLimit: .seconds(60)),
            at: at(0)
        )
        func state(_ seconds: Int64) -> String {
            switch packed(entry)?.find(at: at(seconds)) {
            case .fresh: "fresh"
            case .stale(_, mayAsk: true): "stale"
            case .stale(_, mayAsk: false): "stale, not asked"
            case .backingOff: "backing off"
            case .nothing: "nothing"
            case nil: "empty"
            }
        }
        #expect([0, 9, 10, 69, 70].map(state) == ["fresh", "fresh", "stale", "stale", "nothing"])
        entry.recordFailure(failed(at: 12), at: at(12))
        #expect([9, 12, 13, 69].map(state) == ["fresh", "stale, not asked", "stale", "stale"])
        entry.recordFailure(failed(at: 69), at: at(69))
        #expect([69, 70, 71].map(state) == ["stale, not asked", "backing off", "nothing"])
        entry.recordFailure(failed(at: 69, skippedFallback: true), at: at(69))
        #expect([69, 70].map(state) == ["stale, not asked", "nothing"])
    }

    @Test("A negative answer is never stale")
    func negativeIsNeverStale() throws {
        var entry = KnownAnswer()
        var answer = KnownAnswer.sample([], sentAt: at(0), life: .seconds(10), staleLimit: .seconds(60))
        answer.content = .nothing(HTTPDNSResolver.Error(code: .nameNotFound, host: "a.test", message: "none"))
        entry.install(answer, at: at(0))
        guard case .fresh? = packed(entry)?.find(at: at(9)), case .nothing? = packed(entry)?.find(at: at(10)) else {
            Issue.record("a negative answer lives its time and no longer")
            return
        }
    }

    @Test("An answer that has expired on arrival is not kept")
    func lateAnswer() {
        var entry = KnownAnswer()
        entry.install(answer(1, sentAt: 0, life: .seconds(2)), at: at(2))
        #expect(entry.isEmpty)
    }

    @Test("A fallback answer serves until the back-off after the failure ends")
    func fallback() {
        var entry = KnownAnswer()
        for (sentAt, expected) in [(Int64(0), Int64(1)), (1, 2), (3, 4), (7, 8), (15, 16), (31, 30)] {
            let kept = entry.installFallback(fallback(9, sentAt: sentAt, life: .seconds(30)), at: at(sentAt))
            #expect(kept.life == .seconds(expected))
            #expect(fresh(entry, at: sentAt + expected - 1) == 9)
            #expect(isSpent(entry, at: sentAt + expected))
        }
        entry.install(answer(1, sentAt: 100, life: .seconds(1)), at: at(100))
        entry.recordFailure(failed(at: 200), at: at(200))
        #expect(isSpent(entry, at: 201))
    }
}
