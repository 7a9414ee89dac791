// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
internal import Logging
internal import Synchronization

/// A resolver of host names: from the request, mappings, cache, providers and the system resolver, in this order.
///
/// Concurrent queries for the same name share one lookup. A resolver may be used from any task.
public final class HTTPDNSResolver: Sendable {
    /// The mappings in use.
    public let mappings: HTTPDNSMappingStore
    /// The switch that turns the resolver off and on.
    public let killSwitch: HTTPDNSResolver.KillSwitch
    /// The learned state of its providers, by name.
    package let directory = ProviderDirectory()

    /// The settings that cannot change while the resolver runs. The others are in ``live``.
    let fixed: HTTPDNSResolver.Configuration
    let live: LiveSettingsBox
    let retired = RetiredProviders()
    let attemptObserver: AttemptObserver
    let systemResolver: any SystemResolving
    let random: @Sendable (UInt64) -> UInt64
    let cache: AnswerCache
    let lookupBudget: LookupBudget
    let shadows: ShadowComparisons
    /// The position of this process in rollouts by process.
    let rolloutPlace: UInt64
    let observation: ResolverObservation
    var counting: ResolverCounting { observation.counting }
    let ipv6: IPv6Route
    let persistence: AnswerPersistence
    /// The number of runs that look up names in use in advance on the system path. The newest run ends the earlier ones.
    let lookAheads = Atomic(0)

    /// The maximum number of concurrent lookups.
    ///
    /// It is far more than a service needs, and a few dozen megabytes at most when an attacker chooses the names.
    package static let maximumLookups = 16_384

    /// Creates a resolver. No lookup starts before ``start()`` or the first query.
    /// - Throws: ``HTTPDNSResolver/ConfigurationError`` when a route names an unknown provider, two providers have the same
    ///   name, two routes have the same pattern, a mapping is invalid, or a limit is out of its range.
    public convenience init(_ configuration: HTTPDNSResolver.Configuration) throws(HTTPDNSResolver.ConfigurationError) {
        try self.init(configuration, isEnabled: true)
    }

    /// Creates a resolver as ``init(_:)`` does, with the given system resolver, limit and random source.
    /// - Parameters:
    ///   - isEnabled: Whether the file has the resolver switched on.
    ///   - systemResolver: Nil means one with the threads of the settings.
    ///   - maximumLookups: The maximum number of concurrent lookups.
    ///   - random: A function that returns a uniform random number below its argument.
    package init(
        _ configuration: HTTPDNSResolver.Configuration,
        isEnabled: Bool = true,
        systemResolver: (any SystemResolving)? = nil,
        maximumLookups: Int = HTTPDNSResolver.maximumLookups,
        random: @escaping @Sendable (UInt64) -> UInt64 = { UInt64.random(in: 0..<$0) }
    ) throws(HTTPDNSResolver.ConfigurationError) {
        let timeSource = configuration.timeSource
        let observation = ResolverObservation(
            providers: configuration.providers.map(\.name),
            timeSource: timeSource,
            logger: configuration.logger
        )
        let observer = AttemptObserver(observation, timeSource: timeSource)
        let settings = try ResolvingSettings(
            configuration,
            isEnabled: isEnabled,
            replacing: nil,
            counting: observation.counting
        ) {
            HTTPDNSResolver.pool($0, $1, replacing: $2, observer: observer, random: random)
        }
        let mappings = try HTTPDNSMappings(settings: configuration)
        live = LiveSettingsBox(LiveSettings(mappings: mappings, resolving: settings))
        self.mappings = HTTPDNSMappingStore(live)
        killSwitch = HTTPDNSResolver.KillSwitch(timeSource: timeSource)
        fixed = configuration
        self.systemResolver = systemResolver ?? SystemResolver(threads: configuration.systemThreads)
        self.random = random
        self.observation = observation
        attemptObserver = observer
        rolloutPlace = random(HTTPDNSRoute.Rollout.places)
        shadows = ShadowComparisons(observation)
        ipv6 = IPv6Route(configuration.hasIPv6Route)
        cache = AnswerCache(entries: configuration.cache.entries, bytes: configuration.cache.bytes.bytes)
        lookupBudget = LookupBudget(maximumLookups)
        persistence = AnswerPersistence(configuration, of: cache, by: live, observation, random: random)
        directory.add(settings.configuration.providers)
        killSwitch.setFile(settings.switchedOff)
        killSwitch.onChange { [weak self, observation] change in
            if change.isOff { self?.moveToSystemPath() }
            observation.tell(change.isOff ? .switchedOff : .switchedOn) { event in
                event.code = change.origin.rawValue
                event.message = change.scopes.map(\.description).joined(separator: ", ")
            }
        }
    }

