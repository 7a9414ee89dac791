internal import HTTPDNSPrimitives
internal import Synchronization

extension HTTPDNSResolver {
    /// Compares the providers' answer for a name with the system resolver's, once.
    ///
    /// No request waits for the comparison, and the providers' addresses are not used for anything else.
    /// - Parameter key: The key of the query to the providers.
    func compare(_ key: CacheKey, withSystem system: ShadowWord, by settings: LiveSettings) {
        var inquiry = inquiry(about: key, bypass: nil, by: settings.resolving)
        guard case .providers(let names, _) = inquiry.route?.action, !names.isEmpty else { return }
        // Families that providers are not queried for are not compared.
        let system = system.limited(to: inquiry.queried)
        // The system resolver's answer is already known.
        inquiry.route?.action = .providers(names, fallback: .none)
        let now = fixed.timeSource.coarseNow()
        let known = cache.shard(for: key).state.withLock { $0.known(key, by: settings.resolving, at: now) }
        switch known?.answer?.find(at: now) ?? .nothing {
        case .fresh(let answer):
            if answer.wantsRefresh(at: now), settings.resolving.configuration.cache.refreshesAhead {
                refresh(answer, inquiry, at: now)
            }
            shadows.count(key.host, system: system, providers: word(of: answer, inquiry))
        case .backingOff, .stale(_, mayAsk: false):
            shadows.count(key.host, system: system, providers: .failed)
        case .stale(_, mayAsk: true), .nothing:
            guard shadows.wait(key, system) else { return }
            let asked = inquiry
            // A detached task, because it is no part of the request: it has neither its priority nor its end.
            Task.detached { [self] in shadows.finish(key, await providersWord(asked)) }
        }
    }

    /// Returns the answer of a route's providers for a name, through cache and lookups as for a request.
    private func providersWord(_ inquiry: UpstreamLookup) async -> ShadowWord {
        guard mayAsk(inquiry) else { return .failed }
        let now = fixed.timeSource.now()
        let waiter = OneShot<Delivery>()
        let (fresh, place): (CachedAnswer?, (seat: AnswerCache.Flights.Seat, starts: Bool)?) =
            cache.shard(for: inquiry.key).state.withLock { state in
                let known = state.known(inquiry.key, by: inquiry.settings, at: now)
                if case .fresh(let answer)? = known?.answer?.find(at: now) { return (answer, nil) }
                let epoch = inquiry.settings.epoch
                guard known != nil, !state.flights.isOutdated(inquiry.key, epoch: epoch) else { return (nil, nil) }
                return (
                    nil, state.flights.join(inquiry.key, waiter, epoch: epoch, at: now, mayStart: flightBudget.take)
                )
            }
        if let fresh { return word(of: fresh, inquiry) }
        guard let place else { return .failed }
        if place.starts { start(inquiry, place.seat.flight) }
        if live.isClosed { waiter.deliver(.shutDown) }
        // A lookup always ends within the resolver's limit.
        guard case .answer(let answer) = await waiter.value() else { return .failed }
        return word(of: answer, inquiry)
    }

    /// Returns the usable addresses of an answer. An answer without usable addresses counts as one without addresses.
    private func word(of answer: CachedAnswer, _ inquiry: UpstreamLookup) -> ShadowWord {
        guard let origin = answer.origin, origin.source == .provider else { return .failed }
        guard answer.kind == .addresses else { return .nothing }
        let policy = inquiry.settings.configuration.policy
        let addresses = answer.endpoints(port: ServiceRoute.port).map(\.address).filter { address in
            policy.refusal(
                of: address,
                from: .provider,
                providerScope: origin.providerScope,
                route: inquiry.route
            ) == nil
        }
        return addresses.isEmpty ? .failed : .addresses(Set(addresses))
    }
}
