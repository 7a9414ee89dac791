// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
internal import Synchronization

/// A lookup of a name at its sources: its key, route, families and settings.
///
/// All queries for the key share it. It queries the providers of the route and the system resolver, where the route requires it,
/// and ends as a ``CompletedLookup``:
///
///     start ── querySources ─┬─ providers ─┬─ HTTPS records ─┬─ complete ── waiters
///                            └─ system ────┴─────────────────┘
struct UpstreamLookup: Sendable {
    let resolver: HTTPDNSResolver
    /// The settings that the lookup uses until its end.
    var settings: ResolvingSettings
    var key: CacheKey
    /// The families that an answer may have.
    var families: HTTPDNSAddress.Families
    /// The families that providers are queried for: without IPv6 on a machine without an IPv6 route and without a setting.
    var queried: HTTPDNSAddress.Families
    /// Whether the lookup only adds families to an answer within its lifetime.
    var completesAnswer = false
    /// The route that decides; nil means the system resolver, because there is no route or the lookup is for the system alone.
    var route: HTTPDNSRoute?
    /// The reason that no provider is queried, when none is.
    var systemOnlyReason: SystemOnlyReason?
    /// The calls that wait for it; nil for a lookup that has the resolver's whole limit, or that no call waits for.
    var demand: LookupDemand?
    /// The name of the query that started it, if `via` rules led from there to ``host``.
    var queriedName: HTTPDNSName?

    var host: HTTPDNSName { key.host }

    /// The address policy for its answers, by the routes of ``host`` and ``queriedName``.
    ///
    /// Queries for both names share the answers, and each use is judged by the route of its own name. So only an answer that
    /// neither route allows is refused.
    var screen: AnswerScreen {
        let table = settings.routes
        var routes: [HTTPDNSRoute?] = [nil]
        if table.hasAddressRules {
            let names: [HTTPDNSName?] = [host, queriedName]
            routes = names.compactMap { $0 }.map { table.entry(for: $0)?.route }
        }
        return AnswerScreen(policy: settings.configuration.policy, routes: routes)
    }

    /// Whether the system resolver is the fallback of the providers.
    var hasFallback: Bool {
        guard systemOnlyReason == nil, case .providers(_, fallback: .system) = route?.action else { return false }
        return true
    }

    /// Returns whether an expired answer of the system resolver may be looked up there again while no provider may be
    /// queried.
    func mayReplace(_ answer: CachedAnswer) -> Bool { hasFallback && answer.origin?.source == .system }

    var clock: any TimeSource { resolver.fixed.timeSource }
    private var limit: Duration { settings.configuration.timeLimit }
    private var shard: AnswerCache.Shard { resolver.cache.shard(for: key) }
}

// The sources.
extension UpstreamLookup {
    /// Starts the lookup that all queries for the key share.
    /// - Parameters:
    ///   - deadline: The time at which it ends; nil means after the resolver's limit.
    ///   - hurries: Whether the system resolver of a fallback is queried immediately.
    ///   - denial: The negative answer of a provider that another one has to confirm.
    func start(
        _ lookupID: AnswerCache.Lookups.LookupID,
        isRefresh: Bool = false,
        until deadline: MonotonicTime? = nil,
        hurries: Bool = false,
        denial: ProviderPool.Answer? = nil
    ) {
        if endIfSwitchedOff(lookupID) { return }
        if systemOnlyReason == .internalName, let domain = settings.routes.unknownTopLevelDomain(of: host) {
            resolver.observation.noteUnknown(topLevelDomain: domain, of: host)
        }
        let hurry = OneShot<Void>()
        if hurries { hurry.deliver(()) }
        // A detached task: it serves all waiters. So it must neither end with the first caller nor inherit its task-local
        // values. One that a call waits for begins on its thread; a refresh must not delay the use of the answer.
        var work = LookupTask(task: nil, hurry: hurry, demand: demand)
        // Others may join the lookup while it begins.
        shard.state.withLock { _ = $0.lookups.attach(work, to: lookupID) }
        let run: @Sendable () async -> Void = {
            // The kill switch may have ended the lookup before it had a task to cancel.
            guard shard.state.withLock({ $0.lookups.contains(lookupID) }) else { return }
            guard let result = await querySourcesSparingly(hurry, until: deadline, denial) else { return }
            complete(result, lookupID, isRefresh: isRefresh)
        }
        work.task = isRefresh ? CallWork.detached(run) : CallWork.immediate(run)
        shard.state.withLock { $0.lookups.attach(work, to: lookupID) }?.cancel()
    }

