// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSPrimitives

/// The knowledge about a name: the newest definite answer, and the failed lookups since.
///
/// A lookup returns it, and it is merged with what was known before. A value-type state machine: time is an argument, and there
/// are no timers. ``CachedAnswer`` is the form in which it is stored and read.
package struct KnownAnswer: Sendable {
    package enum Content: Sendable {
        /// At least one address, in the order to try.
        case addresses([HTTPDNSAddress])
        /// The name does not exist, or has no address of the queried families.
        case nothing(HTTPDNSResolver.Error)
        /// There is no answer, only failed lookups or none at all.
        case unknown
    }

    /// It stays past its lifetime until another answer contradicts it, and may be served as stale.
    var content = Content.unknown
    /// The provider and route of the answer; nil without one.
    var origin: AnswerOrigin?
    /// The time the query was sent, from which its age counts.
    var sentAt = MonotonicTime(nanoseconds: .min)
    /// The lifetime after that.
    var life: Duration = .zero
    /// The time from which a use of it starts a refresh in the background.
    var refreshAt = MonotonicTime(nanoseconds: .min)
    var details = AnswerDetails()
    /// The failure of all providers, when the system resolver has answered instead of them.
    var providersFailure: HTTPDNSResolver.Error?
    /// The families that its source was queried for.
    var queriedFamilies: HTTPDNSAddress.Families = .both
    /// Whether a failed family had no answer in time: it is queried once more immediately.
    var isFamilyLate = false
    /// Whether two providers gave it, where it is negative.
    var isConfirmed = false
    /// Whether the query for HTTPS records failed: the previous records are not contradicted.
    var httpsRecordsFailed = false

    /// Knows nothing.
    init() {}

    package init(
        _ content: Content,
        origin: AnswerOrigin,
        sentAt: MonotonicTime,
        life: Duration,
        refreshAt: MonotonicTime? = nil
    ) {
        self.content = content
        self.origin = origin
        self.sentAt = sentAt
        self.life = life
        self.refreshAt = refreshAt ?? sentAt + life
    }

    /// Unpacks a cached answer.
    init(_ cached: CachedAnswer) {
        let header = cached.header
        details = header.details?.fields ?? AnswerDetails()
        guard let origin = header.origin else { return }
        content = header.details?.negative.map { .nothing($0) } ?? .addresses(cached.addresses)
        self.origin = origin
        sentAt = header.sentAt
        life = header.expiresAt - header.sentAt
        refreshAt = header.refreshAt
    }

    var expiresAt: MonotonicTime { sentAt + life }

    /// Whether nothing is worth caching.
    var isEmpty: Bool { origin == nil && details.failure == nil }

    /// Returns whether it has addresses that may be served, within their lifetime or past it.
    func mayServe(at now: MonotonicTime) -> Bool {
        guard case .addresses = content, details.httpsRecords?.unavailable == nil else { return false }
        return now < expiresAt + (origin?.staleLimit ?? .zero)
    }

    /// Returns the same answer with another lifetime, and no refresh before its end.
    func living(_ life: Duration) -> KnownAnswer {
        var answer = self
        answer.life = life
        answer.refreshAt = answer.expiresAt
        return answer
    }

    /// Returns the answer with the time of the next query for its failed families: later each time that they fail again.
    ///
    /// A family that was not queried, because it is in back-off, stays failed.
    private func backingOffFailedFamilies(after older: KnownAnswer) -> KnownAnswer {
        var answer = self
        if case .addresses = content {
            let resting = older.details.failedFamilies.subtracting(queriedFamilies)
            answer.details.failedFamilies.formUnion(resting)
            if !resting.isEmpty { answer.details.familyBackoff = older.details.familyBackoff }
        }
        guard !answer.details.failedFamilies.isEmpty else { return self }
        var failures = 1
        if !older.details.failedFamilies.isDisjoint(with: answer.details.failedFamilies) {
            failures += older.familyFailures
        }
        let backoff = answer.details.familyBackoff ?? FamilyBackoff(failures: failures, since: sentAt)
        answer.details.familyBackoff = backoff
        answer.refreshAt = min(refreshAt, backoff.retryAt)
        return answer
    }

    /// The number of failures of the failed families in a row.
    var familyFailures: Int { details.familyBackoff?.failures ?? 0 }

    /// Returns the answer that counts a family as failed that it lacks and `older` has: a family that is lost for a moment is
    /// queried once more. It is missing when that query does not find it either.
    private func doubtingLostFamilies(of older: KnownAnswer, at now: MonotonicTime) -> KnownAnswer {
        guard older.mayServe(at: now), origin?.source == older.origin?.source, case .addresses(let own) = content,
            case .addresses(let known) = older.content, !own.isEmpty
        else { return self }
        var lost: HTTPDNSAddress.Families = []
        for family in HTTPDNSAddress.Family.allCases
        where known.contains(where: { $0.family == family }) && !own.contains(where: { $0.family == family }) {
            lost.insert(.init(family))
        }
        lost = lost.intersection(queriedFamilies).subtracting(
            details.failedFamilies.union(older.details.failedFamilies)
        )
        guard !lost.isEmpty else { return self }
        var answer = self
        answer.details.failedFamilies.formUnion(lost)
        return answer
    }

    /// Returns the answer with the addresses that `older` has of the families that failed this time. It lives no longer than
    /// either.
    private func keepingFailedFamilies(of older: KnownAnswer, at now: MonotonicTime) -> KnownAnswer {
        if httpsRecordsFailed, details.httpsRecords == nil, now < older.expiresAt,
            let known = older.details.httpsRecords
        {
            var answer = self
            answer.httpsRecordsFailed = false
            answer.details.httpsRecords = known
            answer.life = min(expiresAt, older.expiresAt) - sentAt
            answer.refreshAt = min(refreshAt, answer.expiresAt)
            return answer.keepingFailedFamilies(of: older, at: now)
        }
        // Addresses that one provider may not answer must not be merged into the answer of another.
        guard !details.failedFamilies.isEmpty, now < older.expiresAt,
            origin?.providerScope == older.origin?.providerScope,
            case .addresses(let own) = content,
            case .addresses(let known) = older.content
        else { return self }
        let kept = known.filter { details.failedFamilies.contains($0.family) && !own.contains($0) }
        guard !kept.isEmpty else { return self }
        var answer = self
        let both = own + kept
        answer.content = .addresses(both.filter { $0.family == .v4 } + both.filter { $0.family == .v6 })
        answer.life = min(expiresAt, older.expiresAt) - sentAt
        answer.refreshAt = min(refreshAt, answer.expiresAt)
        return answer
    }
}