    /// Resolves a query.
    ///
    /// Addresses of one family suffice. The policy is applied to exactly the list that is returned. Concurrent queries for
    /// one name share one lookup.
    /// - Throws: ``HTTPDNSResolver/Error``; `CancellationError` when the task is canceled, which does not affect other
    ///   queries that wait for the same name.
    public func resolve(_ query: HTTPDNSResolver.Query) async throws -> HTTPDNSResolver.Resolution {
        if let resolution = try cached(query) { return resolution }
        let started = fixed.timeSource.now()
        if !persistence.isStarted {
            let limit = min(query.timeLimit ?? AnswerPersistence.restoreLimit, AnswerPersistence.restoreLimit)
            _ = await LimitedWork.run(until: started + limit, on: fixed.timeSource) { await self.start() }
        }
        var isCounted = false
        while true {
            let switchGeneration = killSwitch.generation
            let lookup: CacheLookup
            switch try decide(query, by: live.current) {
            // A mapping may have been added since the first check.
            case .settled(let resolution): return resolution
            case .lookFor(let found): lookup = found
            }
            let pending = PendingQuery(
                lookup: lookup,
                started: started,
                switchGeneration: switchGeneration,
                isCounted: isCounted
            )
            let end: PendingQuery.End
            switch pending.join() {
            case .ended(let found): end = found
            case .wait(let wait): end = pending.settle(await pending.delivery(of: wait), wait)
            }
            switch end {
            case .resolved(let resolution): return resolution
            case .failed(let error): throw error
            case .again(let wasCounted): isCounted = wasCounted
            }
        }
    }

    /// Returns the addresses of a query, now and after each change, for clients that keep their connections for long.
    ///
    /// ```swift
    /// let query = HTTPDNSResolver.Query(try HTTPDNSHost("orders.shop.example"), port: 443)
    /// for try await resolution in resolver.addresses(of: query) {
    ///     use(resolution.endpoints)
    /// }
    /// ```
    ///
    /// See ``AddressUpdates`` for what counts as a change.
    public func addresses(of query: HTTPDNSResolver.Query) -> AddressUpdates {
        AddressUpdates(resolver: self, query: query)
    }

    /// Restores the answers of the store, and begins to resolve the names of the settings in the background.
    ///
    /// It waits at most a second for the store. It runs once, at the latest with the first query that cannot be answered
    /// without a wait; an earlier call spares that query the wait.
    public func start() async {
        let names = fixed.preresolve
        await persistence.start { [weak self] in
            guard !names.isEmpty else { return }
            Task.detached { _ = await self?.preresolve(names) }
        }
    }

    /// Restores the answers that the store kept from before a restart.
    ///
    /// Answers keep their age by the calendar. Answers past their stale limit are left out, and those of a service that no
    /// provider of the name's route queries any more. A failure of the store causes a log line and an event, nothing more.
    /// - Returns: The number of restored answers.
    @discardableResult
    public func restore() async -> Int { await persistence.restore() }

