// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

extension HTTPDNSResolver {
    /// Returns the answer for a name, from the cache, a new lookup or one in flight.
    ///
    /// While an expired answer is available, the query waits for a new one no longer than the cache's `staleAfter`. While
    /// refreshing fails, it does not wait.
    /// - Parameters:
    ///   - turns: The kill switch's generation before `name` was decided.
    ///   - isRepeated: Whether the query has waited before, and was counted.
    /// - Returns: Nil when newer settings have already been used for the name.
    /// - Throws: Also `SwitchedOffMeanwhile`.
    func answer(
        _ name: CacheLookup,
        to question: HTTPDNSResolver.Query,
        by settings: LiveSettings,
        since started: MonotonicTime,
        turns: UInt64,
        isRepeated: Bool
    ) async throws -> HTTPDNSResolver.Resolution? {
        do {
            let resolution = try await lookUp(
                name,
                for: question,
                by: settings,
                since: started,
                turns: turns,
                isRepeated: isRepeated
            )
            return resolution.map { concluded($0, name, by: settings) }
        } catch let error as HTTPDNSResolver.Error {
            let resolution = try lastResort(after: error, name, question, by: settings)
            observation.tell(.lastResort) { event in
                event.host = name.host
                event.addresses = resolution.endpoints.map(\.address)
                event.source = resolution.source
                event.code = error.code.description
                event.message = error.message
            }
            return resolution
        }
    }

    private func lookUp(
        _ name: CacheLookup,
        for question: HTTPDNSResolver.Query,
        by settings: LiveSettings,
        since started: MonotonicTime,
        turns: UInt64,
        isRepeated: Bool
    ) async throws -> HTTPDNSResolver.Resolution? {
        let configuration = settings.resolving.configuration
        let limit = min(question.timeLimit ?? configuration.timeLimit, configuration.timeLimit)
        let staleAfter = configuration.cache.staleAfter
        var lookup = lookup(for: name, by: settings)
        if lookup.route == nil, name.host.isOutsideDNS {
            throw HTTPDNSResolver.Error.outsideDNS(name.host).seen(from: question, through: name.mappingTrace)
        }
        let mayAsk = mayAsk(lookup)
        let waiter = OneShot<Delivery>()
        let shared = answerForAllClients(name.key, by: settings.resolving, at: started)
        // One lock for the whole step. Otherwise a lookup that completes in between would be started a second time.
        let step = cache.shard(for: name.key).state.withLock { state -> Step? in
            guard let known = state.known(name.key, by: settings.resolving, at: started) else { return nil }
            let finding = CachedAnswer.find(known.answer, orForAllClients: shared, at: started)
            switch finding {
            case .fresh(let answer) where answer.isTooOld(for: question) && mayAsk: break
            case .fresh, .backingOff, .stale(_, mayAsk: false): return Step(finding: finding)
            case .stale(let answer, _) where !mayAsk && !lookup.mayReplace(answer): return Step(finding: finding)
            case .stale, .nothing: break
            }
            guard limit > .zero, !Task.isCancelled else { return Step(finding: finding) }
            let version = settings.resolving.version
            if state.lookups.isOutdated(name.key, version: version) { return nil }
            // A lookup that others have already waited for that long does not delay this query.
            if let lookupStart = state.lookups.startTime(name.key, version: version),
                started - lookupStart >= staleAfter,
                finding.answerInReserve?.mayServe(at: started) == true
            {
                return Step(finding: finding)
            }
            let place = state.lookups.join(
                name.key,
                waiter,
                version: version,
                at: started,
                mayStart: lookupBudget.take
            )
            if let place, !place.starts {
                state.lookups.work(of: place.entry.lookupID)?.demand?.add(since: started, limit: limit)
            }
            let isBegun = place.map { state.lookups.isBegun($0.entry.lookupID) } ?? true
            let lookupStart = state.lookups.startTime(name.key, version: version) ?? started
            return Step(finding: finding, place: place, isBegun: isBegun, lookupStart: lookupStart)
        }
        guard let step else { return nil }
        if step.place == nil,
            let resolution = try use(
                step.finding,
                for: name,
                question,
                by: settings,
                at: started,
                isCounted: !isRepeated
            )
        {
            return resolution
        }
        try Task.checkCancellation()
        guard limit > .zero else { throw timedOut(question, name, limit) }
        guard let place = step.place else {
            counting.count(.overload)
            throw HTTPDNSResolver.Error.overloaded(question.host.description)
        }
        if !isRepeated { counting.count(place.starts ? AnswerCount.miss : .joined) }
        if place.starts {
            if limit < configuration.timeLimit { lookup.demand = LookupDemand(since: started, limit: limit) }
            start(lookup, place.entry.lookupID)
        }
        // A shutdown between the first check and the registration of the waiter would not find the waiter.
        do { try requireRunning(question) } catch { waiter.deliver(.shutDown) }
        // The same holds for a turn of the kill switch since the decision.
        if name.systemOnly == nil, killSwitch.generation != turns, isSwitchedOff(question) {
            waiter.deliver(.switchedOff)
        }

        let stale = step.finding.answerInReserve
        // The wait counts from the start of the lookup. It is not shortened for an answer that may no longer be served when
        // the wait is over.
        let wait = staleAfter - max(started - step.lookupStart, .zero)
        let patience = stale?.mayServe(at: started + wait) == true ? min(limit, wait) : limit
        let isShort = isRepeated || patience < configuration.timeLimit
        var timing = Timing(lookup: lookup, lookupID: place.entry.lookupID, started: started, end: started + patience)
        // A lookup with the full limit ends at its own time limit, with its attempts in the error. After a suspension it does
        // so later.
        if !isShort { timing.end = timing.end + configuration.timeLimit / 2 }
        if lookup.hasFallback, patience == limit, isShort || !step.isBegun {
            timing.systemAt = started + (step.isBegun ? limit / 2 : systemDelay(lookup, limit))
        }
        let delivery = await delivery(to: waiter, timing: isShort || !place.starts ? timing : nil)
        return try settle(
            delivery,
            Wait(
                name: name,
                settings: settings,
                entry: place.entry,
                stale: stale,
                started: started,
                limit: limit
            ),
            question
        )
    }