// The state of a key, changed by the results of its lookups.
extension KnownAnswer {
    /// Adds a definite answer, which ends a series of failures.
    ///
    /// An answer that was requested before the present one is dropped. An answer that may not be cached, because its lifetime
    /// is over, still removes the answer that it contradicts. A family that failed this time, or is missing for the first time,
    /// keeps its previous addresses. A negative answer is installed only if it is not doubted (``doubts(_:at:)``).
    /// - Returns: The answer as it is served to its waiters.
    @discardableResult
    mutating func install(_ new: KnownAnswer, at now: MonotonicTime) -> KnownAnswer {
        if sentAt > new.sentAt { return new }
        let merged = new.doubtingLostFamilies(of: self, at: now)
            .backingOffFailedFamilies(after: self)
            .keepingFailedFamilies(of: self, at: now)
        self = now < merged.expiresAt ? merged : KnownAnswer()
        return merged
    }

    /// Returns whether a negative answer does not remove the addresses yet: they are its own source's and may still be served,
    /// and neither a second provider nor an earlier lookup had the same result.
    ///
    /// A zone that is empty for a moment, or a provider that lost its data, must not cost the addresses of a name in use.
    func doubts(_ new: KnownAnswer, at now: MonotonicTime) -> Bool {
        guard case .nothing = new.content, !new.isConfirmed, sentAt <= new.sentAt, mayServe(at: now),
            origin?.source == new.origin?.source
        else { return false }
        return details.failure?.deniedAt.map { new.sentAt < $0 + Lifetimes.confirmation } ?? true
    }

