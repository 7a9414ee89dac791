// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// A query that may have to wait for a lookup, once it is decided by the settings in use.
///
/// ``join()`` finds an answer in the cache, or joins the lookup for it. After a wait (``delivery(of:)``), ``settle(_:_:)`` makes
/// the result of what was delivered. A query is decided again, as a new value, when newer settings overtake it before it waits, and
/// when the kill switch does at any time:
///
///     join ─┬─────────────────────── ended ─┬─ resolution or error
///           └─ wait ── delivery ── settle ──┴─ again
struct PendingQuery: Sendable {
    let lookup: CacheLookup
    /// The time that the query began, in an earlier round if there was one.
    let started: MonotonicTime
    /// The kill switch's generation before the query was decided.
    let switchGeneration: UInt64
    /// Whether the query was counted in an earlier round.
    let isCounted: Bool

    enum Step {
        case wait(Wait)
        case ended(End)
    }

    enum End {
        case resolved(HTTPDNSResolver.Resolution)
        case failed(any Swift.Error)
        /// The query is to be decided again.
        case again(isCounted: Bool)
    }

    /// A wait for a lookup.
    struct Wait {
        let waiter: AnswerCache.Waiter
        let entry: AnswerCache.Lookups.WaiterEntry
        let upstream: UpstreamLookup
        let limit: Duration
        /// The answer that is served when there is no newer one.
        let stale: CachedAnswer?
        /// The end of the wait; nil for a query that started the lookup and has the resolver's whole limit, at which the lookup
        /// ends.
        var end: MonotonicTime?
        /// The latest time to query the system resolver; nil leaves it to the lookup.
        var systemAt: MonotonicTime?
    }

    private var resolver: HTTPDNSResolver { lookup.resolver }
    private var query: HTTPDNSResolver.Query { lookup.query }
    private var settings: ResolvingSettings { lookup.settings.resolving }
    private var key: CacheKey { lookup.key }

    /// Finds the answer in the cache, or joins the lookup for it, or starts one.
    ///
    /// While an expired answer is available, the query waits for a new one no longer than the cache's `staleAfter`. While
    /// refreshing fails, it does not wait.
    func join() -> Step {
        let configuration = settings.configuration
        let limit = min(query.timeLimit ?? configuration.timeLimit, configuration.timeLimit)
        var upstream = lookup.upstream
        if upstream.route == nil, lookup.host.isOutsideDNS {
            return .ended(failed(lookup.seen(.outsideDNS(lookup.host))))
        }
        let mayAsk = upstream.mayAsk
        let shared = resolver.cache.answerForAllClients(key, by: settings, at: started)
        let waiter = AnswerCache.Waiter()
        // One lock for the whole step. Otherwise a lookup that completes in between would be started a second time.
        let found = resolver.cache.shard(for: key).state.withLock { state -> Found? in
            guard let known = state.known(key, by: settings, at: started) else { return nil }
            let finding = CachedAnswer.find(known.answer, orForAllClients: shared, at: started)
            guard finding.needsLookup(for: query, by: upstream, mayAsk: mayAsk), limit > .zero, !Task.isCancelled else {
                return Found(finding: finding)
            }
            let version = settings.version
            if state.lookups.isOutdated(key, version: version) { return nil }
            // A lookup that others have already waited for that long does not delay this query.
            if let lookupStart = state.lookups.startTime(key, version: version),
                started - lookupStart >= configuration.cache.staleAfter,
                finding.answerInReserve?.mayServe(at: started) == true
            {
                return Found(finding: finding)
            }
            let place = state.lookups.join(
                key,
                waiter,
                version: version,
                at: started,
                mayStart: resolver.lookupBudget.take
            )
            if let place, !place.starts {
                state.lookups.work(of: place.entry.lookupID)?.demand?.add(since: started, limit: limit)
            }
            let isBegun = place.map { state.lookups.isBegun($0.entry.lookupID) } ?? true
            let lookupStart = state.lookups.startTime(key, version: version) ?? started
            return Found(finding: finding, place: place, isBegun: isBegun, lookupStart: lookupStart)
        }
        // Newer settings have already been used for the name.
        guard let found else { return .ended(.again(isCounted: isCounted)) }
        guard let place = found.place else { return .ended(withoutLookup(found.finding, limit)) }
        if !isCounted { resolver.counting.count(place.starts ? AnswerCount.miss : .joined) }
        if place.starts {
            if limit < configuration.timeLimit { upstream.demand = LookupDemand(since: started, limit: limit) }
            upstream.start(place.entry.lookupID)
        }
        // A shutdown between the first check and the registration of the waiter would not find the waiter.
        if resolver.live.isClosed { waiter.deliver(.failure(.shutDown)) }
        // The same holds for a turn of the kill switch since the decision.
        if wasSwitchedOff { waiter.deliver(.failure(.switchedOff)) }
        var wait = Wait(
            waiter: waiter,
            entry: place.entry,
            upstream: upstream,
            limit: limit,
            stale: found.finding.answerInReserve
        )
        schedule(&wait, found, starts: place.starts)
        return .wait(wait)
    }

