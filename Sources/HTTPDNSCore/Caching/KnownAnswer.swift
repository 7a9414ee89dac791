package import HTTPDNSPrimitives

/// A definite answer about a name: addresses, or that there are none.
package struct KnownAnswer: Sendable {
    package enum Content: Sendable {
        /// Addresses in the order in which they are tried, at least one.
        case addresses([HTTPDNSAddress])
        /// The name does not exist, or has no address of the families asked for.
        case nothing(HTTPDNSResolver.Error)
    }

    var content: Content
    var origin: AnswerOrigin
    /// When the question was sent: from then on its age counts.
    var sentAt: MonotonicTime
    /// How long it may be used after that.
    var life: Duration
    /// When a use of it starts asking anew in the background.
    var refreshAt: MonotonicTime
    var canonicalName: HTTPDNSName?
    var failedAttempts: [HTTPDNSResolver.ProviderAttempt] = []
    /// Families that were asked for and failed: what was known of them before is not contradicted.
    var failedFamilies: HTTPDNSAddress.Families = []
    /// Whether HTTPS records were asked for in vain: what was known of them before is not contradicted.
    package var servicesFailed = false
    /// Whether questions with any client subnet may use it, which it was asked for with one.
    var holdsForAllClients = false
    /// Where HTTPS records lead; nil without any.
    var services: ServiceRoute?

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

    /// Whether the system resolver said that the name does not exist.
    var isUnknownToSystem: Bool {
        guard origin.source == .system, case .nothing(let error) = content else { return false }
        return error.code == .nameNotFound
    }

    /// The same answer with another life, and nothing asked before its end.
    func living(_ life: Duration) -> KnownAnswer {
        var answer = self
        answer.life = life
        answer.refreshAt = answer.expiresAt
        return answer
    }

    /// The answer with what `older` knew of the families that failed this time. It lives no longer than either.
    func keepingFailedFamilies(of older: KnownAnswer, at now: MonotonicTime) -> KnownAnswer {
        if servicesFailed, services == nil, now < older.expiresAt, let known = older.services {
            var answer = self
            answer.servicesFailed = false
            answer.services = known
            answer.life = min(expiresAt, older.expiresAt) - sentAt
            answer.refreshAt = min(refreshAt, answer.expiresAt)
            return answer.keepingFailedFamilies(of: older, at: now)
        }
        // Addresses that one provider may not answer do not come in with the answer of another.
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
