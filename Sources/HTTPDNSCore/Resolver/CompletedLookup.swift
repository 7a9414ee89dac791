// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

extension UpstreamLookup {
    /// Caches the result and frees the key in one step, then delivers it to all waiters.
    func complete(
        _ result: Result<KnownAnswer, LookupFailure>,
        _ lookupID: AnswerCache.Lookups.LookupID,
        isRefresh: Bool
    ) {
        let now = clock.now()
        let chance = Lifetimes.chance(resolver.random)
        let jitter = (chance + 1) / 2
        let current = resolver.live.current.resolving
        // The result of a lookup under older settings is kept as far as the present settings allow it.
        let kept = current.adopt(result, of: self)
        let result = kept ?? result
        let found = try? result.get()
        let holdsForAllClients = key.clientSubnet != nil && found?.details.holdsForAllClients == true
        let completed = resolver.cache.shard(for: key).state.withLock { state -> CompletedLookup? in
            guard let completion = state.lookups.complete(lookupID) else { return nil }
            var completed = CompletedLookup(lookup: self, waiters: completion.waiters)
            completed.isCurrent = completion.isCurrent && kept != nil
            guard completed.isCurrent, let known = state.known(key, by: current, at: now) else {
                completed.isCurrent = false
                completed.known = found
                return completed
            }
            completed.before = known.answer
            if let found, found.providersFailure == nil, !completesAnswer, let own = known.answer {
                completed.isDoubted = KnownAnswer(own).doubts(found, at: now)
            }
            if holdsForAllClients, !completed.isDoubted {
                completed.before = nil
                state.table.set(nil, for: key, at: now)
                return completed
            }
            completed.evictions = state.table.update(key, at: now, version: current.version) { entry in
                switch result {
                case _ where completesAnswer:
                    completed.known = entry.complete(with: found, at: now, chance: chance)
                case .success(let answer) where answer.providersFailure == nil:
                    completed.take(answer, into: &entry, jitter: jitter, at: now)
                case .success(let answer):
                    completed.known = entry.installFallback(
                        answer,
                        systemLife: current.configuration.cache.systemTimeToLive,
                        jitter: jitter,
                        at: now
                    )
                case .failure(let failure):
                    if !failure.wasBusy { entry.recordFailure(failure, jitter: jitter, at: now) }
                }
            }
            return completed
        }
        guard var completed else { return }
        if holdsForAllClients, completed.isCurrent, !completed.isDoubted, let found {
            completed.keepForAllClients(found, jitter: jitter, by: current, at: now)
        }
        let doubted = completed.doubt.map { Result<KnownAnswer, LookupFailure>.failure($0) }
        completed.end(with: doubted ?? result, isRefresh: isRefresh, at: now)
    }
}

extension ResolvingSettings {
    /// Returns the result of a lookup as these settings, which may be newer than its own, allow it.
    fileprivate func adopt(
        _ result: Result<KnownAnswer, LookupFailure>,
        of lookup: UpstreamLookup
    ) -> Result<KnownAnswer, LookupFailure>? {
        if lookup.settings === self { return result }
        // A failure concerns the providers that were queried, and these may have changed.
        return (try? result.get()).flatMap { adopt($0, for: lookup.key) }.map { .success($0) }
    }
}

/// A lookup whose result is cached: the remaining work after the lock is released.
struct CompletedLookup {
    let lookup: UpstreamLookup
    let waiters: [AnswerCache.Waiter]
    /// Whether the result may be cached.
    var isCurrent = false
    /// The number of answers evicted for it.
    var evictions = 0
    /// The previously cached answer.
    var before: CachedAnswer?
    /// The answer as it is served.
    var known: KnownAnswer?
    /// Whether the answer for the lookup's own key is doubted.
    var isDoubted = false
    /// The reason that a negative answer is not used, when it is doubted.
    var doubt: LookupFailure?

    private var resolver: HTTPDNSResolver { lookup.resolver }

