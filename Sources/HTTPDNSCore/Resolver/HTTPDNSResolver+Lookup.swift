// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
internal import Synchronization

extension HTTPDNSResolver {
    /// Starts the lookup that all queries for the key share.
    /// - Parameters:
    ///   - deadline: The time at which it ends; nil means after the resolver's limit.
    ///   - hurries: Whether the system resolver of a fallback is queried immediately.
    ///   - denial: The negative answer of a provider that another one has to confirm.
    func start(
        _ lookup: UpstreamLookup,
        _ lookupID: AnswerCache.Lookups.LookupID,
        isRefresh: Bool = false,
        until deadline: MonotonicTime? = nil,
        hurries: Bool = false,
        denial: ProviderPool.Answer? = nil
    ) {
        if lookup.systemOnlyReason == .internalName,
            let domain = lookup.settings.routes.unknownTopLevelDomain(of: lookup.host)
        {
            observation.noteUnknown(topLevelDomain: domain, of: lookup.host)
        }
        let hurry = OneShot<Void>()
        if hurries { hurry.deliver(()) }
        // A detached task: it serves all waiters. So it must neither end with the first caller nor inherit its task-local
        // values.
        let task = CallWork.detached { [self] in
            guard let result = await self.querySources(sparingly: lookup, hurry, until: deadline, denial) else {
                return
            }
            self.complete(result, lookup, lookupID, isRefresh: isRefresh)
        }
        let work = LookupTask(task: task, hurry: hurry, demand: lookup.demand)
        cache.shard(for: lookup.key).state.withLock { $0.lookups.attach(work, to: lookupID) }?.cancel()
    }

    /// Queries the sources without the families that are in back-off after failures. They are queried after all when the others
    /// have no address.
    private func querySources(
        sparingly lookup: UpstreamLookup,
        _ hurry: OneShot<Void>,
        until end: MonotonicTime?,
        _ denial: ProviderPool.Answer?
    ) async -> LookupResult? {
        var spared = lookup
        if !lookup.completesAnswer, lookup.route?.usesHTTPSRecords != true,
            let details = cache.shard(for: lookup.key).state.withLock({ $0.table.find(lookup.key)?.header.details }),
            let backoff = details.familyBackoff, fixed.timeSource.now() < backoff.retryAt
        {
            spared.queried.subtract(details.failedFamilies)
        }
        guard spared.queried != lookup.queried, !spared.queried.isEmpty else {
            return await querySources(lookup, hurry, until: end, denial)
        }
        let end = end ?? fixed.timeSource.now() + lookup.settings.configuration.timeLimit
        let result = await querySources(spared, hurry, until: end, denial)
        guard case .answer(let answer)? = result, case .nothing = answer.content else { return result }
        return await querySources(lookup, OneShot<Void>(), until: end, nil)
    }

    /// Queries the providers of the route, and the system resolver where the route requires it.
    /// - Returns: Nil when the lookup was canceled, because it has no waiters any more.
    private func querySources(
        _ lookup: UpstreamLookup,
        _ hurry: OneShot<Void>,
        until end: MonotonicTime?,
        _ denial: ProviderPool.Answer?
    ) async -> LookupResult? {
        let clock = fixed.timeSource
        let started = clock.now()
        let limit = lookup.settings.configuration.timeLimit
        let deadline = end ?? started + limit
        guard lookup.systemOnlyReason == nil, let route = lookup.route,
            case .providers(let names, let fallback) = route.action, !(names.isEmpty && fallback == .system)
        else {
            return await askSystem(lookup, until: deadline)
        }
        if fallback == .system {
            let share = systemShare(of: limit, beside: names)
            var own = poolAttempt(lookup, route, names, until: deadline - share)
            own.hadAddresses = !lookup.completesAnswer && hasAnswer(lookup, of: nil, at: started)
            own.patientUntil = deadline
            own.denial = denial
            return await SystemFallback(
                resolver: self,
                lookup: lookup,
                poolAttempt: own,
                started: started,
                deadline: deadline,
                share: share
            ).run(hurry)
        }
        var attempts: [HTTPDNSResolver.ProviderAttempt] = []
        var isTimeout = false
        if !names.isEmpty {
            var poolAttempt = poolAttempt(lookup, route, names, until: deadline)
            poolAttempt.hadAddresses = !lookup.completesAnswer && hasAnswer(lookup, of: nil, at: started)
            poolAttempt.denial = denial
            switch await lookup.settings.pool.ask(poolAttempt) {
            case .canceled: return nil
            case .answered(let answer): return await followHTTPSRecords(of: answer, poolAttempt, lookup)
            case .failed(let failed, let ranOut, _): (attempts, isTimeout) = (failed, ranOut)
            }
        }
        let error = failure(of: lookup, attempts, isTimeout: isTimeout && clock.now() >= deadline)
        // No query was sent, and no stale answer is served: the next query must not wait once the setting is corrected.
        if !attempts.isEmpty, attempts.allSatisfy(\.isLocal), !hasAnswer(lookup, of: nil, at: clock.now()) {
            return .busy(error, sentAt: started)
        }
        return .failure(error, sentAt: started, skippedFallback: false)
    }

