internal import HTTPDNSPrimitives
internal import Synchronization

extension HTTPDNSResolver {
    /// Returns the answer if it needs no wait; else nil.
    ///
    /// It needs none when it is pinned, literal, mapped to addresses, fresh in the cache, or stale while no provider may be
    /// queried. A use shortly before the end of an answer's lifetime starts a refresh in the background.
    /// - Throws: ``HTTPDNSResolver/Error`` for an address that the policy refuses, or a cached negative answer or failure.
    package func immediateResolution(for question: HTTPDNSResolver.Query) throws(HTTPDNSResolver.Error)
        -> HTTPDNSResolver.Resolution?
    {
        if let resolution = plainHit(question) { return resolution }
        let settings = live.current
        switch try decide(question, by: settings) {
        case .settled(let resolution):
            if let count = AnswerCount.immediate(resolution.source) { counting.count(count) }
            return resolution
        case .lookFor(let name):
            return try immediateAnswer(name, to: question, by: settings)
        }
    }

    /// Returns a fresh cached answer to which no other rule applies: the path of most queries.
    ///
    /// It reads the version of the settings once, and not the settings themselves: the answer is known to be usable under
    /// that version, which has no mappings, rollouts or address rules to be checked.
    /// - Returns: Nil in all other cases.
    private func plainHit(_ question: HTTPDNSResolver.Query) -> HTTPDNSResolver.Resolution? {
        let word = live.word
        guard word.isPlain, killSwitch.isFullyOn, case .name(let host) = question.host,
            question.freshAfter == nil, question.pinnedTo?.isEmpty ?? true,
            question.families?.intersection(.both).isEmpty != true,
            !live.isClosed, !host.isLocalhost, !host.isAbsolute
        else { return nil }
        let bypass = question.bypass
        let key = CacheKey(
            host,
            families: question.families,
            isBypass: bypass,
            clientSubnet: bypass ? nil : question.clientSubnet
        )
        guard let answer = cache.find(key, epoch: word.epoch) else { return nil }
        let now = fixed.timeSource.coarseNow()
        guard answer.isFresh(at: now), answer.kind == .addresses, now < answer.refreshAt, answer.services == nil,
            let origin = answer.origin, let admitted = origin.admittedScope, answer.widestScope <= admitted
        else { return nil }
        var resolution = HTTPDNSResolver.Resolution(
            .cached(answer, port: question.port),
            source: origin.source,
            details: nil,
            life: max((answer.expiresAt - now).wholeNanoseconds, 0),
            age: max((now - answer.sentAt).wholeNanoseconds, 0)
        )
        resolution.isCached = true
        resolution.generation = word.generation
        if bypass { resolution.reason = .request }
        origin.counters.add(to: AnswerCount.hit(fromSystem: origin.source == .system, isStale: false).rawValue)
        return resolution
    }

    private func immediateAnswer(
        _ name: CacheLookup,
        to question: HTTPDNSResolver.Query,
        by settings: LiveSettings
    ) throws(HTTPDNSResolver.Error) -> HTTPDNSResolver.Resolution? {
        let now = fixed.timeSource.coarseNow()
        let known = cache.shard(for: name.key).state.withLock { $0.known(name.key, by: settings.resolving, at: now) }
        let shared = answerForAllClients(name.key, by: settings.resolving, at: now)
        let finding = CachedAnswer.find(known?.answer, orForAllClients: shared, at: now)
        switch finding {
        case .fresh(let answer):
            if answer.isTooOld(for: question), mayAsk(inquiry(for: name, by: settings)) { return nil }
            if answer.wantsRefresh(at: now), settings.resolving.configuration.cache.refreshesAhead {
                refresh(answer, inquiry(for: name, by: settings), at: now)
            }
        case .stale(let answer, mayAsk: true):
            let inquiry = inquiry(for: name, by: settings)
            if mayAsk(inquiry) || inquiry.mayReplace(answer) { return nil }
        case .nothing: return nil
        case .stale, .backingOff: break
        }
        do throws(HTTPDNSResolver.Error) {
            guard let resolution = try use(finding, for: name, question, by: settings, at: now) else { return nil }
            return concluded(resolution, name, by: settings)
        } catch {
            return try lastResort(after: error, name, question, by: settings)
        }
    }
}
