internal import HTTPDNSPrimitives
internal import Logging
internal import Synchronization

/// Host and port in, addresses out: from the request, mappings, cache, providers and the system resolver, in this order.
///
/// Questions for the same name that arrive while one is under way share its answer. A resolver may be used from any task.
public final class Resolver: Sendable {
    /// The mappings in use.
    public let mappings: MappingStore
    /// Turns it off and on.
    public let killSwitch: KillSwitch

    let configuration: ResolverConfiguration
    let routes: RouteTable
    let team: ProviderTeam
    let origins: AnswerOrigins
    let systemResolver: any SystemResolving
    let random: @Sendable (UInt64) -> UInt64
    let cache: AnswerCache
    let flightBudget: FlightBudget
    let observation: ResolverObservation
    var counting: ResolverCounting { observation.counting }
    let store: (any ResolutionStore)?
    /// Whether the cache has something that the store has not.
    let unsaved = Atomic(false)
    /// Whether a task sleeps until it may be saved.
    let isSaveDue = Atomic(false)
    /// How often everything cached was removed.
    let clearings = Atomic(0)
    /// The task that will save it, while it sleeps.
    let saver = Lock<Task<Void, Never>?>(nil)
    private let isShutDown = Atomic(false)

    /// Names that are asked for at the same time: far more than a service needs, and a few dozen megabytes at most when
    /// a stranger chooses the names.
    package static let maximumFlights = 16_384

    /// Creates a resolver. Nothing is asked until the first question.
    /// - Throws: ``ResolverConfigurationError`` when a route names an unknown provider, two providers have one name, two
    ///   routes have one pattern, a mapping is bad, or a limit is out of its range.
    public convenience init(_ configuration: ResolverConfiguration) throws(ResolverConfigurationError) {
        try self.init(configuration, systemResolver: SystemResolver())
    }

    /// As ``init(_:)``, with the system's resolver, the bound and the source of chance given.
    /// - Parameters:
    ///   - maximumFlights: How many names may be asked for at the same time.
    ///   - random: A number below its argument, each with the same chance.
    package init(
        _ configuration: ResolverConfiguration,
        systemResolver: any SystemResolving,
        maximumFlights: Int = Resolver.maximumFlights,
        random: @escaping @Sendable (UInt64) -> UInt64 = { UInt64.random(in: 0..<$0) }
    ) throws(ResolverConfigurationError) {
        if let fault = configuration.fault { throw ResolverConfigurationError(message: fault) }
        routes = try RouteTable(configuration.routes, providerNames: configuration.providers.map(\.name))
        do {
            mappings = MappingStore(try HostMappings(configuration.mappings))
        } catch {
            throw ResolverConfigurationError(
                message: "mapping \"\(error.key)\": \(error.reason)",
                location: error.location
            )
        }
        killSwitch = KillSwitch(timeSource: configuration.timeSource)
        self.configuration = configuration
        self.systemResolver = systemResolver
        self.random = random
        let names = configuration.providers.map(\.name)
        let timeSource = configuration.timeSource
        observation = ResolverObservation(providers: names, timeSource: timeSource, logger: configuration.logger)
        let observer = AttemptObserver(observation, providers: names, timeSource: timeSource)
        store =
            configuration.store
            ?? configuration.snapshotPath.map { DiskSnapshot(path: $0, wallClock: configuration.wallClock) }
        team = ProviderTeam(
            configuration.providers,
            limits: configuration.providerLimits,
            hedgeAfter: configuration.hedgeAfter,
            attemptLimit: configuration.attemptLimit,
            timeSource: configuration.timeSource,
            random: random,
            onSending: observer.noteSending,
            onAttempt: observer.note
        )
        origins = AnswerOrigins(configuration)
        cache = AnswerCache(entries: configuration.cache.entries, bytes: configuration.cache.bytes.bytes)
        flightBudget = FlightBudget(maximumFlights)
    }

    /// Answers a question.
    ///
    /// Addresses of one family suffice; the policy is applied to the very list that is returned. Many questions for one
    /// name make one query.
    /// - Throws: ``ResolutionError``; `CancellationError` when the task is cancelled, without harm to others that wait for
    ///   the same name.
    public func resolve(_ question: ResolutionQuestion) async throws -> Resolution {
        if let resolution = try immediateResolution(for: question) { return resolution }
        switch try decide(question) {
        // A mapping may have come since the first look.
        case .settled(let resolution): return resolution
        case .lookFor(let name):
            return try await answer(name, to: question, since: configuration.timeSource.now())
        }
    }

    /// The route that decides about a name; nil means bypass.
    public func route(for host: HostName) -> Route? { routes.entry(for: host)?.route }

    /// Forgets everything cached, negative answers and failures too. Mappings stay. Queries under way still answer those
    /// who wait for them, and are not cached.
    public func removeAllCached() {
        clearings.add(1, ordering: .releasing)
        cache.removeAll()
        noteUnsaved()
        observation.tell(.cleared)
    }

    /// Ends the providers. Those who wait, and questions after it, get ``ResolutionError`` with code `shutDown`. Idempotent.
    public func shutdown() async {
        isShutDown.store(true, ordering: .sequentiallyConsistent)
        for shard in cache.shards {
            let (waiters, work) = shard.state.withLock { $0.flights.removeAll() }
            for waiter in waiters { waiter.deliver(.shutDown) }
            for task in work { task.cancel() }
        }
        team.shutdown()
        saver.withLock { $0 }?.cancel()
        await saveLast()
        await withTaskGroup(of: Void.self) { group in
            for provider in configuration.providers { group.addTask { await provider.shutdown() } }
        }
        observation.end()
    }

    /// How each provider does, in the order of the settings.
    public var providerHealth: [ProviderHealth] { team.health }

    /// - Throws: ``ResolutionError`` after ``shutdown()``.
    func requireRunning(_ question: ResolutionQuestion) throws(ResolutionError) {
        if isShutDown.load(ordering: .sequentiallyConsistent) { throw .shutDown(host: question.host.description) }
    }
}

extension ResolverConfiguration {
    /// What is wrong with the settings by themselves; nil when nothing is.
    fileprivate var fault: String? {
        if cache.entries < 1 { return "cache.entries is \(cache.entries), and 1 is the least" }
        if cache.minimumTimeToLive < .zero { return "cache.ttl.min is negative" }
        if cache.maximumTimeToLive < cache.minimumTimeToLive { return "cache.ttl.max is below cache.ttl.min" }
        if timeLimit <= .zero { return "the time limit for resolving is not above zero" }
        if families.intersection(.both).isEmpty { return "no family of addresses is allowed; allow IPv4, IPv6 or both" }
        var names: Set<String> = []
        for provider in providers {
            if provider.name.isEmpty { return "a provider has no name" }
            if provider.name == ProviderAttempt.systemName {
                return "a provider is called \"system\", which is the system resolver's name in reports; take another"
            }
            guard names.insert(provider.name).inserted else {
                return "two providers are called \"\(provider.name)\"; names of providers are unique"
            }
        }
        return nil
    }
}

extension Resolver: ObservedResolver {
    /// What it did up to now. Reading them sums over all threads' counters; it is meant for every second, not for every
    /// request.
    public var counters: ResolverCounters {
        counting.snapshot(cacheEntries: cache.count, cacheBytes: cache.byteCount)
    }

    /// What happens to it from now on. Each iteration has a buffer of its own.
    public var events: ResolverEvents { observation.events }
}