    /// The result of the cache lookup.
    private struct Found {
        var finding: CachedAnswer.Finding
        /// Nil when no lookup is started or joined, or when there is no room for another lookup.
        var place: (entry: AnswerCache.Lookups.WaiterEntry, starts: Bool)?
        /// Whether the lookup has its own query. If not, its answer is expected from a batch of names.
        var isBegun = true
        var lookupStart = MonotonicTime(nanoseconds: 0)
    }

    private func withoutLookup(_ finding: CachedAnswer.Finding, _ limit: Duration) -> End {
        do throws(HTTPDNSResolver.Error) {
            if let resolution = try lookup.use(finding, at: started, isCounted: !isCounted) {
                return resolved(resolution)
            }
        } catch {
            return failed(error)
        }
        if Task.isCancelled { return .failed(CancellationError()) }
        guard limit > .zero else { return failed(timedOut(limit)) }
        resolver.counting.count(.overload)
        return failed(.overloaded(query.host.description))
    }

    /// Sets the times at which a wait ends or changes course.
    private func schedule(_ wait: inout Wait, _ found: Found, starts: Bool) {
        let whole = settings.configuration.timeLimit
        // The wait counts from the start of the lookup. It is not shortened for an answer that may no longer be served when
        // the wait is over.
        let patience = settings.configuration.cache.staleAfter - max(started - found.lookupStart, .zero)
        let length = wait.stale?.mayServe(at: started + patience) == true ? min(wait.limit, patience) : wait.limit
        let isShort = isCounted || length < whole
        guard isShort || !starts else { return }
        // A lookup with the full limit ends at its own time limit, with its attempts in the error. After a suspension it does
        // so later.
        wait.end = started + length + (isShort ? .zero : whole / 2)
        if wait.upstream.hasFallback, length == wait.limit, isShort || !found.isBegun {
            wait.systemAt = started + (found.isBegun ? wait.limit / 2 : systemDelay(wait))
        }
    }

    /// Returns the time that a caller waits for a batch of names before its lookup gets its own query.
    ///
    /// It is half of the caller's limit, and no longer than for providers that the lookup itself would query.
    private func systemDelay(_ wait: Wait) -> Duration {
        guard case .providers(let names, _) = wait.upstream.route?.action else { return wait.limit / 2 }
        return switch settings.pool.reliance(on: names) {
        case .healthy: wait.limit / 2
        case .suspect(let delay): min(delay, wait.limit / 2)
        case .none: .zero
        }
    }

    /// Waits for a lookup.
    func delivery(of wait: Wait) async -> Result<CachedAnswer, WaitFailure> {
        let timeSource = resolver.fixed.timeSource
        let timer = wait.end.map { end in
            timeSource.alarm(at: wait.systemAt ?? end) {
                if wait.systemAt != nil, timeSource.now() < end {
                    CallWork.detached { querySystemNow(wait) }
                    return end
                }
                wait.waiter.deliver(.failure(.timedOut))
                return nil
            }
        }
        defer { timer?.cancel() }
        return await wait.waiter.value(orOnCancel: .failure(.canceled))
    }