    /// Returns the share of the time for a system resolver that may still be needed: the same as for one provider.
    func systemShare(of limit: Duration, beside providers: [String]) -> Duration { limit / (providers.count + 1) }

    /// Returns the error for providers without an answer.
    func failure(of lookup: UpstreamLookup, _ attempts: [HTTPDNSResolver.ProviderAttempt], isTimeout: Bool)
        -> HTTPDNSResolver.Error
    {
        guard isTimeout, attempts.allSatisfy({ $0.refusal == nil }) else { return .allFailed(lookup, attempts) }
        let limit = lookup.settings.configuration.timeLimit
        return .timedOut(host: lookup.host, limit: limit, attempts: attempts)
    }

    func poolAttempt(
        _ lookup: UpstreamLookup,
        _ route: HTTPDNSRoute,
        _ names: [String],
        until deadline: MonotonicTime
    ) -> ProviderPool.PoolAttempt {
        var query = HTTPDNSProviderQuery(
            host: lookup.host,
            families: lookup.queried,
            timeLimit: lookup.settings.configuration.attemptLimit
        )
        query.clientSubnet = lookup.key.clientSubnet ?? route.clientSubnet
        query.wantsHTTPSRecords = route.usesHTTPSRecords && !lookup.completesAnswer
        var attempt = ProviderPool.PoolAttempt(
            providers: names,
            order: route.order,
            wantsSecondOpinion: route.wantsSecondOpinion && !lookup.completesAnswer,
            query: query,
            deadline: deadline
        )
        attempt.demand = lookup.demand
        attempt.screen = lookup.screen
        return attempt
    }

    /// Returns whether addresses from a source are cached that may be served, within their lifetime or past it, and that the
    /// address policy allows.
    /// - Parameter source: Nil means any source.
    func hasAnswer(_ lookup: UpstreamLookup, of source: HTTPDNSResolver.Resolution.Source?, at now: MonotonicTime)
        -> Bool
    {
        let key = lookup.key
        guard
            let known = cache.shard(for: key).state.withLock({ $0.table.find(key) }).flatMap(lookup.settings.adopt),
            known.kind == .addresses, source == nil || known.origin?.source == source,
            lookup.screen.allowsPart(of: known)
        else { return false }
        return now < known.expiresAt || known.isStale(at: now)
    }

    /// Queries the system resolver after the providers failed.
    ///
    /// Its answer is cached no longer than until the providers may be queried again. Its "no such name" is not used: the
    /// providers, which are more reliable, gave no answer.
    func fallBack(
        to answer: KnownAnswer,
        _ lookup: UpstreamLookup,
        _ attempts: [HTTPDNSResolver.ProviderAttempt]
    ) -> LookupResult {
        var answer = answer
        answer.failedAttempts = attempts
        switch answer.content {
        case .addresses:
            let life = fixed.timeSource.now() - answer.sentAt + Lifetimes.backoff(afterFailures: 1)
            return .fallback(answer.living(min(life, answer.life)), .allFailed(lookup, attempts))
        case .nothing(let error):
            let system = HTTPDNSResolver.ProviderAttempt(
                provider: HTTPDNSResolver.ProviderAttempt.systemName,
                failure: error.code == .nameNotFound ? "does not know the name" : "no addresses",
                elapsed: fixed.timeSource.now() - answer.sentAt
            )
            return .failure(.allFailed(lookup, attempts + [system]), sentAt: answer.sentAt, skippedFallback: false)
        }
    }

