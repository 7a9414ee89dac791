internal import HTTPDNSPrimitives

/// What is remembered of one key: the newest definite answer, and how often asking failed since.
///
/// A value-type state machine: time is an argument, and nothing happens by itself. ``CachedAnswer`` is the form in which it
/// is kept and read.
struct CacheEntry: Sendable {
    /// Past its life it stays until something contradicts it, and may serve as a stale one.
    private(set) var answer: KnownAnswer?
    private(set) var failure: AnswerFailure?

    init() {}

    /// An entry that knows this answer alone, whatever its life: for those who wait for it.
    init(_ answer: KnownAnswer) { self.answer = answer }

    /// The entry behind a cached answer.
    init(_ cached: CachedAnswer) {
        let header = cached.header
        failure = header.details?.failure
        guard let origin = header.origin else { return }
        var content = KnownAnswer.Content.addresses((0..<cached.addressCount).map(cached.address(at:)))
        if let negative = header.details?.negative { content = .nothing(negative) }
        var known = KnownAnswer(
            content,
            origin: origin,
            sentAt: header.sentAt,
            life: header.expiresAt - header.sentAt,
            refreshAt: header.refreshAt
        )
        known.canonicalName = header.details?.canonicalName
        known.failedAttempts = header.details?.failedAttempts ?? []
        known.failedFamilies = header.details?.failedFamilies ?? []
        known.holdsForAllClients = header.details?.holdsForAllClients ?? false
        known.services = header.details?.services
        answer = known
    }

    /// Whether nothing is worth a place in the cache.
    var isEmpty: Bool { answer == nil && failure == nil }

    /// Takes in a definite answer. It ends a row of failures.
    ///
    /// An answer that was sent for before the one known is dropped. One that may not be kept, because its life is over,
    /// still removes the answer that it contradicts. A family that failed this time keeps the addresses known of it.
    /// - Returns: The answer as it serves those who wait for it.
    @discardableResult
    mutating func install(_ new: KnownAnswer, at now: MonotonicTime) -> KnownAnswer {
        if let answer, answer.sentAt > new.sentAt { return new }
        let merged = answer.map { new.keepingFailedFamilies(of: $0, at: now) } ?? new
        failure = nil
        answer = now < merged.expiresAt ? merged : nil
        return merged
    }

    /// Takes in what a question about the missing families alone came to, while the answer that lacks them is in use. After a
    /// failure, or an answer that may be of another scope, they are asked for again once the answer is twice as old.
    /// - Parameters:
    ///   - new: Nil for a failure.
    ///   - chance: In -1...1.
    /// - Returns: The whole answer; nil when the one that lacks them is not in use any more.
    mutating func complete(with new: KnownAnswer?, at now: MonotonicTime, chance: Double) -> KnownAnswer? {
        guard var whole = answer, now < whole.expiresAt, case .addresses(let known) = whole.content else { return nil }
        if let new, new.origin.providerScope == whole.origin.providerScope {
            whole.failedFamilies = new.failedFamilies
            if case .addresses(let added) = new.content {
                let both = known + added.filter { !known.contains($0) }
                whole.content = .addresses(both.filter { $0.family == .v4 } + both.filter { $0.family == .v6 })
                whole.life = min(whole.expiresAt, new.expiresAt) - whole.sentAt
            }
        }
        whole.refreshAt = Lifetimes.refreshMoment(of: whole, chance: chance)
        if !whole.failedFamilies.isEmpty {
            whole.refreshAt = min(whole.refreshAt, now + max(Lifetimes.partial, now - whole.sentAt))
        }
        answer = whole
        return whole
    }

    /// Takes in an answer that was kept from before a restart, unless something newer is known. It may be past its life.
    mutating func restore(_ kept: KnownAnswer) {
        if answer == nil, failure == nil { answer = kept }
    }

    /// Takes in the system's answer after all providers failed: it serves until they may be asked again, and no longer
    /// than any answer of the system.
    /// - Returns: The answer with that life.
    mutating func installFallback(
        _ new: KnownAnswer,
        after error: HTTPDNSResolver.Error,
        systemLife: Duration = .seconds(30),
        jitter: Double = 0,
        at now: MonotonicTime
    ) -> KnownAnswer {
        if let answer, answer.sentAt > new.sentAt { return new }
        recordFailure(error, sentAt: new.sentAt, jitter: jitter, at: now)
        let untilRetry = (failure?.retryAt ?? now) - new.sentAt
        let kept = new.living(min(untilRetry, systemLife))
        answer = now < kept.expiresAt ? kept : nil
        return kept
    }

    /// Takes note that asking failed for now. What is known stays.
    /// - Parameters:
    ///   - spared: Whether the system resolver was not asked, because a stale answer could serve.
    ///   - jitter: In 0...1.
    mutating func recordFailure(
        _ error: HTTPDNSResolver.Error,
        sentAt: MonotonicTime,
        spared: Bool = false,
        jitter: Double = 0,
        at now: MonotonicTime
    ) {
        if let answer, answer.sentAt > sentAt { return }
        let count = (failure?.count ?? 0) + 1
        failure = AnswerFailure(
            count: count,
            error: error,
            failedAt: now,
            retryAt: now + Lifetimes.backoff(afterFailures: count, jitter: jitter),
            spared: spared
        )
    }
}
