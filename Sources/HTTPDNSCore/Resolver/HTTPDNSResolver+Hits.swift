// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

// The queries that are answered without a wait, most of them by the cached answer alone.
extension HTTPDNSResolver {
    /// Returns the answer if it needs no wait; else nil.
    ///
    /// It needs none when it is pinned, literal, mapped to addresses, fresh in the cache, or stale while no provider may be
    /// queried. A use shortly before the end of an answer's lifetime starts a refresh in the background.
    /// - Parameter hasMissed: Whether ``directHit(_:port:)`` has just returned nil for the same query.
    /// - Throws: ``HTTPDNSResolver/Error`` for an address that the policy refuses, or a cached negative answer or failure.
    package func immediateResolution(
        for query: HTTPDNSResolver.Query,
        hasMissed: Bool = false
    ) throws(HTTPDNSResolver.Error) -> HTTPDNSResolver.Resolution? {
        if !hasMissed, let resolution = directHit(query) { return resolution }
        let settings = live.current
        switch try decide(query, by: settings) {
        case .settled(let resolution):
            if let count = AnswerCount.immediate(resolution.source) { counting.count(count) }
            return resolution
        case .lookFor(let name):
            return try immediateAnswer(name, to: query, by: settings)
        }
    }

    /// Returns a fresh cached answer that alone decides the query, or the addresses of a rule that do: the path of most queries.
    ///
    /// For an answer it reads the version of the settings, and not the settings themselves: ``DirectUse`` was recorded with the answer under
    /// that version.
    /// - Returns: Nil in all other cases.
    private func directHit(_ query: HTTPDNSResolver.Query) -> HTTPDNSResolver.Resolution? {
        guard case .name(let host) = query.host, query.freshAfter == nil, query.addresses.isEmpty,
            query.families?.intersection(.both).isEmpty != true,
            // Requests of a client have no client subnet of their own.
            query.usesSystemResolver || query.clientSubnet == nil
        else { return nil }
        return directHit(
            host,
            port: query.port,
            families: query.families,
            systemOnly: query.usesSystemResolver,
            hasRolloutKey: query.rolloutKey != nil
        )
    }

    /// Returns a fresh cached answer or addresses of a rule that alone decide a query with nothing but a name and a port; nil in
    /// all other cases.
    package func directHit(_ host: HTTPDNSName, port: UInt16) -> HTTPDNSResolver.Resolution? {
        directHit(host, port: port, families: nil, systemOnly: false, hasRolloutKey: false)
    }

    private func directHit(
        _ host: HTTPDNSName,
        port: UInt16,
        families: HTTPDNSAddress.Families?,
        systemOnly: Bool,
        hasRolloutKey: Bool
    ) -> HTTPDNSResolver.Resolution? {
        let version = live.word
        guard killSwitch.isFullyOn, !live.isClosed else { return nil }
        guard
            let (answer, use) = cache.findForDirectUse(
                host,
                families: families,
                isSystemOnly: systemOnly,
                under: version
            ),
            !use.dependsOnKey || !hasRolloutKey
        else { return systemOnly ? nil : mappedHit(host, port: port, families: families) }
        let now = fixed.timeSource.coarseNow()
        guard answer.isFresh(at: now), now < answer.refreshAt, let origin = answer.directOrigin else { return nil }
        origin.counters.increment(AnswerCount.hit(fromSystem: origin.source == .system, isStale: false).rawValue)
        if use.countsRollout { counting.count(.rolledOut) }
        let life = answer.expiresAt.nanoseconds(since: now)
        let age = max(now.nanoseconds(since: answer.sentAt), 0)
        // The last use of the answer, which is moved and not copied.
        var resolution = HTTPDNSResolver.Resolution(
            .cached(answer, port: port),
            source: origin.source,
            life: life,
            age: age
        )
        resolution.isCached = true
        resolution.generation = version.generation
        if systemOnly { resolution.reason = .request }
        return resolution
    }

    /// Returns the addresses of a rule for exactly this name, which are the same for each query; nil in all other cases.
    private func mappedHit(
        _ host: HTTPDNSName,
        port: UInt16,
        families: HTTPDNSAddress.Families?
    ) -> HTTPDNSResolver.Resolution? {
        let settings = live.current
        guard !host.isLocalhost, let rule = settings.mappings.index.onlyRule(for: host, port: port),
            let resolution = prepared(rule, port: port, families: families, by: settings)
        else { return nil }
        counting.count(.mapped)
        return resolution
    }

    /// Records that an answer alone decided a query, if it will decide each one for its key while the settings stay as they
    /// are.
    private func noteDirectUse(
        of answer: CachedAnswer,
        as resolution: HTTPDNSResolver.Resolution,
        _ name: CacheLookup,
        _ query: HTTPDNSResolver.Query,
        by settings: LiveSettings
    ) {
        // Otherwise the policy has removed an address.
        guard case .cached = resolution.content, answer.kind == .addresses, answer.httpsRecords == nil,
            name.mappingTrace == nil, name.shadow == nil, name.switchedOff == nil, name.key.clientSubnet == nil,
            case .name(let host) = query.host, name.host.isAbsolute == host.isAbsolute
        else { return }
        var use = DirectUse(under: settings.word, countsRollout: false, dependsOnKey: false)
        if query.usesSystemResolver {
            guard name.systemOnly == .request else { return }
        } else {
            guard name.systemOnly == nil, !settings.mappings.index.hasRule(for: host) else { return }
            if name.counts == [.rolledOut], let rollout = settings.resolving.routes.entry(for: host)?.route.rollout {
                use = DirectUse(under: settings.word, countsRollout: true, dependsOnKey: rollout.by == .key)
                // This query may be within the rollout because of its own key.
                if rollout.by == .key, query.rolloutKey != nil { return }
            } else if !name.counts.isEmpty {
                return
            }
        }
        cache.note(use, of: answer, for: name.key)
    }

    private func immediateAnswer(
        _ name: CacheLookup,
        to query: HTTPDNSResolver.Query,
        by settings: LiveSettings
    ) throws(HTTPDNSResolver.Error) -> HTTPDNSResolver.Resolution? {
        let now = fixed.timeSource.coarseNow()
        let known = cache.shard(for: name.key).state.withLock { $0.known(name.key, by: settings.resolving, at: now) }
        let shared = answerForAllClients(name.key, by: settings.resolving, at: now)
        let finding = CachedAnswer.find(known?.answer, orForAllClients: shared, at: now)
        switch finding {
        case .fresh(let answer):
            if answer.isTooOld(for: query), mayAsk(lookup(for: name, by: settings)) { return nil }
            if answer.wantsRefresh(at: now), settings.resolving.configuration.cache.refreshesAhead {
                refresh(answer, lookup(for: name, by: settings), at: now)
            }
        case .stale(let answer, mayAsk: true):
            let lookup = lookup(for: name, by: settings)
            if mayAsk(lookup) || lookup.mayReplace(answer) { return nil }
        case .nothing: return nil
        case .stale, .backingOff: break
        }
        do throws(HTTPDNSResolver.Error) {
            guard let resolution = try use(finding, for: name, query, by: settings, at: now) else { return nil }
            // The next use of the answer checks again whether that lookup is in flight.
            if case .fresh(let answer) = finding, !resolution.awaitsFamily {
                noteDirectUse(of: answer, as: resolution, name, query, by: settings)
            }
            return concluded(resolution, name, by: settings)
        } catch {
            return try lastResort(after: error, name, query, by: settings)
        }
    }
}