    /// Returns the route that decides about a name; nil means the system resolver.
    public func route(for host: HTTPDNSName) -> HTTPDNSRoute? { live.current.resolving.routes.entry(for: host)?.route }

    /// The policy for addresses that may be dialed, from the settings in use.
    package var policy: HTTPDNSAddressPolicy { live.current.resolving.configuration.policy }

    /// The settings in use, reloads included.
    package var settingsInUse: HTTPDNSResolver.Configuration { live.current.resolving.configuration }

    /// The version of the settings in use.
    package var liveGeneration: LiveGeneration { live.generation }

    /// Returns the kill switch entry for a name; nil when the name is on.
    package func switchEntry(for host: HTTPDNSName) -> HTTPDNSResolver.KillSwitch.Entry? {
        if killSwitch.isFullyOn { return nil }
        return switchEntry(for: host, by: live.current)
    }

    func switchEntry(for host: HTTPDNSName, by settings: LiveSettings) -> HTTPDNSResolver.KillSwitch.Entry? {
        if killSwitch.isFullyOn { return nil }
        return killSwitch.entry(for: host, decidedBy: settings.resolving.routes.entry(for: host)?.route.pattern)
    }

    /// Returns whether the kill switch, in its present state, would send a query to the system resolver.
    func isSwitchedOff(_ query: HTTPDNSResolver.Query) -> Bool {
        guard !killSwitch.isFullyOn, case .lookFor(let lookup)? = try? decide(query, by: live.current) else {
            return false
        }
        return lookup.systemOnly == .switchedOff
    }

    /// Ends the lookups at providers, moves the queries that wait for them to the system resolver, and looks up the names in use
    /// there in advance.
    ///
    /// A lookup ends without waiters too: it would go on to the next provider. It returns immediately.
    private func moveToSystemPath() {
        let settings = live.current
        // A lookup has the name at the end of its `via` rules, but the queried name can be off as well. With such rules each
        // waiting query decides for itself.
        let hasVia = settings.mappings.index.hasVia
        for shard in cache.shards {
            let (count, waiters, work) = shard.state.withLock { state in
                var ended = state.lookups.removeAll {
                    !$0.isSystemOnly && switchEntry(for: $0.host, by: settings) != nil
                }
                if hasVia { ended.waiters += state.lookups.waiters { !$0.isSystemOnly } }
                return ended
            }
            lookupBudget.giveBack(count)
            for waiter in waiters { waiter.deliver(.failure(.switchedOff)) }
            for task in work { task.cancel() }
        }
        let number = lookAheads.add(1, ordering: .relaxed).newValue
        Task.detached { [weak self] in
            guard let self else { return }
            await SystemLookAhead(resolver: self, settings: live.current, number: number).run()
        }
    }

    /// Removes all cached answers, negative answers and failures included. Mappings stay.
    ///
    /// Lookups in flight still answer the queries that wait for them, and are not cached.
    public func removeAllCached() {
        persistence.noteClearing()
        cache.removeAll()
        persistence.noteUnsaved()
        observation.tell(.cleared)
    }

    /// Ends all lookups, and shuts down the providers that no other resolver of the process uses. Idempotent.
    ///
    /// Waiting and later queries throw ``HTTPDNSResolver/Error`` with code `shutDown`.
    public func shutdown() async {
        live.close()
        for shard in cache.shards {
            let (_, waiters, work) = shard.state.withLock { $0.lookups.removeAll() }
            for waiter in waiters { waiter.deliver(.failure(.shutDown)) }
            for task in work { task.cancel() }
        }
        let settings = live.current.resolving
        // Providers that a reload took out of use may still serve lookups that began before it.
        let leases = settings.leases + retired.leases
        for pool in [settings.pool] + retired.pools { pool.shutdown() }
        await persistence.end()
        await withTaskGroup(of: Void.self) { group in
            for lease in leases { group.addTask { await lease.end() } }
        }
        observation.end()
    }

