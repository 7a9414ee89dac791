internal import HTTPDNSPrimitives

extension Resolver {
    /// The answer when it needs no waiting: pinned, literal, mapped to addresses, fresh in the cache, or stale while asking
    /// is of no use; else nil. A use shortly before the end of an answer's life starts asking anew in the background.
    /// - Throws: ``ResolutionError`` for an address that the policy refuses, or a cached negative answer or failure.
    package func immediateResolution(for question: ResolutionQuestion) throws(ResolutionError) -> Resolution? {
        switch try decide(question) {
        case .settled(let resolution):
            if let count = AnswerCount.immediate(resolution.source) { counting.count(count) }
            return resolution
        case .lookFor(let name):
            let now = configuration.timeSource.coarseNow()
            guard let answer = cache.find(name.key) else {
                return nil
            }
            let finding = answer.find(at: now)
            switch finding {
            case .fresh:
                if answer.wantsRefresh(at: now), configuration.cache.refreshesAhead { refresh(name) }
            case .stale(_, mayAsk: true):
                if mayAsk(inquiry(for: name)) { return nil }
            case .stale, .backingOff, .nothing: break
            }
            return try use(finding, for: name, question, at: now)
        }
    }

    /// Asks anew in the background, unless someone does already, or nobody may be asked.
    private func refresh(_ name: NameQuestion) {
        let inquiry = inquiry(for: name)
        guard mayAsk(inquiry) else { return }
        let flight = cache.shard(for: name.key).state.withLock { state in
            state.flights.open(name.key, mayStart: flightBudget.take)
        }
        guard let flight else { return }
        counting.count(.refreshStarted)
        observation.tell(.refreshStarted) { event in
            event.host = name.host
            event.route = inquiry.route?.pattern.description
        }
        start(inquiry, flight, isRefresh: true)
    }

    /// Whether asking can bring anything now: not while all providers of the route rest after failing.
    func mayAsk(_ inquiry: Inquiry) -> Bool {
        guard case .providers(let names, _) = inquiry.route?.action, inquiry.bypassReason == nil, !names.isEmpty else {
            return true
        }
        return team.mayAsk(names)
    }
}
