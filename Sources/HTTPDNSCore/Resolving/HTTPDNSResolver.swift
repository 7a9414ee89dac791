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
    /// What is known of its providers by their names.
    package let directory = ProviderDirectory()

    /// What cannot change while it runs. What can is in ``live``.
    let fixed: HTTPDNSResolver.Configuration
    let live: LiveCell
    let retired = RetiredProviders()
    let attemptObserver: AttemptObserver
    let systemResolver: any SystemResolving
    let random: @Sendable (UInt64) -> UInt64
    let cache: AnswerCache
    let flightBudget: FlightBudget
    let shadows: ShadowComparisons
    /// Where this process stands in the order of rollouts by process.
    let rolloutPlace: UInt64
    let observation: ResolverObservation
    var counting: ResolverCounting { observation.counting }
    let ipv6: IPv6Route
    let store: (any HTTPDNSResolutionStore)?
    /// Whether the cache has something that the store has not.
    let unsaved = Atomic(false)
    /// Whether a task sleeps until it may be saved.
    let isSaveDue = Atomic(false)
    /// How often everything cached was removed.
    let clearings = Atomic(0)
    /// The task that will save it, while it sleeps.
    let saver = Lock<Task<Void, Never>?>(nil)
    /// Whether nothing is left to be done at the start.
    let isStarted: Atomic<Bool>
    /// Whether the store was read.
    let isRestored = Atomic(false)
    /// The work at the start, once it was begun.
    let starting = Lock<Task<Void, Never>?>(nil)
    /// The number of times that names in use were looked up ahead on the system path. The newest run ends the ones before.
    let lookAheads = Atomic(0)

    /// Names that are asked for at the same time: far more than a service needs, and a few dozen megabytes at most when
    /// a stranger chooses the names.
    package static let maximumFlights = 16_384

    /// Creates a resolver. No lookup starts before ``start()`` or the first query.
    /// - Throws: ``HTTPDNSResolver/ConfigurationError`` when a route names an unknown provider, two providers have the same
    ///   name, two routes have the same pattern, a mapping is invalid, or a limit is out of its range.
    public convenience init(_ configuration: HTTPDNSResolver.Configuration) throws(HTTPDNSResolver.ConfigurationError) {
        try self.init(configuration, isEnabled: true)
    }

    /// As ``init(_:)``, with the system's resolver, the bound and the source of chance given.
    /// - Parameters:
    ///   - isEnabled: Whether the file has it switched on.
    ///   - systemResolver: Nil means one with the threads of the settings.
    ///   - maximumFlights: How many names may be asked for at the same time.
    ///   - random: A number below its argument, each with the same chance.
    package init(
        _ configuration: HTTPDNSResolver.Configuration,
        isEnabled: Bool = true,
        systemResolver: (any SystemResolving)? = nil,
        maximumFlights: Int = HTTPDNSResolver.maximumFlights,
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
            HTTPDNSResolver.team($0, $1, replacing: $2, observer: observer, random: random)
        }
        let mappings = try HTTPDNSMappings(settings: configuration)
        live = LiveCell(LiveSettings(mappings: mappings, resolving: settings))
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
        store =
            configuration.store
            ?? configuration.snapshotPath.map { HTTPDNSDiskStore(path: $0, wallClock: configuration.wallClock) }
        isStarted = Atomic(store == nil && configuration.preresolve.isEmpty)
        cache = AnswerCache(entries: configuration.cache.entries, bytes: configuration.cache.bytes.bytes)
        flightBudget = FlightBudget(maximumFlights)
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
    /// Addresses of one family suffice. The policy is applied to exactly the list that is returned. Concurrent queries for one
    /// name share one lookup.
    /// - Throws: ``HTTPDNSResolver/Error``; `CancellationError` when the task is cancelled, which does not affect other queries
    ///   that wait for the same name.
    public func resolve(_ question: HTTPDNSResolver.Query) async throws -> HTTPDNSResolver.Resolution {
        if let resolution = try immediateResolution(for: question) { return resolution }
        let started = fixed.timeSource.now()
        if !isStarted.load(ordering: .acquiring) { await startFirst(limit: question.timeLimit) }
        // Whether it has waited, and was counted, and went on to the system path.
        var isRepeated = false
        while true {
            let turns = killSwitch.generation
            let settings = live.current
            switch try decide(question, by: settings) {
            // A mapping may have come since the first look.
            case .settled(let resolution): return resolution
            case .lookFor(let name):
                do {
                    let answer = try await answer(
                        name,
                        to: question,
                        by: settings,
                        since: started,
                        turns: turns,
                        isRepeated: isRepeated
                    )
                    // Nil when newer settings were there first: then the question goes by those.
                    guard let answer else { continue }
                    // What a provider said is not used any more when the name was switched off meanwhile.
                    guard answer.source == .provider, killSwitch.generation != turns, isSwitchedOff(question) else {
                        return answer
                    }
                } catch let error as HTTPDNSResolver.Error {
                    guard error.code != .shutDown, name.bypass == nil, killSwitch.generation != turns,
                        isSwitchedOff(question)
                    else { throw error }
                } catch is SwitchedOffMeanwhile {}
                isRepeated = true
            }
        }
    }

    /// Returns the route that decides about a name; nil means bypass.
    public func route(for host: HTTPDNSName) -> HTTPDNSRoute? { live.current.resolving.routes.entry(for: host)?.route }

    /// Which addresses may be dialled, by the settings in use.
    package var policy: HTTPDNSAddressPolicy { live.current.resolving.configuration.policy }

    /// The number of the settings in use.
    package var liveGeneration: LiveGeneration { live.generation }

    /// Who has a name switched off; nil when it is on.
    package func off(for host: HTTPDNSName) -> HTTPDNSResolver.KillSwitch.Off? {
        if killSwitch.isFullyOn { return nil }
        return killSwitch.off(for: host, decidedBy: route(for: host)?.pattern)
    }

    /// Removes all cached answers, negative answers and failures included. Mappings stay.
    ///
    /// Lookups in flight still answer the queries that wait for them, and are not cached.
    public func removeAllCached() {
        clearings.add(1, ordering: .releasing)
        cache.removeAll()
        noteUnsaved()
        observation.tell(.cleared)
    }

    /// Shuts down the providers. Idempotent.
    ///
    /// Waiting and later queries throw ``HTTPDNSResolver/Error`` with code `shutDown`.
    public func shutdown() async {
        live.close()
        for shard in cache.shards {
            let (waiters, work) = shard.state.withLock { $0.flights.removeAll() }
            for waiter in waiters { waiter.deliver(.shutDown) }
            for task in work { task.cancel() }
        }
        let settings = live.current.resolving
        // Those that a reload took out of use may still be at work for flights that began before it.
        let providers = settings.configuration.providers + retired.providers
        for team in [settings.team] + retired.teams { team.shutdown() }
        saver.withLock { $0 }?.cancel()
        await saveLast()
        await withTaskGroup(of: Void.self) { group in
            for provider in providers { group.addTask { await provider.shutdown() } }
        }
        observation.end()
    }

    /// The health of each provider, in the order of the settings.
    public var providerHealth: [HTTPDNSResolver.Status.Provider] { live.current.resolving.team.health }

    /// - Throws: ``HTTPDNSResolver/Error`` after ``shutdown()``.
    func requireRunning(_ question: HTTPDNSResolver.Query) throws(HTTPDNSResolver.Error) {
        if live.isClosed { throw .shutDown(host: question.host.description) }
    }
}

extension HTTPDNSResolver {
    static func team(
        _ leases: [ProviderLease],
        _ configuration: HTTPDNSResolver.Configuration,
        replacing previous: ProviderTeam?,
        observer: AttemptObserver,
        random: @escaping @Sendable (UInt64) -> UInt64
    ) -> ProviderTeam {
        ProviderTeam(
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
    /// The mappings of settings.
    init(settings: HTTPDNSResolver.Configuration) throws(HTTPDNSResolver.ConfigurationError) {
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

extension HTTPDNSResolver: ObservedResolver {
    /// The counters up to now.
    ///
    /// Reading them sums over the counters of all threads: suitable every second, not for every request.
    public var counters: HTTPDNSResolver.Counters {
        counting.snapshot(cacheEntries: cache.count, cacheBytes: cache.byteCount)
    }

    /// The events from now on. Each iteration has its own buffer.
    public var events: HTTPDNSResolver.Events { observation.events }
}
