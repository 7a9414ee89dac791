// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// A query that the request, literals and mappings left open: the key to look up in the cache, and the source otherwise.
struct CacheLookup: Sendable {
    let resolver: HTTPDNSResolver
    let query: HTTPDNSResolver.Query
    /// The settings that it was decided by.
    let settings: LiveSettings
    /// The key. Its name is the query's own, or the one at the end of its `via` rules.
    var key: CacheKey
    /// The reason that the system resolver is queried, unless the name's route decides.
    var systemOnly: SystemOnlyReason?
    /// The mapping rule that applied.
    var mappingTrace: MappingTrace?
    /// The counts to add for it.
    var counts: [OccurrenceCount] = []
    /// The kill switch entry, for ``SystemOnlyReason/switchedOff``.
    var switchedOff: HTTPDNSResolver.KillSwitch.Entry?
    /// The key of the query to the providers whose answer is to be compared.
    var shadow: CacheKey?

    init(_ resolver: HTTPDNSResolver, _ query: HTTPDNSResolver.Query, by settings: LiveSettings, _ key: CacheKey) {
        self.resolver = resolver
        self.query = query
        self.settings = settings
        self.key = key
    }

    var host: HTTPDNSName { key.host }

    /// The lookup at the sources for the key: its route, providers and families.
    var upstream: UpstreamLookup {
        var lookup = resolver.lookup(about: key, systemOnly: systemOnly, by: settings.resolving)
        lookup.queriedName = mappingTrace?.queriedName
        return lookup
    }

    /// Makes it a lookup at the system resolver alone.
    mutating func takeSystem(_ reason: SystemOnlyReason) {
        systemOnly = reason
        key = CacheKey(host, families: query.families, isSystemOnly: true)
    }

    /// Makes it a lookup at the system resolver, because the name is switched off.
    mutating func switchOff(by entry: HTTPDNSResolver.KillSwitch.Entry) {
        takeSystem(.switchedOff)
        counts = [.switchedOff]
        switchedOff = entry
    }

    /// Returns the resolution if the cache has it and no wait is needed; else nil.
    ///
    /// A use shortly before the end of an answer's lifetime starts a refresh in the background.
    /// - Throws: ``HTTPDNSResolver/Error`` for an address that the policy refuses, or a cached negative answer or failure.
    func cached() throws(HTTPDNSResolver.Error) -> HTTPDNSResolver.Resolution? {
        let now = resolver.fixed.timeSource.coarseNow()
        let known = resolver.cache.shard(for: key).state.withLock { $0.known(key, by: settings.resolving, at: now) }
        let shared = resolver.cache.answerForAllClients(key, by: settings.resolving, at: now)
        let finding = CachedAnswer.find(known?.answer, orForAllClients: shared, at: now)
        if finding.needsLookup(for: query, by: upstream, mayAsk: upstream.mayAsk) { return nil }
        if case .fresh(let answer) = finding, answer.wantsRefresh(at: now),
            settings.resolving.configuration.cache.refreshesAhead
        {
            upstream.refresh(answer, at: now)
        }
        do throws(HTTPDNSResolver.Error) {
            guard let resolution = try use(finding, at: now) else { return nil }
            // The next use of the answer checks again whether that lookup is in flight.
            if case .fresh(let answer) = finding, !resolution.awaitsFamily { noteDirectUse(of: answer, as: resolution) }
            return concluded(resolution)
        } catch {
            return try lastResort(after: error)
        }
    }

    /// Records that an answer alone decided the query, if it will decide each one for its key while the settings stay as they
    /// are.
    private func noteDirectUse(of answer: CachedAnswer, as resolution: HTTPDNSResolver.Resolution) {
        // Otherwise the policy has removed an address.
        guard case .cached = resolution.content, answer.kind == .addresses, answer.httpsRecords == nil,
            mappingTrace == nil, shadow == nil, switchedOff == nil, key.clientSubnet == nil,
            case .name(let name) = query.host, host.isAbsolute == name.isAbsolute
        else { return }
        var use = DirectUse(under: settings.word, countsRollout: false, dependsOnKey: false)
        if query.usesSystemResolver {
            guard systemOnly == .request else { return }
        } else {
            guard systemOnly == nil, !settings.mappings.index.hasRule(for: name) else { return }
            if counts == [.rolledOut], let rollout = settings.resolving.routes.entry(for: name)?.route.rollout {
                use = DirectUse(under: settings.word, countsRollout: true, dependsOnKey: rollout.by == .key)
                // This query may be within the rollout because of its own key.
                if rollout.by == .key, query.rolloutKey != nil { return }
            } else if !counts.isEmpty {
                return
            }
        }
        resolver.cache.note(use, of: answer, for: key)
    }
}