    /// The health of each provider, in the order of the settings.
    public var providerHealth: [HTTPDNSResolver.Status.Provider] { live.current.resolving.pool.health }
}

extension HTTPDNSResolver {
    /// Returns the time from which a use of an answer refreshes it, shortly before its lifetime ends. It varies, so that
    /// answers are not all refreshed at the same moment.
    func refreshMoment(of answer: KnownAnswer) -> MonotonicTime {
        Lifetimes.refreshMoment(of: answer, chance: Lifetimes.chance(random))
    }

    /// Removes a waiter from a lookup, which ends without waiters.
    /// - Parameter continues: Whether the lookup continues for later queries when this was the last waiter.
    func leave(_ entry: AnswerCache.Lookups.WaiterEntry, _ key: CacheKey, continues: Bool = false) {
        let (ended, work) = cache.shard(for: key).state.withLock { $0.lookups.leave(entry, continues: continues) }
        if ended { lookupBudget.giveBack(1) }
        work?.cancel()
    }

    /// Waits for the family that a resolution lacks (``Resolution/awaitsFamily``), until its lookup ends.
    /// - Returns: The resolution that the cache has for the query then; nil when it has none, and for a canceled task.
    package func completedResolution(for query: HTTPDNSResolver.Query) async -> HTTPDNSResolver.Resolution? {
        guard case .lookFor(let lookup)? = try? decide(query, by: live.current) else { return nil }
        let key = lookup.key
        let shard = cache.shard(for: key)
        let waiter = AnswerCache.Waiter()
        if let entry = shard.state.withLock({ $0.lookups.joinCompletion(key, waiter) }) {
            _ = await waiter.value(orOnCancel: .failure(.canceled))
            leave(entry, key)
        }
        let now = fixed.timeSource.now()
        let known = shard.state.withLock { $0.known(key, by: lookup.settings.resolving, at: now) }
        guard !Task.isCancelled, let answer = known?.answer, answer.isFresh(at: now) else { return nil }
        // Not counted: the query was counted with its first addresses.
        return try? lookup.use(answer, at: now)
    }

    static func pool(
        _ leases: [ProviderLease],
        _ configuration: HTTPDNSResolver.Configuration,
        replacing previous: ProviderPool?,
        observer: AttemptObserver,
        random: @escaping @Sendable (UInt64) -> UInt64
    ) -> ProviderPool {
        ProviderPool(
            leases,
            replacing: previous,
            limits: configuration.providerLimits,
            hedgeAfter: configuration.hedgeAfter,
            attemptLimit: configuration.attemptLimit,
            timeSource: configuration.timeSource,
            random: random,
            onSending: observer.noteSending,
            onAttempt: observer.note
        )
    }
}

extension HTTPDNSMappings {
    /// Creates the mappings of the settings.
    init(settings: HTTPDNSResolver.Configuration) throws(HTTPDNSResolver.ConfigurationError) {
        if let indexed = settings.indexedMappings {
            self = indexed
            return
        }
        do {
            try self.init(settings.mappings)
        } catch {
            throw HTTPDNSResolver.ConfigurationError(error)
        }
    }
}

extension HTTPDNSResolver.ConfigurationError {
    init(_ error: HTTPDNSMapping.Error) {
        self.init(message: "mapping \"\(error.key)\": \(error.reason)", location: error.location)
    }
}

extension HTTPDNSResolver {
    /// The counters up to now.
    ///
    /// Reading them sums over the counters of all threads: suitable every second, not for every request.
    public var counters: HTTPDNSResolver.Counters {
        counting.snapshot(cacheEntries: cache.count, cacheBytes: cache.byteCount)
    }

    /// The events from now on. Each iteration has its own buffer.
    public var events: HTTPDNSResolver.Events { observation.events }

    /// The number of listeners to its events.
    package var listenerCount: Int { observation.broadcast.listenerCount }
}
