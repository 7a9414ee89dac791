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
            // The case of nearly every request.
            if answer.isFresh(at: now) {
                if answer.wantsRefresh(at: now), configuration.cache.refreshesAhead { refresh(name) }
                return try hit(answer, for: name, question, at: now)
            }
            let finding = answer.find(at: now)
            switch finding {
            case .stale(_, mayAsk: true):
                if mayAsk(inquiry(for: name)) { return nil }
            case .fresh, .stale, .backingOff, .nothing: break
            }
            return try use(finding, for: name, question, at: now)
        }
    }
}