// The use of an answer for the query.
extension CacheLookup {
    /// Returns the resolution for what the cache has, counted as a cache hit; nil when there is nothing to use.
    /// - Parameter isCounted: False for a query that was counted before.
    func use(
        _ finding: CachedAnswer.Finding,
        at now: MonotonicTime,
        isCounted: Bool = true
    ) throws(HTTPDNSResolver.Error) -> HTTPDNSResolver.Resolution? {
        switch finding {
        case .fresh(let answer), .stale(let answer, _):
            guard isCounted else { return try use(answer, at: now) }
            do throws(HTTPDNSResolver.Error) {
                let resolution = try use(answer, at: now)
                count(.hit(fromSystem: resolution.source == .system, isStale: resolution.isStale), of: answer)
                if resolution.isStale { tellStale(resolution, of: answer) }
                return resolution
            } catch {
                // A refusal by the policy is counted where it happens.
                if error.code != .policyRefused { resolver.counting.count(.negativeHit) }
                throw error
            }
        case .backingOff(let failure):
            var error = failure.error
            if isCounted {
                resolver.counting.count(error.code == .policyRefused ? AnswerCount.policyRefusal : .failureHit)
            }
            let again =
                "failed \((now - failure.failedAt).shortText) ago, asked again in \((failure.retryAt - now).shortText)"
            error.hint = error.hint.map { "\($0); \(again)" } ?? again
            throw seen(error)
        case .nothing:
            return nil
        }
    }

    /// Returns the resolution of an answer, uncounted.
    func use(_ answer: CachedAnswer, at now: MonotonicTime) throws(HTTPDNSResolver.Error) -> HTTPDNSResolver.Resolution
    {
        guard let origin = answer.origin, answer.kind == .addresses else { throw seen(negative(answer)) }
        let life = answer.expiresAt.nanoseconds(since: now)
        var left = max(life, 0)
        let mappingTrace = mappingTrace.flatMap { $0.isSilent ? nil : $0 }
        if let ruleLife = mappingTrace?.timeToLive { left = min(left, ruleLife.wholeNanoseconds) }
        var resolution = HTTPDNSResolver.Resolution(
            .cached(answer, port: query.port),
            source: origin.source,
            life: left,
            age: max(now.nanoseconds(since: answer.sentAt), 0)
        )
        if let mappingTrace { resolution.note(mappingTrace) }
        resolution.isCached = true
        resolution.generation = settings.mappings.generation
        if life <= 0, answer.isStale(at: now) { resolution.isStale = true }
        if answer.lacksFamily {
            // The lookup may have ended since the answer was delivered.
            resolution.awaitsFamily = resolver.cache.shard(for: key).state.withLock { state in
                state.lookups.isCompleting(key) || state.table.find(key)?.lacksFamily == false
            }
        }
        try applyPolicy(to: &resolution, of: answer, origin)
        return resolution
    }

    /// Removes addresses that are not allowed. Answers from a source whose scope is allowed as a whole need no check of each
    /// address.
    private func applyPolicy(
        to resolution: inout HTTPDNSResolver.Resolution,
        of answer: CachedAnswer,
        _ origin: AnswerOrigin
    ) throws(HTTPDNSResolver.Error) {
        let routes = settings.resolving.routes
        if let httpsRecords = answer.httpsRecords, httpsRecords.applies(to: query.port) {
            if let reason = httpsRecords.unavailable {
                let host = query.host.description
                throw HTTPDNSResolver.Error(code: .noAddresses, host: host, message: reason)
            }
            resolution.limitsVersions = !httpsRecords.offers.isEmpty
        } else {
            guard answer.addressCount > 0 else {
                let families =
                    query.families ?? origin.route?.families ?? settings.resolving.configuration.usableFamilies
                throw .noAddresses(answer.host, families, says: "its HTTPS record, which leads elsewhere")
            }
            if !routes.hasAddressRules, let admitted = origin.admittedScope, answer.mostPrivateScope <= admitted {
                return
            }
        }
        // The route whose address rules apply is that of the query's own name, wherever `via` rules led.
        var route = origin.route
        if routes.hasAddressRules, case .name(let name) = query.host { route = routes.entry(for: name)?.route }
        let endpoints = resolution.endpoints
        let source = origin.terms.addressSource
        let left = try resolver.allowed(endpoints, from: source, route: route, query, by: settings)
        if left.count < endpoints.count { resolution.endpoints = left }
    }

    private func negative(_ answer: CachedAnswer) -> HTTPDNSResolver.Error {
        let error =
            answer.negative
            ?? .noAddresses(answer.host, settings.resolving.configuration.usableFamilies, says: "the cache")
        // Queries with different reasons for using the system resolver share its answer.
        guard answer.origin?.source == .system, error.code == .nameNotFound else { return error }
        return .unknownToSystem(upstream)
    }

    /// Returns an error of a shared lookup as the query sees it.
    func seen(_ error: HTTPDNSResolver.Error) -> HTTPDNSResolver.Error {
        error.seen(from: query, through: mappingTrace)
    }

    func count(_ count: AnswerCount, of answer: CachedAnswer) {
        (answer.origin?.counters ?? resolver.counting.unrouted.answers).add(to: count.rawValue)
    }

