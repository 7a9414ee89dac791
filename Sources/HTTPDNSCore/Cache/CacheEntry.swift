internal import HTTPDNSPrimitives

/// The cached state of one key: the newest definite answer, and the failed lookups since.
///
/// A value-type state machine: time is an argument, and there are no timers. ``CachedAnswer`` is the form in which it is stored
/// and read.
struct CacheEntry: Sendable {
    /// The newest definite answer. It stays past its lifetime until another answer contradicts it, and may be served as stale.
    private(set) var answer: KnownAnswer?
    private(set) var failure: AnswerFailure?

    init() {}

    /// Creates an entry with this answer alone, whatever its lifetime: for its waiters.
    init(_ answer: KnownAnswer) { self.answer = answer }

    /// Unpacks the entry of a cached answer.
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

    /// Whether nothing is worth caching.
    var isEmpty: Bool { answer == nil && failure == nil }

    /// Adds a definite answer, which ends a series of failures.
    ///
    /// An answer that was requested before the present one is dropped. An answer that may not be cached, because its lifetime
    /// is over, still removes the answer that it contradicts. A family that failed this time keeps its previous addresses.
    /// - Returns: The answer as it is served to its waiters.
    @discardableResult
    mutating func install(_ new: KnownAnswer, at now: MonotonicTime) -> KnownAnswer {
        if let answer, answer.sentAt > new.sentAt { return new }
        let merged = answer.map { new.keepingFailedFamilies(of: $0, at: now) } ?? new
        failure = nil
        answer = now < merged.expiresAt ? merged : nil
        return merged
    }

    /// Adds the result of a lookup of the missing families alone, while the answer without them is in use.
    ///
    /// After a failure, or an answer that may have another scope, they are queried again once the answer is twice as old.
    /// - Parameters:
    ///   - new: Nil for a failure.
    ///   - chance: A number in -1...1.
    /// - Returns: The whole answer; nil when the incomplete one is no longer in use.
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

    /// Adds an answer from before a restart, unless a newer one is known. Its lifetime may be over.
    mutating func restore(_ kept: KnownAnswer) {
        if answer == nil, failure == nil { answer = kept }
    }

    /// Adds the system resolver's answer after all providers failed.
    ///
    /// It is served until the providers may be queried again, and no longer than any answer of the system resolver.
    /// - Returns: The answer with that lifetime.
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

    /// Records a failed lookup. The cached answer stays.
    /// - Parameters:
    ///   - spared: Whether the system resolver was not queried, because a stale answer could be served.
    ///   - jitter: A number in 0...1.
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