    /// The result of the cache lookup.
    private struct Step {
        var finding: CachedAnswer.Finding
        /// Nil when no lookup is started or joined, or when there is no room for another lookup.
        var place: (entry: AnswerCache.Lookups.WaiterEntry, starts: Bool)?
        /// Whether the lookup has its own query. If not, its answer is expected from a batch of names.
        var isBegun = true
        var lookupStart = MonotonicTime(nanoseconds: 0)
    }

    /// The times at which a wait for a lookup ends or changes course.
    private struct Timing {
        var lookup: UpstreamLookup
        var lookupID: AnswerCache.Lookups.LookupID
        var started: MonotonicTime
        /// The end of the wait.
        var end: MonotonicTime
        /// The latest time to query the system resolver; nil leaves it to the lookup.
        var systemAt: MonotonicTime?
    }

    /// A query's wait for a lookup.
    private struct Wait {
        var name: CacheLookup
        var settings: LiveSettings
        var entry: AnswerCache.Lookups.WaiterEntry
        /// The answer that is served when there is no newer one.
        var stale: CachedAnswer?
        var started: MonotonicTime
        var limit: Duration
    }

    private func settle(
        _ delivery: Delivery,
        _ wait: Wait,
        _ question: HTTPDNSResolver.Query
    ) throws -> HTTPDNSResolver.Resolution {
        let now = fixed.timeSource.now()
        switch delivery {
        case .answer(let answer):
            var resolution = try use(answer, for: wait.name, question, by: wait.settings, at: now)
            count(.awaited(fromSystem: resolution.source == .system, isStale: false), of: answer)
            resolution.isCached = false
            // An answer with a lifetime of zero is served to its waiters, and is not stale for them.
            resolution.isStale = false
            resolution.elapsed = now - wait.started
            return resolution
        case .failed(let error):
            if let resolution = try useStale(wait, question, at: now) { return resolution }
            if error.code == .policyRefused { counting.count(.policyRefusal) }
            throw error.seen(from: question, through: wait.name.mappingTrace)
        case .timedOut:
            // The lookup continues within its own limit. Otherwise an unresponsive first provider would use up the time of
            // every caller with a short limit, and the healthy one behind it would never be queried.
            leave(wait.entry, wait.name.key, continues: true)
            if let resolution = try useStale(wait, question, at: now) { return resolution }
            throw timedOut(question, wait.name, wait.limit)
        case .canceled:
            leave(wait.entry, wait.name.key)
            throw CancellationError()
        case .switchedOff:
            // A query that is still on joins the lookup again.
            leave(wait.entry, wait.name.key, continues: !isSwitchedOff(question))
            throw SwitchedOffMeanwhile()
        case .shutDown:
            leave(wait.entry, wait.name.key)
            throw HTTPDNSResolver.Error.shutDown(host: question.host.description)
        }
    }