    /// Ends the lookup if its name was switched off before the lookup was in the table, where the kill switch would have found it.
    /// Queries that wait for it are decided again.
    /// - Returns: Whether it has ended.
    func endIfSwitchedOff(_ lookupID: AnswerCache.Lookups.LookupID) -> Bool {
        guard systemOnlyReason == nil, resolver.switchEntry(for: host) != nil else { return false }
        if let ended = shard.state.withLock({ $0.lookups.complete(lookupID) }) {
            resolver.lookupBudget.giveBack(1)
            for waiter in ended.waiters { waiter.deliver(.failure(.switchedOff)) }
        }
        return true
    }

    /// Queries the sources without the families that are in back-off after failures. They are queried after all when the others
    /// have no address.
    private func querySourcesSparingly(
        _ hurry: OneShot<Void>,
        until end: MonotonicTime?,
        _ denial: ProviderPool.Answer?
    ) async -> Result<KnownAnswer, LookupFailure>? {
        var spared = self
        if !completesAnswer, route?.usesHTTPSRecords != true,
            let details = shard.state.withLock({ $0.table.find(key)?.header.details?.fields }),
            let backoff = details.familyBackoff, clock.now() < backoff.retryAt
        {
            spared.queried.subtract(details.failedFamilies)
        }
        guard spared.queried != queried, !spared.queried.isEmpty else {
            return await querySources(hurry, until: end, denial)
        }
        let end = end ?? clock.now() + limit
        let result = await spared.querySources(hurry, until: end, denial)
        guard case .success(let answer)? = result, case .nothing = answer.content else { return result }
        return await querySources(OneShot<Void>(), until: end, nil)
    }

    /// Queries the providers of the route, and the system resolver where the route requires it.
    /// - Returns: Nil when the lookup was canceled, because it has no waiters any more.
    private func querySources(
        _ hurry: OneShot<Void>,
        until end: MonotonicTime?,
        _ denial: ProviderPool.Answer?
    ) async -> Result<KnownAnswer, LookupFailure>? {
        let started = clock.now()
        let deadline = end ?? started + limit
        guard systemOnlyReason == nil, let route,
            case .providers(let names, let fallback) = route.action, !(names.isEmpty && fallback == .system)
        else {
            return await querySystem(until: deadline)
        }
        let share = fallback == .system ? systemShare(beside: names) : .zero
        var attempt = poolAttempt(route, names, until: deadline - share)
        attempt.hadAddresses = !completesAnswer && hasAnswer(of: nil, at: started)
        attempt.denial = denial
        if fallback == .system {
            attempt.patientUntil = deadline
            return await SystemFallback(
                lookup: self,
                poolAttempt: attempt,
                started: started,
                deadline: deadline,
                share: share
            ).run(hurry)
        }
        var attempts: [HTTPDNSResolver.ProviderAttempt] = []
        var isTimeout = false
        if !names.isEmpty {
            switch await settings.pool.ask(attempt) {
            case .canceled: return nil
            case .answered(let answer): return await followHTTPSRecords(of: answer, attempt)
            case .failed(let failed, let ranOut, _): (attempts, isTimeout) = (failed, ranOut)
            }
        }
        let error = failure(attempts, isTimeout: isTimeout && clock.now() >= deadline)
        var failure = LookupFailure(error: error, sentAt: started)
        // No query was sent, and no stale answer is served: the next query must not wait once the setting is corrected.
        failure.wasBusy =
            !attempts.isEmpty && attempts.allSatisfy(\.isLocal) && !hasAnswer(of: nil, at: clock.now())
        return .failure(failure)
    }

    /// Returns the share of the time for a system resolver that may still be needed: the same as for one provider.
    func systemShare(beside providers: [String]) -> Duration { limit / (providers.count + 1) }

    /// Returns the error for providers without an answer.
    private func failure(_ attempts: [HTTPDNSResolver.ProviderAttempt], isTimeout: Bool) -> HTTPDNSResolver.Error {
        guard isTimeout, attempts.allSatisfy({ $0.refusal == nil }) else { return .allFailed(self, attempts) }
        return .timedOut(host: host, limit: limit, attempts: attempts)
    }

