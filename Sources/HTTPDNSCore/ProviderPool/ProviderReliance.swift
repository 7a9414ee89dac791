internal import HTTPDNSPrimitives

/// The reliability of a route's providers at a moment.
enum ProviderReliance: Sendable, Equatable {
    /// At least one of them answers, as far as is known.
    case healthy
    /// The answers of the available providers are overdue. The value is the time to wait for another answer.
    case suspect(Duration)
    /// All of them are in quarantine or being probed, or have used up their budgets.
    case none
}

extension PoolSelector {
    func reliance(on providers: [String], at now: MonotonicTime) -> ProviderReliance {
        var delay: Duration?
        for number in providers.compactMap({ numbers[$0] }) where members[number].hasBudget(at: now) {
            let health = members[number].health
            switch health.standing(at: now) {
            case .healthy: return .healthy
            case .suspect: delay = max(delay ?? .zero, health.hedgeDelay)
            case .probeDue, .quarantined: continue
            }
        }
        return delay.map(ProviderReliance.suspect) ?? .none
    }

    /// Returns the reason that each of these providers has no answer, where they are not waited for.
    func attempts(
        withoutAnswerFrom providers: [String],
        since start: MonotonicTime,
        at now: MonotonicTime
    ) -> [HTTPDNSResolver.ProviderAttempt] {
        providers.compactMap { numbers[$0] }.map { number in
            let member = members[number]
            if let rest = member.health.rest {
                if now < rest.until { return unasked(number, at: now) }
                let failure = "not waited for: it is tried again after a quarantine (\(rest.why))"
                return HTTPDNSResolver.ProviderAttempt(provider: member.name, failure: failure, elapsed: .zero)
            }
            guard member.hasBudget(at: now) else {
                return HTTPDNSResolver.ProviderAttempt(
                    provider: member.name,
                    failure: "not asked: over its budget",
                    elapsed: .zero
                )
            }
            return HTTPDNSResolver.ProviderAttempt(provider: member.name, failure: "no answer", elapsed: now - start)
        }
    }
}