    /// Converts a provider's answer to a cacheable one with its own lifetime.
    func known(_ reply: ProviderPool.Answer, _ lookup: UpstreamLookup) -> KnownAnswer {
        let origin = lookup.settings.origins.provider(reply.provider, lookup.route)
        var answer: KnownAnswer
        switch reply.outcome {
        case .addresses(let addresses, let timeToLive, let name):
            let wanted = lookup.settings.configuration.timeToLiveOverride?(lookup.host, timeToLive) ?? timeToLive
            let life = Lifetimes.positive(wanted, within: lookup.settings.configuration.cache)
            answer = KnownAnswer(.addresses(addresses), origin: origin, sentAt: reply.sentAt, life: life)
            answer.canonicalName = name == lookup.host ? nil : name
            answer.failedFamilies = reply.answer.failedFamilies(among: lookup.queried)
            answer.refreshAt = refreshMoment(of: answer)
            // A missing family stays missing for as long as the addresses of the other are used.
            answer.isFamilyLate = reply.answer.hasLateFamily(among: lookup.queried)
        case .noData(let timeToLive):
            let error = HTTPDNSResolver.Error.noAddresses(
                lookup.host,
                lookup.queried,
                says: "provider \(reply.provider.name)"
            )
            answer = KnownAnswer(
                .nothing(error),
                origin: origin,
                sentAt: reply.sentAt,
                life: negativeLife(of: reply, timeToLive)
            )
        case .nameError(let timeToLive):
            let error = HTTPDNSResolver.Error.noSuchName(lookup.host, says: "provider \(reply.provider.name)")
            answer = KnownAnswer(
                .nothing(error),
                origin: origin,
                sentAt: reply.sentAt,
                life: negativeLife(of: reply, timeToLive)
            )
        case .failed(let failure):
            // The provider pool returns definite answers only; a failure here would be cached as "no addresses".
            let error = HTTPDNSResolver.Error(
                code: .providersFailed,
                host: lookup.host.description,
                message: failure.message
            )
            answer = KnownAnswer(.nothing(error), origin: origin, sentAt: reply.sentAt, life: .zero)
        }
        answer.failedAttempts = reply.failedAttempts
        answer.isConfirmed = reply.isConfirmed
        answer.queriedFamilies = lookup.queried
        answer.holdsForAllClients = reply.answer.holdsForAllClients
        return answer
    }

    /// Returns the lifetime of a negative answer, which is short if no other provider confirmed it.
    private func negativeLife(of reply: ProviderPool.Answer, _ timeToLive: Duration?) -> Duration {
        let life = Lifetimes.negative(timeToLive)
        return reply.isUnconfirmed ? min(life, Lifetimes.negativeWithoutSOA) : life
    }

    /// Returns the time from which a use of an answer refreshes it, shortly before its lifetime ends. It varies, so that
    /// answers are not all refreshed at the same moment.
    func refreshMoment(of answer: KnownAnswer) -> MonotonicTime {
        Lifetimes.refreshMoment(of: answer, chance: chance())
    }

    /// Returns a random number in -1...1 that spreads simultaneous refreshes.
    private func chance() -> Double { Double(random(2001)) / 1000 - 1 }