    func poolAttempt(
        _ route: HTTPDNSRoute,
        _ names: [String],
        until deadline: MonotonicTime
    ) -> ProviderPool.PoolAttempt {
        var query = HTTPDNSProviderQuery(
            host: host,
            families: queried,
            timeLimit: settings.configuration.attemptLimit
        )
        query.clientSubnet = key.clientSubnet ?? route.clientSubnet
        query.wantsHTTPSRecords = route.usesHTTPSRecords && !completesAnswer
        query.search = route.search
        query.completesAnswer = completesAnswer
        var attempt = ProviderPool.PoolAttempt(
            providers: names,
            order: route.order,
            wantsSecondOpinion: route.wantsSecondOpinion && !completesAnswer,
            query: query,
            deadline: deadline
        )
        attempt.demand = demand
        attempt.screen = screen
        return attempt
    }

    /// Returns whether addresses from a source are cached that may be served, within their lifetime or past it, and that the
    /// address policy allows.
    /// - Parameter source: Nil means any source.
    func hasAnswer(of source: HTTPDNSResolver.Resolution.Source?, at now: MonotonicTime) -> Bool {
        guard let known = shard.state.withLock({ $0.table.find(key) }).flatMap(settings.adopt),
            source == nil || known.origin?.source == source
        else { return false }
        return known.mayServe(at: now) && screen.allowsPart(of: known)
    }

    /// Queries the system resolver after the providers failed.
    ///
    /// Its answer is cached no longer than until the providers may be queried again. Its "no such name" is not used: the
    /// providers, which are more reliable, gave no answer.
    func fallBack(
        to answer: KnownAnswer,
        _ attempts: [HTTPDNSResolver.ProviderAttempt]
    ) -> Result<KnownAnswer, LookupFailure> {
        let elapsed = clock.now() - answer.sentAt
        guard case .nothing(let error) = answer.content else {
            var answer = answer.living(min(elapsed + Lifetimes.backoff(afterFailures: 1), answer.life))
            answer.details.failedAttempts = attempts
            answer.providersFailure = .allFailed(self, attempts)
            return .success(answer)
        }
        let system = HTTPDNSResolver.ProviderAttempt(
            provider: HTTPDNSResolver.ProviderAttempt.systemName,
            failure: error.code == .nameNotFound ? "does not know the name" : "no addresses",
            elapsed: elapsed
        )
        return .failure(LookupFailure(error: .allFailed(self, attempts + [system]), sentAt: answer.sentAt))
    }

    /// Converts a provider's answer to a cacheable one with its own lifetime.
    func known(_ reply: ProviderPool.Answer) -> KnownAnswer {
        let source = "provider \(reply.provider.name)" + (reply.answer.extendedErrors.text.map { " (\($0))" } ?? "")
        let content: KnownAnswer.Content
        var life: Duration
        var canonicalName: HTTPDNSName?
        switch reply.outcome {
        case .addresses(let addresses, let timeToLive, let name):
            content = .addresses(addresses)
            life = settings.configuration.timeToLiveOverride?(host, timeToLive) ?? timeToLive
            life = Lifetimes.positive(life, within: settings.configuration.cache, route)
            canonicalName = name == host ? nil : name
        case .noData(let timeToLive):
            content = .nothing(.noAddresses(host, queried, says: source))
            life = Lifetimes.negative(timeToLive, route)
        case .nameError(let timeToLive):
            content = .nothing(.noSuchName(host, says: source))
            life = Lifetimes.negative(timeToLive, route)
        case .failed(let error):
            // The provider pool returns definite answers only; a failure here would be cached as "no addresses".
            content = .nothing(
                HTTPDNSResolver.Error(code: .providersFailed, host: host.description, message: error.message)
            )
            life = .zero
        }
        // The lifetime of a negative answer is short if no other provider confirmed it.
        if reply.isUnconfirmed, case .nothing = content { life = min(life, Lifetimes.negativeWithoutSOA) }
        var answer = KnownAnswer(
            content,
            origin: settings.origins.provider(reply.provider, route),
            sentAt: reply.sentAt,
            life: life
        )
        if case .addresses = content {
            answer.details.canonicalName = canonicalName
            // A missing family stays missing for as long as the addresses of the other are used.
            answer.details.failedFamilies = reply.answer.failedFamilies(among: queried)
            answer.isFamilyLate = reply.answer.hasLateFamily(among: queried)
            answer.refreshAt = resolver.refreshMoment(of: answer)
        }
        answer.details.failedAttempts = reply.failedAttempts
        answer.isConfirmed = reply.isConfirmed
        answer.queriedFamilies = queried
        answer.details.holdsForAllClients = reply.answer.holdsForAllClients
        answer.details.extendedErrors = reply.answer.extendedErrors
        return answer
    }
}