    /// Caches a definite answer, unless it is doubted.
    fileprivate mutating func take(
        _ answer: KnownAnswer,
        into entry: inout KnownAnswer,
        jitter: Double,
        at now: MonotonicTime
    ) {
        known = nil
        if case .nothing(let error) = answer.content, entry.doubts(answer, at: now) {
            let denial = LookupFailure(error: error, sentAt: answer.sentAt)
            doubt = entry.recordDenial(denial, until: answer.expiresAt, jitter: jitter, at: now)
        } else {
            known = entry.install(answer, at: now)
        }
    }

    /// Caches an answer under the key without a client subnet, where queries with any client subnet find it.
    fileprivate mutating func keepForAllClients(
        _ answer: KnownAnswer,
        jitter: Double,
        by settings: ResolvingSettings,
        at now: MonotonicTime
    ) {
        let own = self
        let key = lookup.key.withoutClientSubnet
        self = resolver.cache.shard(for: key).state.withLock { state in
            var completed = own
            completed.known = answer
            guard let before = state.known(key, by: settings, at: now) else { return completed }
            completed.before = before.answer
            completed.evictions = state.table.update(key, at: now, version: settings.version) { entry in
                completed.take(answer, into: &entry, jitter: jitter, at: now)
            }
            return completed
        }
    }

    /// Counts and reports the result, and delivers it to the waiters: the answer as it was cached, which may have more addresses
    /// than the lookup returned.
    fileprivate func end(with result: Result<KnownAnswer, LookupFailure>, isRefresh: Bool, at now: MonotonicTime) {
        resolver.lookupBudget.giveBack(1)
        if case .success(let answer) = result, answer.providersFailure == nil, isCurrent {
            resolver.persistence.noteUnsaved()
        }
        report(result, isRefresh: isRefresh, at: now)
        // Before the waiters resume: the resolution tells them about that lookup.
        askForLateFamily(at: now)
        let delivery = result.map { CachedAnswer(lookup.key, known ?? $0) }
            .mapError { WaitFailure.failed($0.error) }
        for waiter in waiters { waiter.deliver(delivery) }
    }

    /// Queries a family again that had no answer in time, once. Requests begin without it, and can add it to their race
    /// (``HTTPDNSResolver/completedResolution(for:)``).
    private func askForLateFamily(at now: MonotonicTime) {
        guard isCurrent, !lookup.completesAnswer, lookup.route?.usesHTTPSRecords != true,
            let known, known.isFamilyLate, known.familyFailures == 1, now < known.expiresAt
        else { return }
        lookup.refresh(CachedAnswer(lookup.key, known), at: now)
    }
}

// The counters and events of the result.
extension CompletedLookup {
    private func report(_ result: Result<KnownAnswer, LookupFailure>, isRefresh: Bool, at now: MonotonicTime) {
        let (counting, observation) = (resolver.counting, resolver.observation)
        if evictions > 0 {
            counting.count(.eviction, times: evictions)
            observation.tell(.evicted) { $0.count = evictions }
        }
        var sentAt: MonotonicTime
        var error: HTTPDNSResolver.Error?
        switch result {
        case .success(let answer): sentAt = answer.sentAt
        case .failure(let failure): (sentAt, error) = (failure.sentAt, failure.error)
        }
        if isRefresh { counting.count(error == nil ? .refreshSucceeded : .refreshFailed) }
        var kind: HTTPDNSResolver.Event.Kind = error == nil ? .answered : .failed
        if isRefresh { kind = error == nil ? .refreshed : .refreshFailed }
        observation.tell(kind) { event in
            describe(&event)
            event.elapsed = now - sentAt
            if case .nothing(let reason) = known?.content { error = reason }
            event.code = error?.code.description
            event.message = error?.message
        }
        guard let before, before.kind == .addresses, case .addresses(let addresses) = known?.content else { return }
        let previous = before.addresses
        guard Set(previous) != Set(addresses) else { return }
        counting.count(.change)
        observation.tell(.changed) { event in
            describe(&event)
            event.previousAddresses = previous
        }
    }

    private func describe(_ event: inout HTTPDNSResolver.Event) {
        event.host = lookup.host
        event.route = lookup.route?.pattern.description
        guard let known else { return }
        event.provider = known.origin?.provider
        event.source = known.origin?.source
        event.duration = known.life
        if case .addresses(let addresses) = known.content { event.addresses = addresses }
    }
}