    /// Caches a lookup's result and frees its key in one step, then delivers it to all waiters.
    func complete(
        _ result: LookupResult,
        _ lookup: UpstreamLookup,
        _ lookupID: AnswerCache.Lookups.LookupID,
        isRefresh: Bool
    ) {
        let key = lookup.key
        let now = fixed.timeSource.now()
        let chance = chance()
        let jitter = (chance + 1) / 2
        let holdsForAllClients = key.clientSubnet != nil && result.answer?.holdsForAllClients == true
        let current = live.current.resolving
        // The result of a lookup under older settings is kept as far as the present settings allow it.
        let kept = current.adopt(result, of: lookup)
        let result = kept ?? result
        let completed = cache.shard(for: key).state.withLock { state -> CompletedLookup? in
            guard let completion = state.lookups.complete(lookupID) else { return nil }
            var completed = CompletedLookup(waiters: completion.waiters, isCurrent: completion.isCurrent)
            completed.isCurrent = completion.isCurrent && kept != nil
            guard completed.isCurrent, let known = state.known(key, by: current, at: now) else {
                completed.isCurrent = false
                completed.known = result.answer
                return completed
            }
            completed.before = known.answer
            if case .answer(let answer) = result, !lookup.completesAnswer, let own = known.answer {
                completed.isDoubted = CacheEntry(own).doubts(answer, at: now)
            }
            if holdsForAllClients, !completed.isDoubted {
                completed.before = nil
                _ = state.table.set(nil, for: key, at: now)
                return completed
            }
            completed.change = state.table.update(key, at: now, version: current.version) { entry in
                switch result {
                case _ where lookup.completesAnswer:
                    completed.known = entry.complete(with: result.answer, at: now, chance: chance)
                case .answer(let answer):
                    completed.take(answer, into: &entry, jitter: jitter, at: now)
                case .fallback(let answer, let error):
                    completed.known = entry.installFallback(
                        answer,
                        after: error,
                        systemLife: current.configuration.cache.systemTimeToLive,
                        jitter: jitter,
                        at: now
                    )
                case .failure(let error, let sentAt, let skippedFallback):
                    entry.recordFailure(
                        error,
                        sentAt: sentAt,
                        skippedFallback: skippedFallback,
                        jitter: jitter,
                        at: now
                    )
                case .busy: break
                }
            }
            return completed
        }
        guard var completed else { return }
        if holdsForAllClients, completed.isCurrent, !completed.isDoubted, let answer = result.answer {
            keepForAllClients(answer, key.withoutClientSubnet, &completed, jitter: jitter, by: current, at: now)
        }
        let doubted = completed.doubt.map { LookupResult.failure($0, sentAt: result.sentAt, skippedFallback: false) }
        let outcome = doubted ?? result
        lookupBudget.giveBack(1)
        if case .answer = outcome, completed.isCurrent { noteUnsaved() }
        report(completed, outcome, lookup, isRefresh: isRefresh, at: now)
        // Before the waiters resume: the resolution tells them about that lookup.
        askForLateFamily(completed, lookup, at: now)
        let delivery = delivery(of: outcome, completed.known, key)
        for waiter in completed.waiters { waiter.deliver(delivery) }
    }

    /// Queries a family again that had no answer in time, once. Requests begin without it, and can add it to their race
    /// (``completedResolution(for:)``).
    private func askForLateFamily(_ completed: CompletedLookup, _ lookup: UpstreamLookup, at now: MonotonicTime) {
        guard completed.isCurrent, !lookup.completesAnswer, lookup.route?.usesHTTPSRecords != true,
            let known = completed.known, known.isFamilyLate, known.familyFailures == 1, now < known.expiresAt
        else { return }
        refresh(CachedAnswer(lookup.key, CacheEntry(known)), lookup, at: now)
    }

    /// Caches an answer under the key without a client subnet, where queries with any client subnet find it.
    private func keepForAllClients(
        _ answer: KnownAnswer,
        _ key: CacheKey,
        _ completed: inout CompletedLookup,
        jitter: Double,
        by settings: ResolvingSettings,
        at now: MonotonicTime
    ) {
        let own = completed
        completed = cache.shard(for: key).state.withLock { state in
            var completed = own
            completed.known = answer
            guard let before = state.known(key, by: settings, at: now) else { return completed }
            completed.before = before.answer
            completed.change = state.table.update(key, at: now, version: settings.version) { entry in
                completed.take(answer, into: &entry, jitter: jitter, at: now)
            }
            return completed
        }
    }

    /// Returns the answer for all clients that a query with a client subnet may use; nil for other queries.
    func answerForAllClients(
        _ key: CacheKey,
        by settings: ResolvingSettings,
        at now: MonotonicTime
    ) -> CachedAnswer? {
        guard key.clientSubnet != nil else { return nil }
        let key = key.withoutClientSubnet
        let known = cache.shard(for: key).state.withLock { $0.known(key, by: settings, at: now) }
        guard let answer = known?.answer, answer.header.details?.holdsForAllClients == true else { return nil }
        return answer
    }