// The refresh of a cached answer in the background.
extension UpstreamLookup {
    /// Returns whether the lookup can succeed now: not while all providers of the route are in back-off after failures.
    var mayAsk: Bool {
        guard case .providers(let names, _) = route?.action, systemOnlyReason == nil, !names.isEmpty else {
            return true
        }
        return settings.pool.mayAsk(names)
    }

    /// Refreshes an answer in use. Until its lifetime is nearly over, only its missing families are queried.
    func refresh(_ answer: CachedAnswer, at now: MonotonicTime) {
        var lookup = self
        let failed = answer.header.details?.fields.failedFamilies ?? []
        let life = answer.expiresAt - answer.sentAt
        if !failed.isEmpty, route?.usesHTTPSRecords != true,
            now < answer.expiresAt - Lifetimes.refreshWindow(of: life) * (1 + Lifetimes.refreshJitter)
        {
            lookup.queried.formIntersection(failed)
            lookup.completesAnswer = true
            if lookup.queried.isEmpty { return }
        }
        lookup.refresh()
    }

    /// Refreshes an answer, unless a lookup is in flight already or no source may be queried.
    /// - Returns: Whether a refresh was started.
    @discardableResult
    func refresh() -> Bool {
        guard mayAsk else { return false }
        let now = clock.now()
        let lookupID = shard.state.withLock { state in
            state.lookups.open(
                key,
                version: settings.version,
                onOwnThreads: CallWork.executor != nil,
                isPartial: completesAnswer,
                at: now,
                mayStart: resolver.lookupBudget.take
            )
        }
        guard let lookupID, !endIfSwitchedOff(lookupID) else { return false }
        resolver.counting.count(.refreshStarted)
        resolver.observation.tell(.refreshStarted) { event in
            event.host = host
            event.route = route?.pattern.description
        }
        start(lookupID, isRefresh: true)
        return true
    }

    /// Joins the lookup in flight for the key, or starts it, unless an answer is cached that will do.
    /// - Parameter suffices: Whether a cached answer will do.
    /// - Returns: That answer, or the one of the lookup; nil when there is none.
    func answer(unless suffices: (CachedAnswer, MonotonicTime) -> Bool) async -> CachedAnswer? {
        let waiter = AnswerCache.Waiter()
        let now = clock.now()
        let (cached, place): (CachedAnswer?, (entry: AnswerCache.Lookups.WaiterEntry, starts: Bool)?) =
            shard.state.withLock { state in
                guard let known = state.known(key, by: settings, at: now) else { return (nil, nil) }
                if let answer = known.answer, suffices(answer, now) { return (answer, nil) }
                guard !state.lookups.isOutdated(key, version: settings.version) else { return (nil, nil) }
                return (
                    nil,
                    state.lookups.join(
                        key,
                        waiter,
                        version: settings.version,
                        at: now,
                        mayStart: resolver.lookupBudget.take
                    )
                )
            }
        guard let place else { return cached }
        if place.starts { start(place.entry.lookupID) }
        if resolver.live.isClosed { waiter.deliver(.failure(.shutDown)) }
        // A lookup always ends within the resolver's limit.
        return try? await waiter.value().get()
    }
}

/// The failure of a lookup: no source had a definite answer.
struct LookupFailure: Error {
    var error: HTTPDNSResolver.Error
    var sentAt: MonotonicTime
    /// Whether the system resolver was not queried, because a stale answer is served.
    var skippedFallback = false
    /// Whether no query was sent, because there was no thread for the lookup or no provider could send one. Nothing is known about
    /// the name, and nothing is cached.
    var wasBusy = false
}

/// The task of a lookup.
struct LookupTask: Sendable {
    /// Nil while it is being started.
    var task: Task<Void, Never>?
    /// Delivered when the system resolver is to be queried now, for a route with the system resolver as fallback.
    let hurry: OneShot<Void>
    let demand: LookupDemand?
    /// The lookups of a batch, which the task serves together; nil for one of its own.
    var sharers: Sharers?

    /// Ends the task, unless it serves other lookups.
    func cancel() { if sharers?.leave() ?? true { task?.cancel() } }

    /// The number of lookups that a task serves.
    final class Sharers: Sendable {
        private let left: Atomic<Int>

        init(_ count: Int) { left = Atomic(count) }

        /// Takes one off.
        /// - Returns: Whether it was the last.
        func leave() -> Bool { left.subtract(1, ordering: .relaxed).newValue == 0 }
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

/// The reason that a waiter of a lookup receives no answer.
enum WaitFailure: Error {
    case failed(HTTPDNSResolver.Error)
    case timedOut
    case canceled
    case shutDown
    /// The name was switched off.
    case switchedOff
}