    /// Records a negative answer that is doubted. The addresses stay, and the next lookup decides.
    /// - Parameters:
    ///   - end: The end of its lifetime.
    ///   - jitter: A number in 0...1.
    /// - Returns: The reason that the lookup has no result.
    mutating func recordDenial(
        _ denial: LookupFailure,
        until end: MonotonicTime,
        jitter: Double = 0,
        at now: MonotonicTime
    ) -> LookupFailure {
        let deniedAt = details.failure?.deniedAt ?? denial.sentAt
        recordFailure(denial, jitter: jitter, at: now)
        details.failure?.deniedAt = deniedAt
        details.failure?.deniedUntil = end
        details.failure?.retryAt = max(now, deniedAt + Lifetimes.confirmation * (1 + Lifetimes.backoffJitter * jitter))
        var reason = denial
        reason.error.hint = "its known addresses stay in use until another lookup has the same result"
        details.failure?.error = reason.error
        return reason
    }

    /// Adds the result of a lookup of the missing families alone, while the answer without them is in use.
    ///
    /// After a failure, or an answer that may have another scope, they are queried again after their back-off.
    /// - Parameters:
    ///   - new: Nil for a failure.
    ///   - chance: A number in -1...1.
    /// - Returns: The whole answer; nil when the incomplete one is no longer in use.
    mutating func complete(with new: KnownAnswer?, at now: MonotonicTime, chance: Double) -> KnownAnswer? {
        guard now < expiresAt, case .addresses(let known) = content else { return nil }
        let failures = familyFailures
        if let new, new.origin?.providerScope == origin?.providerScope {
            // The result replaces the addresses that a family kept from an older answer.
            let answered = details.failedFamilies.subtracting(new.details.failedFamilies)
            var both = known.filter { !answered.contains($0.family) }
            if case .addresses(let added) = new.content {
                both += added.filter { !both.contains($0) }
                life = min(expiresAt, new.expiresAt) - sentAt
            }
            details.failedFamilies = new.details.failedFamilies
            if !both.isEmpty {
                content = .addresses(both.filter { $0.family == .v4 } + both.filter { $0.family == .v6 })
            }
        }
        refreshAt = Lifetimes.refreshMoment(of: self, chance: chance)
        details.familyBackoff = nil
        if !details.failedFamilies.isEmpty {
            let backoff = FamilyBackoff(failures: failures + 1, since: now)
            details.familyBackoff = backoff
            refreshAt = min(refreshAt, backoff.retryAt)
        }
        return self
    }

    /// Adds the system resolver's answer after all providers failed.
    ///
    /// It is served until the providers may be queried again, and no longer than any answer of the system resolver.
    /// - Returns: The answer with that lifetime.
    mutating func installFallback(
        _ new: KnownAnswer,
        systemLife: Duration = .seconds(30),
        jitter: Double = 0,
        at now: MonotonicTime
    ) -> KnownAnswer {
        if sentAt > new.sentAt { return new }
        if let error = new.providersFailure {
            recordFailure(LookupFailure(error: error, sentAt: new.sentAt), jitter: jitter, at: now)
        }
        let untilRetry = (details.failure?.retryAt ?? now) - new.sentAt
        let kept = new.living(min(untilRetry, systemLife))
        let failure = details.failure
        self = now < kept.expiresAt ? kept : KnownAnswer()
        details.failure = failure
        return kept
    }

    /// Records a failed lookup. The cached answer stays.
    /// - Parameter jitter: A number in 0...1.
    mutating func recordFailure(_ new: LookupFailure, jitter: Double = 0, at now: MonotonicTime) {
        if sentAt > new.sentAt { return }
        let count = (details.failure?.count ?? 0) + 1
        details.failure = AnswerFailure(
            count: count,
            error: new.error,
            failedAt: now,
            retryAt: now + Lifetimes.backoff(afterFailures: count, jitter: jitter),
            skippedFallback: new.skippedFallback,
            deniedAt: details.failure?.deniedAt
        )
    }
}

/// The failures of an address family in a row, while the other family has addresses.
struct FamilyBackoff: Sendable, Hashable {
    var failures: Int
    /// The time from which a use of the answer queries the family again.
    var retryAt: MonotonicTime

    init(failures: Int, since now: MonotonicTime) {
        self.failures = failures
        retryAt = now + Lifetimes.familyBackoff(afterFailures: failures)
    }
}
