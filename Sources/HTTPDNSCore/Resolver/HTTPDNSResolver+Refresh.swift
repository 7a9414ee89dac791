internal import HTTPDNSPrimitives

extension HTTPDNSResolver {
    /// Refreshes an answer in use. Until its lifetime is nearly over, only its missing families are queried.
    func refresh(_ answer: CachedAnswer, _ inquiry: UpstreamLookup, at now: MonotonicTime) {
        var inquiry = inquiry
        let failed = answer.header.details?.failedFamilies ?? []
        let life = answer.expiresAt - answer.sentAt
        if !failed.isEmpty, inquiry.route?.usesServices != true,
            now < answer.expiresAt - Lifetimes.refreshWindow(of: life) * (1 + Lifetimes.refreshJitter)
        {
            inquiry.queried.formIntersection(failed)
            inquiry.completesAnswer = true
            if inquiry.queried.isEmpty { return }
        }
        refresh(inquiry)
    }

    /// Refreshes an answer in the background, unless a lookup is in flight already or no source may be queried.
    /// - Returns: Whether a refresh was started.
    @discardableResult
    func refresh(_ inquiry: UpstreamLookup) -> Bool {
        guard mayAsk(inquiry) else { return false }
        let now = fixed.timeSource.now()
        let flight = cache.shard(for: inquiry.key).state.withLock { state in
            state.flights.open(
                inquiry.key,
                epoch: inquiry.settings.epoch,
                isPartial: inquiry.completesAnswer,
                at: now,
                mayStart: flightBudget.take
            )
        }
        guard let flight else { return false }
        counting.count(.refreshStarted)
        observation.tell(.refreshStarted) { event in
            event.host = inquiry.host
            event.route = inquiry.route?.pattern.description
        }
        start(inquiry, flight, isRefresh: true)
        return true
    }

    /// Returns whether a lookup can succeed now: not while all providers of the route are in back-off after failures.
    func mayAsk(_ inquiry: UpstreamLookup) -> Bool {
        guard case .providers(let names, _) = inquiry.route?.action, inquiry.bypassReason == nil, !names.isEmpty else {
            return true
        }
        return inquiry.settings.team.mayAsk(names)
    }
}