    private func useStale(
        _ wait: Wait,
        _ question: HTTPDNSResolver.Query,
        at now: MonotonicTime
    ) throws -> HTTPDNSResolver.Resolution? {
        guard let stale = wait.stale, stale.mayServe(at: now) else { return nil }
        var resolution = try use(stale, for: wait.name, question, by: wait.settings, at: now)
        resolution.elapsed = now - wait.started
        count(.awaited(fromSystem: resolution.source == .system, isStale: resolution.isStale), of: stale)
        if resolution.isStale { tellStale(resolution, of: stale) }
        return resolution
    }

    /// Sends an event that an answer is served past its lifetime: once, however many queries it serves until there is a newer
    /// one.
    private func tellStale(_ resolution: HTTPDNSResolver.Resolution, of answer: CachedAnswer) {
        if answer.isToldStale { return }
        // The cached answer may be the same answer with a later failure.
        let key = answer.key
        let isFirst = cache.shard(for: key).state.withLock { state in
            let known = state.table.find(key)
            return (known?.sentAt == answer.sentAt ? known ?? answer : answer).noteToldStale()
        }
        guard isFirst else { return }
        observation.tell(.servedStale) { event in
            event.host = answer.host
            event.route = resolution.route?.pattern.description
            event.provider = resolution.provider
            event.source = resolution.source
            event.addresses = resolution.endpoints.map(\.address)
            event.elapsed = resolution.age
        }
    }

    /// Waits for the family that a resolution lacks (``Resolution/awaitsFamily``), until its lookup ends.
    /// - Returns: The resolution that the cache has for the query then; nil when it has none, and for a canceled task.
    package func completedResolution(for question: HTTPDNSResolver.Query) async -> HTTPDNSResolver.Resolution? {
        let settings = live.current
        guard case .lookFor(let name)? = try? decide(question, by: settings) else { return nil }
        let shard = cache.shard(for: name.key)
        let waiter = OneShot<Delivery>()
        if let entry = shard.state.withLock({ $0.lookups.joinCompletion(name.key, waiter) }) {
            _ = await delivery(to: waiter, timing: nil)
            leave(entry, name.key)
        }
        let now = fixed.timeSource.now()
        let known = shard.state.withLock { $0.known(name.key, by: settings.resolving, at: now) }
        guard !Task.isCancelled, let answer = known?.answer, answer.isFresh(at: now) else { return nil }
        // Not counted: the query was counted with its first addresses.
        return try? use(answer, for: name, question, by: settings, at: now)
    }

    /// Returns the time that a caller waits for a batch of names before its lookup gets its own query.
    ///
    /// It is half of the caller's limit, and no longer than for providers that the lookup itself would query.
    private func systemDelay(_ lookup: UpstreamLookup, _ limit: Duration) -> Duration {
        guard case .providers(let names, _) = lookup.route?.action else { return limit / 2 }
        return switch lookup.settings.pool.reliance(on: names) {
        case .healthy: limit / 2
        case .suspect(let delay): min(delay, limit / 2)
        case .none: .zero
        }
    }

