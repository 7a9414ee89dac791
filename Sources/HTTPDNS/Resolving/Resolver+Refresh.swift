internal import HTTPDNSPrimitives

extension Resolver {
    /// Asks anew in the background, unless someone does already, or nobody may be asked.
    /// - Returns: Whether it does.
    @discardableResult
    func refresh(_ name: NameQuestion) -> Bool {
        let inquiry = inquiry(for: name)
        guard mayAsk(inquiry) else { return false }
        let flight = cache.shard(for: name.key).state.withLock { state in
            state.flights.open(name.key, mayStart: flightBudget.take)
        }
        guard let flight else { return false }
        counting.count(.refreshStarted)
        observation.tell(.refreshStarted) { event in
            event.host = name.host
            event.route = inquiry.route?.pattern.description
        }
        start(inquiry, flight, isRefresh: true)
        return true
    }

    /// Whether asking can bring anything now: not while all providers of the route rest after failing.
    func mayAsk(_ inquiry: Inquiry) -> Bool {
        guard case .providers(let names, _) = inquiry.route?.action, inquiry.bypassReason == nil, !names.isEmpty else {
            return true
        }
        return team.mayAsk(names)
    }
}