    /// Makes a lookup query the system resolver in addition to its providers. A batched lookup gets its own query for that.
    private func querySystemNow(_ wait: Wait) {
        let lookupID = wait.entry.lookupID
        let (begins, work) = resolver.cache.shard(for: key).state.withLock { state in
            (state.lookups.begin(lookupID), state.lookups.work(of: lookupID))
        }
        work?.hurry.deliver(())
        guard begins else { return }
        wait.upstream.start(lookupID, until: started + settings.configuration.timeLimit, hurries: true)
    }

    /// Returns the end of the query for what was delivered.
    func settle(_ delivery: Result<CachedAnswer, WaitFailure>, _ wait: Wait) -> End {
        do throws(HTTPDNSResolver.Error) {
            switch delivery {
            case .success(let answer):
                let now = resolver.fixed.timeSource.now()
                var resolution = try lookup.use(answer, at: now)
                lookup.count(.awaited(fromSystem: resolution.source == .system, isStale: false), of: answer)
                resolution.isCached = false
                // An answer with a lifetime of zero is served to its waiters, and is not stale for them.
                resolution.isStale = false
                resolution.elapsed = now - started
                return resolved(resolution)
            case .failure(.failed(let error)):
                if let resolution = try stale(wait) { return resolved(resolution) }
                if error.code == .policyRefused { resolver.counting.count(.policyRefusal) }
                return failed(lookup.seen(error))
            case .failure(.timedOut):
                // The lookup continues within its own limit. Otherwise an unresponsive first provider would use up the time of
                // every caller with a short limit, and the healthy one behind it would never be queried.
                resolver.leave(wait.entry, key, continues: true)
                if let resolution = try stale(wait) { return resolved(resolution) }
                return failed(timedOut(wait.limit))
            case .failure(.canceled):
                resolver.leave(wait.entry, key)
                return .failed(CancellationError())
            case .failure(.switchedOff):
                // A query that is still on joins the lookup again.
                resolver.leave(wait.entry, key, continues: !resolver.isSwitchedOff(query))
                return .again(isCounted: true)
            case .failure(.shutDown):
                resolver.leave(wait.entry, key)
                return failed(.shutDown(host: query.host.description))
            }
        } catch {
            return failed(error)
        }
    }

    private func stale(_ wait: Wait) throws(HTTPDNSResolver.Error) -> HTTPDNSResolver.Resolution? {
        let now = resolver.fixed.timeSource.now()
        guard let stale = wait.stale, stale.mayServe(at: now) else { return nil }
        var resolution = try lookup.use(stale, at: now)
        resolution.elapsed = now - started
        lookup.count(.awaited(fromSystem: resolution.source == .system, isStale: resolution.isStale), of: stale)
        if resolution.isStale { lookup.tellStale(resolution, of: stale) }
        return resolution
    }

    private func timedOut(_ limit: Duration) -> HTTPDNSResolver.Error {
        lookup.seen(.timedOut(host: lookup.host, limit: limit, attempts: []))
    }

    /// Whether the name was switched off since the query was decided.
    private var wasSwitchedOff: Bool {
        lookup.systemOnly == nil && resolver.killSwitch.generation != switchGeneration && resolver.isSwitchedOff(query)
    }

    /// Returns the end with a resolution. A provider's answer is not used if the name was switched off meanwhile.
    private func resolved(_ resolution: HTTPDNSResolver.Resolution) -> End {
        if resolution.source == .provider, wasSwitchedOff { return .again(isCounted: true) }
        return .resolved(lookup.concluded(resolution))
    }

    /// Returns the end after every source failed: addresses of last resort, or the failure. A name that was switched off
    /// meanwhile has another source.
    private func failed(_ failure: HTTPDNSResolver.Error) -> End {
        if failure.code != .shutDown, wasSwitchedOff { return .again(isCounted: true) }
        do throws(HTTPDNSResolver.Error) {
            let resolution = try lookup.lastResort(after: failure)
            resolver.observation.tell(.lastResort) { event in
                event.host = lookup.host
                event.addresses = resolution.endpoints.map(\.address)
                event.source = resolution.source
                event.code = failure.code.description
                event.message = failure.message
            }
            return .resolved(resolution)
        } catch {
            return .failed(error)
        }
    }
}