    /// Waits for a lookup.
    /// - Parameter timing: Nil for a call that started the lookup and has the resolver's whole limit, at which the lookup
    ///   ends.
    private func delivery(to waiter: OneShot<Delivery>, timing: Timing?) async -> Delivery {
        let timeSource = fixed.timeSource
        let timer = timing.map { timing in
            CallWork.detached { [self] in
                if let systemAt = timing.systemAt {
                    guard (try? await timeSource.sleep(until: systemAt)) != nil else { return }
                    askSystemNow(timing)
                }
                guard (try? await timeSource.sleep(until: timing.end)) != nil else { return }
                waiter.deliver(.timedOut)
            }
        }
        defer { timer?.cancel() }
        return await withTaskCancellationHandler {
            await waiter.value()
        } onCancel: {
            waiter.deliver(.canceled)
        }
    }

    /// Makes a lookup query the system resolver in addition to its providers. A batched lookup gets its own query for that.
    private func askSystemNow(_ timing: Timing) {
        let (begins, work) = cache.shard(for: timing.lookup.key).state.withLock { state in
            (state.lookups.begin(timing.lookupID), state.lookups.work(of: timing.lookupID))
        }
        work?.hurry.deliver(())
        guard begins else { return }
        let end = timing.started + timing.lookup.settings.configuration.timeLimit
        start(timing.lookup, timing.lookupID, until: end, hurries: true)
    }

    private func leave(_ entry: AnswerCache.Lookups.WaiterEntry, _ key: CacheKey, continues: Bool = false) {
        let (ended, work) = cache.shard(for: key).state.withLock { $0.lookups.leave(entry, continues: continues) }
        if ended { lookupBudget.giveBack(1) }
        work?.cancel()
    }

    /// Returns the resolution for a cache result; nil when there is nothing to use.
    func use(
        _ finding: CachedAnswer.Finding,
        for name: CacheLookup,
        _ question: HTTPDNSResolver.Query,
        by settings: LiveSettings,
        at now: MonotonicTime,
        isCounted: Bool = true
    ) throws(HTTPDNSResolver.Error) -> HTTPDNSResolver.Resolution? {
        switch finding {
        case .fresh(let answer), .stale(let answer, _):
            guard isCounted else { return try use(answer, for: name, question, by: settings, at: now) }
            return try hit(answer, for: name, question, by: settings, at: now)
        case .backingOff(let failure):
            var error = failure.error
            if isCounted { counting.count(error.code == .policyRefused ? AnswerCount.policyRefusal : .failureHit) }
            let again =
                "failed \((now - failure.failedAt).shortText) ago, asked again in \((failure.retryAt - now).shortText)"
            error.hint = error.hint.map { "\($0); \(again)" } ?? again
            throw error.seen(from: question, through: name.mappingTrace)
        case .nothing:
            return nil
        }
    }

    /// Returns the resolution of a cached answer for one query, counted as a cache hit.
    func hit(
        _ answer: CachedAnswer,
        for name: CacheLookup,
        _ question: HTTPDNSResolver.Query,
        by settings: LiveSettings,
        at now: MonotonicTime
    ) throws(HTTPDNSResolver.Error) -> HTTPDNSResolver.Resolution {
        do throws(HTTPDNSResolver.Error) {
            let resolution = try use(answer, for: name, question, by: settings, at: now)
            count(.hit(fromSystem: resolution.source == .system, isStale: resolution.isStale), of: answer)
            if resolution.isStale { tellStale(resolution, of: answer) }
            return resolution
        } catch {
            // A refusal by the policy is counted where it happens.
            if error.code != .policyRefused { counting.count(.negativeHit) }
            throw error
        }
    }

    private func count(_ count: AnswerCount, of answer: CachedAnswer) {
        (answer.origin?.counters ?? counting.unrouted.answers).add(to: count.rawValue)
    }

