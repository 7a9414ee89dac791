internal import HTTPDNSPrimitives

/// What is remembered of one key: the newest definite answer, and how often asking failed since.
///
/// A value-type state machine: time is an argument, and nothing happens by itself.
struct CacheEntry: Sendable {
    /// What a look-up finds.
    enum Finding: Sendable {
        /// An answer within its life.
        case fresh(KnownAnswer)
        /// The last asking failed, and it is too early to ask again.
        case backingOff(ResolutionError, failedAt: MonotonicTime, retryAt: MonotonicTime)
        /// Nothing that can be used: ask.
        case nothing
    }

    private struct Failures: Sendable {
        var count: Int
        var error: ResolutionError
        var failedAt: MonotonicTime
        var retryAt: MonotonicTime
    }

    /// Past its life it stays until something contradicts it; nothing serves it then.
    private var answer: KnownAnswer?
    private var failures: Failures?

    /// Whether nothing is worth a place in the cache.
    var isEmpty: Bool { answer == nil && failures == nil }

    /// What can be used at `now`. A fresh answer goes before a failure: failing never shortens an answer's life.
    func find(at now: MonotonicTime) -> Finding {
        if let answer, now < answer.expiresAt { return .fresh(answer) }
        if let failures, now < failures.retryAt {
            return .backingOff(failures.error, failedAt: failures.failedAt, retryAt: failures.retryAt)
        }
        return .nothing
    }

    /// Whether the entry could be dropped at `now` without loss of anything fresh.
    func isExpired(at now: MonotonicTime) -> Bool {
        if case .nothing = find(at: now) { true } else { false }
    }

    /// Takes in a definite answer. It ends a row of failures.
    ///
    /// An answer that was sent for before the one known is dropped. One that may not be kept, because its life is over,
    /// still removes the answer that it contradicts.
    mutating func install(_ new: KnownAnswer, at now: MonotonicTime) {
        if let answer, answer.sentAt > new.sentAt { return }
        failures = nil
        answer = now < new.expiresAt ? new : nil
    }

    /// Takes in the system's answer after all providers failed: it serves until they may be asked again, and no longer
    /// than any answer of the system.
    /// - Returns: The answer with that life.
    mutating func installFallback(
        _ new: KnownAnswer,
        after error: ResolutionError,
        at now: MonotonicTime
    ) -> KnownAnswer {
        if let answer, answer.sentAt > new.sentAt { return new }
        recordFailure(error, sentAt: new.sentAt, at: now)
        let untilRetry = (failures?.retryAt ?? now) - new.sentAt
        let kept = new.living(min(untilRetry, Lifetimes.system))
        answer = now < kept.expiresAt ? kept : nil
        return kept
    }

    /// Takes note that asking failed for now. What is known stays.
    mutating func recordFailure(_ error: ResolutionError, sentAt: MonotonicTime, at now: MonotonicTime) {
        if let answer, answer.sentAt > sentAt { return }
        let count = (failures?.count ?? 0) + 1
        let retryAt = now + Lifetimes.backoff(afterFailures: count)
        failures = Failures(count: count, error: error, failedAt: now, retryAt: retryAt)
    }
}
