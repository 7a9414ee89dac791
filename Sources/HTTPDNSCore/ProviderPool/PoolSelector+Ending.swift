internal import HTTPDNSPrimitives

/// The end of requests.
extension PoolSelector {
    /// Ends a request that has no provider left to query or to wait for.
    mutating func conclude(exhausted id: PoolRequest.ID, at now: MonotonicTime, _ actions: inout [Action]) {
        guard let ask = asks[id] else { return }
        if var answer = ask.tentative {
            answer.failedAttempts = ask.failedAttempts
            answer.isUnconfirmed = isUnconfirmed(ask)
            finish(id, .outcome(.answered(answer)), at: now, &actions)
            return
        }
        let unasked = ask.remaining.map { self.unasked($0, at: now) }
        let outcome = ProviderPool.Outcome.failed(
            ask.failedAttempts + unasked,
            isTimeout: now >= ask.assignment.deadline,
            retryAfter: requestedRestEnd(ask.assignment.providers, at: now)
        )
        finish(id, .outcome(outcome), at: now, &actions)
    }

    /// Ends a request at its deadline.
    mutating func giveUp(_ id: PoolRequest.ID, at now: MonotonicTime, _ actions: inout [Action]) {
        guard let ask = asks[id] else { return }
        for query in ask.pending.compactMap({ queries[$0] }) {
            let member = members[query.member]
            let failure =
                query.sentAt == nil
                ? "not asked: all its \(member.maximumInFlight) places were taken by other queries" : "no answer"
            let elapsed = now - (query.sentAt ?? query.startedAt)
            asks[id]?.failedAttempts.append(
                HTTPDNSResolver.ProviderAttempt(provider: member.name, failure: failure, elapsed: elapsed)
            )
        }
        conclude(exhausted: id, at: now, &actions)
    }

    /// Delivers the outcome. Sent queries continue, so that their latency or failure is known; the others are not sent.
    mutating func finish(_ id: PoolRequest.ID, _ ending: Ending, at now: MonotonicTime, _ actions: inout [Action]) {
        guard let ask = asks.removeValue(forKey: id) else { return }
        for query in ask.pending {
            if queries[query]?.sentAt == nil { unqueue(query) } else { queries[query]?.ask = nil }
        }
        actions.append(.finish(id, ending))
        if let number = ask.confirms { release(number, at: now, &actions) }
    }

    func unasked(_ number: Int, at now: MonotonicTime) -> HTTPDNSResolver.ProviderAttempt {
        HTTPDNSResolver.ProviderAttempt(
            provider: members[number].name,
            failure: reasonNotToAsk(number, at: now),
            elapsed: .zero
        )
    }

    mutating func unqueue(_ id: PoolQuery.ID) {
        guard let query = queries.removeValue(forKey: id) else { return }
        members[query.member].leaveQueue(id)
    }

    private func reasonNotToAsk(_ number: Int, at now: MonotonicTime) -> String {
        guard let rest = members[number].health.rest, now < rest.until else { return "not asked: no time was left" }
        let left = (rest.until - now).shortText
        return rest.isRequested
            ? "not asked: it wants no queries for another \(left) (\(rest.why))"
            : "not asked: in quarantine for another \(left) (\(rest.why))"
    }

    /// Returns the earliest time at which one of them may be queried again; nil if one of them may be now.
    private func requestedRestEnd(_ providers: [String], at now: MonotonicTime) -> MonotonicTime? {
        var end: MonotonicTime?
        for number in providers.compactMap({ numbers[$0] }) {
            guard let rest = members[number].health.rest, rest.isRequested, now < rest.until else { return nil }
            end = min(end ?? rest.until, rest.until)
        }
        return end
    }
}