    /// Returns the resolution of an answer for one query.
    private func use(
        _ answer: CachedAnswer,
        for name: CacheLookup,
        _ question: HTTPDNSResolver.Query,
        by settings: LiveSettings,
        at now: MonotonicTime
    ) throws(HTTPDNSResolver.Error) -> HTTPDNSResolver.Resolution {
        guard let origin = answer.origin, answer.kind == .addresses else {
            throw negative(answer, name, by: settings).seen(from: question, through: name.mappingTrace)
        }
        let life = answer.expiresAt.nanoseconds(since: now)
        var left = max(life, 0)
        let mappingTrace = name.mappingTrace.flatMap { $0.isSilent ? nil : $0 }
        if let ruleLife = mappingTrace?.timeToLive { left = min(left, ruleLife.wholeNanoseconds) }
        var resolution = HTTPDNSResolver.Resolution(
            .cached(answer, port: question.port),
            source: origin.source,
            life: left,
            age: max(now.nanoseconds(since: answer.sentAt), 0)
        )
        if let mappingTrace { resolution.note(mappingTrace) }
        resolution.isCached = true
        resolution.generation = name.generation
        if life <= 0, answer.isStale(at: now) { resolution.isStale = true }
        if answer.lacksFamily {
            // The lookup may have ended since the answer was delivered.
            resolution.awaitsFamily = cache.shard(for: name.key).state.withLock { state in
                state.lookups.isCompleting(name.key) || state.table.find(name.key)?.lacksFamily == false
            }
        }
        try applyPolicy(to: &resolution, of: answer, origin, question, by: settings)
        return resolution
    }

    /// Removes addresses that are not allowed. Answers from a source whose scope is allowed as a whole need no check of each
    /// address.
    private func applyPolicy(
        to resolution: inout HTTPDNSResolver.Resolution,
        of answer: CachedAnswer,
        _ origin: AnswerOrigin,
        _ question: HTTPDNSResolver.Query,
        by settings: LiveSettings
    ) throws(HTTPDNSResolver.Error) {
        let routes = settings.resolving.routes
        if question.port == ServiceRoute.port, let httpsRecords = answer.httpsRecords {
            if let reason = httpsRecords.unavailable {
                let host = question.host.description
                throw HTTPDNSResolver.Error(code: .noAddresses, host: host, message: reason)
            }
            resolution.limitsVersions = !httpsRecords.offers.isEmpty
        } else {
            guard answer.addressCount > 0 else {
                let families =
                    question.families ?? origin.route?.families ?? settings.resolving.configuration.usableFamilies
                throw .noAddresses(answer.host, families, says: "its HTTPS record, which leads elsewhere")
            }
            if !routes.hasAddressRules, let admitted = origin.admittedScope, answer.mostPrivateScope <= admitted {
                return
            }
        }
        let endpoints = resolution.endpoints
        let left = try allowed(
            endpoints,
            origin.source,
            providerScope: origin.providerScope,
            route: policyRoute(origin, question, routes),
            provider: origin.provider,
            host: question.host.description,
            by: settings
        )
        if left.count < endpoints.count { resolution.endpoints = left }
    }

    /// Returns the route whose address rules apply to a query: that of its own name, wherever `via` rules led.
    private func policyRoute(_ origin: AnswerOrigin, _ question: HTTPDNSResolver.Query, _ routes: RouteTable)
        -> HTTPDNSRoute?
    {
        guard routes.hasAddressRules, case .name(let name) = question.host else { return origin.route }
        return routes.entry(for: name)?.route
    }

    private func negative(_ answer: CachedAnswer, _ name: CacheLookup, by settings: LiveSettings)
        -> HTTPDNSResolver.Error
    {
        let error =
            answer.negative
            ?? .noAddresses(answer.host, settings.resolving.configuration.usableFamilies, says: "the cache")
        // Queries with different reasons for using the system resolver share its answer.
        guard answer.origin?.source == .system, error.code == .nameNotFound else { return error }
        return .unknownToSystem(lookup(for: name, by: settings))
    }

    private func timedOut(_ question: HTTPDNSResolver.Query, _ name: CacheLookup, _ limit: Duration)
        -> HTTPDNSResolver.Error
    {
        HTTPDNSResolver.Error.timedOut(host: name.host, limit: limit, attempts: []).seen(
            from: question,
            through: name.mappingTrace
        )
    }
}

extension CachedAnswer.Finding {
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
    func isTooOld(for question: HTTPDNSResolver.Query) -> Bool {
        guard let moment = question.freshAfter, sentAt < moment else { return false }
        return failure.map { $0.retryAt <= moment } ?? true
    }

    /// Returns whether the answer may be served when there is no newer one.
    func mayServe(at now: MonotonicTime) -> Bool {
        kind == .addresses && isFresh(at: now) || isStale(at: now)
    }
}
