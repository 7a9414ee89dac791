// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSPrimitives

/// A definite answer for a name: addresses, or the fact that there are none.
package struct KnownAnswer: Sendable {
    package enum Content: Sendable {
        /// At least one address, in the order to try.
        case addresses([HTTPDNSAddress])
        /// The name does not exist, or has no address of the queried families.
        case nothing(HTTPDNSResolver.Error)
    }

    var content: Content
    var origin: AnswerOrigin
    /// The time the query was sent, from which its age counts.
    var sentAt: MonotonicTime
    /// The lifetime after that.
    var life: Duration
    /// The time from which a use of it starts a refresh in the background.
    var refreshAt: MonotonicTime
    var canonicalName: HTTPDNSName?
    var failedAttempts: [HTTPDNSResolver.ProviderAttempt] = []
    /// The failure of all providers, when the system resolver has answered instead of them.
    var providersFailure: HTTPDNSResolver.Error?
    /// The families that its source was queried for.
    var queriedFamilies: HTTPDNSAddress.Families = .both
    /// The queried families that failed: their previous addresses are not contradicted.
    var failedFamilies: HTTPDNSAddress.Families = []
    /// Whether a failed family had no answer in time: it is queried once more immediately.
    var isFamilyLate = false
    /// The next query for the failed families; nil while none failed.
    var familyBackoff: FamilyBackoff?
    /// Whether two providers gave it, where it is negative.
    var isConfirmed = false
    /// Whether the query for HTTPS records failed: the previous records are not contradicted.
    var httpsRecordsFailed = false
    /// Whether queries with any client subnet may use it, although the query had one.
    var holdsForAllClients = false
    /// The result of the HTTPS records; nil without any.
    var httpsRecords: ServiceRoute?

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

    var expiresAt: MonotonicTime { sentAt + life }

    /// Returns whether it has addresses that may be served, within their lifetime or past it.
    func mayServe(at now: MonotonicTime) -> Bool {
        guard case .addresses = content, httpsRecords?.unavailable == nil else { return false }
        return now < expiresAt + origin.staleLimit
    }

    /// Whether the system resolver reported that the name does not exist.
    var isUnknownToSystem: Bool {
        guard origin.source == .system, case .nothing(let error) = content else { return false }
        return error.code == .nameNotFound
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
    func backingOffFailedFamilies(after older: KnownAnswer?) -> KnownAnswer {
        var answer = self
        if let older, case .addresses = content {
            let resting = older.failedFamilies.subtracting(queriedFamilies)
            answer.failedFamilies.formUnion(resting)
            if !resting.isEmpty { answer.familyBackoff = older.familyBackoff }
        }
        guard !answer.failedFamilies.isEmpty else { return self }
        var failures = 1
        if let older, !older.failedFamilies.isDisjoint(with: answer.failedFamilies) { failures += older.familyFailures }
        let backoff = answer.familyBackoff ?? FamilyBackoff(failures: failures, since: sentAt)
        answer.familyBackoff = backoff
        answer.refreshAt = min(refreshAt, backoff.retryAt)
        return answer
    }

    /// The number of failures of the failed families in a row.
    var familyFailures: Int { familyBackoff?.failures ?? 0 }

    /// Returns the answer that counts a family as failed that it lacks and `older` has: a family that is lost for a moment is
    /// queried once more. It is missing when that query does not find it either.
    func doubtingLostFamilies(of older: KnownAnswer, at now: MonotonicTime) -> KnownAnswer {
        guard older.mayServe(at: now), origin.source == older.origin.source, case .addresses(let own) = content,
            case .addresses(let known) = older.content, !own.isEmpty
        else { return self }
        var lost: HTTPDNSAddress.Families = []
        for (family, member) in [(HTTPDNSAddress.Family.v4, HTTPDNSAddress.Families.v4), (.v6, .v6)]
        where known.contains(where: { $0.family == family }) && !own.contains(where: { $0.family == family }) {
            lost.insert(member)
        }
        lost = lost.intersection(queriedFamilies).subtracting(failedFamilies.union(older.failedFamilies))
        guard !lost.isEmpty else { return self }
        var answer = self
        answer.failedFamilies.formUnion(lost)
        return answer
    }

    /// Returns the answer with the addresses that `older` has of the families that failed this time. It lives no longer than
    /// either.
    func keepingFailedFamilies(of older: KnownAnswer, at now: MonotonicTime) -> KnownAnswer {
        if httpsRecordsFailed, httpsRecords == nil, now < older.expiresAt, let known = older.httpsRecords {
            var answer = self
            answer.httpsRecordsFailed = false
            answer.httpsRecords = known
            answer.life = min(expiresAt, older.expiresAt) - sentAt
            answer.refreshAt = min(refreshAt, answer.expiresAt)
            return answer.keepingFailedFamilies(of: older, at: now)
        }
        // Addresses that one provider may not answer must not be merged into the answer of another.
        guard !failedFamilies.isEmpty, now < older.expiresAt, origin.providerScope == older.origin.providerScope,
            case .addresses(let own) = content,
            case .addresses(let known) = older.content
        else { return self }
        let kept = known.filter { failedFamilies.contains($0.family) && !own.contains($0) }
        guard !kept.isEmpty else { return self }
        var answer = self
        let both = own + kept
        answer.content = .addresses(both.filter { $0.family == .v4 } + both.filter { $0.family == .v6 })
        answer.life = min(expiresAt, older.expiresAt) - sentAt
        answer.refreshAt = min(refreshAt, answer.expiresAt)
        return answer
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