    /// Sends an event that an answer is served past its lifetime: once, however many queries it serves until there is a newer
    /// one.
    func tellStale(_ resolution: HTTPDNSResolver.Resolution, of answer: CachedAnswer) {
        if answer.isToldStale { return }
        // The cached answer may be the same answer with a later failure.
        let key = answer.key
        let isFirst = resolver.cache.shard(for: key).state.withLock { state in
            let known = state.table.find(key)
            return (known?.sentAt == answer.sentAt ? known ?? answer : answer).noteToldStale()
        }
        guard isFirst else { return }
        resolver.observation.tell(.servedStale) { event in
            event.host = answer.host
            event.route = resolution.route?.pattern.description
            event.provider = resolution.provider
            event.source = resolution.source
            event.addresses = resolution.endpoints.map(\.address)
            event.elapsed = resolution.age
        }
    }
}

// The steps after the query has its answer, from whichever source.
extension CacheLookup {
    /// Counts the source, compares in shadow mode, and records the reason that no provider was queried.
    func concluded(_ resolution: HTTPDNSResolver.Resolution) -> HTTPDNSResolver.Resolution {
        for count in counts { resolver.counting.count(count) }
        compare(withSystem: .addresses(Set(resolution.endpoints.map(\.address))))
        guard systemOnly != nil else { return resolution }
        var resolution = resolution
        resolution.reason = systemOnly
        if let switchedOff { resolution.switchedOff = switchedOff }
        return resolution
    }

    /// Returns addresses of last resort, if a rule has some, after every source failed.
    /// - Throws: The failure, when there are none.
    func lastResort(after error: HTTPDNSResolver.Error) throws(HTTPDNSResolver.Error) -> HTTPDNSResolver.Resolution {
        if error.code == .shutDown { throw error }
        let counting = resolver.counting
        for count in counts { counting.count(count) }
        let isDefinite = error.code == .nameNotFound || error.code == .noAddresses
        compare(withSystem: isDefinite ? .nothing : .failed)
        let entry = systemOnly == nil ? settings.resolving.routes.entry(for: host) : nil
        let route = entry?.counting ?? counting.unrouted
        guard let mappingTrace, !mappingTrace.lastResort.isEmpty else {
            route.countFailure(error.code)
            throw error
        }
        let endpoints = WeightedOrder.arrange(mappingTrace.lastResort, random: resolver.random).map {
            HTTPDNSEndpoint(address: $0.address, port: $0.port ?? query.port)
        }
        guard var resolution = try? resolver.settle(endpoints, .lastResort, query, by: settings) else {
            route.countFailure(error.code)
            throw error
        }
        var mapping = mappingTrace.mapping
        mapping.targets = mappingTrace.lastResort
        resolution.mapping = mapping
        resolution.identity = mappingTrace.identity
        // As short as the first back-off after a failure: as soon as a source answers again, its addresses are used.
        resolution.timeToLive = Lifetimes.backoff(afterFailures: 1)
        resolution.failedAttempts = error.attempts
        counting.count(.lastResort)
        return resolution
    }
}

/// The effect of the mapping rules that led to a name.
final class MappingTrace: Sendable {
    let mapping: HTTPDNSResolver.AppliedMapping
    /// The name whose `via` rules lead to another one; nil without such rules.
    let queriedName: HTTPDNSName?
    let identity: HTTPDNSName?
    /// The shortest time to live of the rules.
    let timeToLive: Duration?
    /// The addresses for the case that no source has one; empty without such a rule.
    let lastResort: [HTTPDNSMapping.Target]
    /// Whether results are the same as without a rule, as long as a source has addresses.
    var isSilent: Bool { !lastResort.isEmpty && mapping.via.isEmpty }

    init(
        mapping: HTTPDNSResolver.AppliedMapping,
        queriedName: HTTPDNSName?,
        identity: HTTPDNSName?,
        timeToLive: Duration?,
        lastResort: [HTTPDNSMapping.Target] = []
    ) {
        self.mapping = mapping
        self.queriedName = queriedName
        self.identity = identity
        self.timeToLive = timeToLive
        self.lastResort = lastResort
    }
}

extension CachedAnswer.Finding {
    /// Returns whether the query needs a lookup, since what the cache has does not decide it.
    /// - Parameters:
    ///   - upstream: The lookup that it would need.
    ///   - mayAsk: Whether that lookup can succeed now.
    func needsLookup(
        for query: HTTPDNSResolver.Query,
        by upstream: @autoclosure () -> UpstreamLookup,
        mayAsk: @autoclosure () -> Bool
    ) -> Bool {
        switch self {
        case .fresh(let answer): answer.isTooOld(for: query) && mayAsk()
        case .stale(let answer, mayAsk: true): mayAsk() || upstream().mayReplace(answer)
        case .stale(_, mayAsk: false), .backingOff: false
        case .nothing: true
        }
    }

    /// The answer that is served when refreshing brings no newer one: one past its lifetime, or one that was not new enough.
    var answerInReserve: CachedAnswer? {
        switch self {
        case .fresh(let answer), .stale(let answer, _): answer
        case .backingOff, .nothing: nil
        }
    }
}

extension CachedAnswer {
    /// Returns whether the query requires a newer answer, and refreshing has not just failed.
    func isTooOld(for query: HTTPDNSResolver.Query) -> Bool {
        guard let moment = query.freshAfter, sentAt < moment else { return false }
        return failure.map { $0.retryAt <= moment } ?? true
    }
}