    /// The remaining work of a completed lookup after the lock is released.
    struct CompletedLookup {
        var waiters: [OneShot<Delivery>]
        var isCurrent: Bool
        var change = AnswerTable.Change()
        /// The previously cached answer.
        var before: CachedAnswer?
        /// The answer as it is served.
        var known: KnownAnswer?
        /// Whether the answer for the lookup's own key is doubted.
        var isDoubted = false
        /// The reason that a negative answer is not used, when it is doubted.
        var doubt: HTTPDNSResolver.Error?

        /// Caches a definite answer, unless it is doubted.
        fileprivate mutating func take(
            _ answer: KnownAnswer,
            into entry: inout CacheEntry,
            jitter: Double,
            at now: MonotonicTime
        ) {
            known = nil
            if case .nothing(let error) = answer.content, entry.doubts(answer, at: now) {
                doubt = entry.recordDenial(error, sentAt: answer.sentAt, jitter: jitter, at: now)
            } else {
                known = entry.install(answer, at: now)
            }
        }
    }

    /// Returns the result for the waiters: the answer as it was cached, which may have more addresses than the lookup
    /// returned.
    private func delivery(of result: LookupResult, _ known: KnownAnswer?, _ key: CacheKey) -> Delivery {
        switch result {
        case .failure(let error, _, _), .busy(let error, _): .failed(error)
        case .answer(let answer), .fallback(let answer, _): .answer(CachedAnswer(key, CacheEntry(known ?? answer)))
        }
    }
}

extension ResolvingSettings {
    /// Returns the result of a lookup as these settings, which may be newer than its own, allow it.
    fileprivate func adopt(_ result: LookupResult, of lookup: UpstreamLookup) -> LookupResult? {
        if lookup.settings === self { return result }
        return switch result {
        case .answer(let answer): adopt(answer, for: lookup.key).map { .answer($0) }
        case .fallback(let answer, let error): adopt(answer, for: lookup.key).map { .fallback($0, error) }
        // A failure concerns the providers that were queried, and these may have changed.
        case .failure, .busy: nil
        }
    }
}

/// The result of a lookup.
enum LookupResult: Sendable {
    /// A definite answer.
    case answer(KnownAnswer)
    /// The system resolver's answer, after all providers failed with the given error.
    case fallback(KnownAnswer, HTTPDNSResolver.Error)
    /// No source had a definite answer. `skippedFallback` means that the system resolver was not queried, because a
    /// stale answer is served.
    case failure(HTTPDNSResolver.Error, sentAt: MonotonicTime, skippedFallback: Bool)
    /// No query was sent, because there was no thread for the lookup or no provider could send one. Nothing is known about the
    /// name, and nothing is cached.
    case busy(HTTPDNSResolver.Error, sentAt: MonotonicTime)
}

/// The task of a lookup.
struct LookupTask: Sendable {
    let task: Task<Void, Never>
    /// Delivered when the system resolver is to be queried now, for a route with the system resolver as fallback.
    let hurry: OneShot<Void>
    let demand: LookupDemand?

    func cancel() { task.cancel() }
}

extension LookupResult {
    /// The answer, if there is one.
    var answer: KnownAnswer? {
        switch self {
        case .answer(let answer), .fallback(let answer, _): answer
        case .failure, .busy: nil
        }
    }
}

/// The number of lookups that may still be started, over all shards.
final class LookupBudget: Sendable {
    private let left: Atomic<Int>

    init(_ maximum: Int) { left = Atomic(maximum) }

    /// Takes one from the budget.
    /// - Returns: Whether one was left.
    func take() -> Bool {
        if left.subtract(1, ordering: .relaxed).newValue >= 0 { return true }
        left.add(1, ordering: .relaxed)
        return false
    }

    func giveBack(_ count: Int) { left.add(count, ordering: .relaxed) }
}

/// The result that a waiter of a lookup receives.
enum Delivery: Sendable {
    case answer(CachedAnswer)
    case failed(HTTPDNSResolver.Error)
    case timedOut
    case canceled
    case shutDown
    /// The name was switched off.
    case switchedOff
}
