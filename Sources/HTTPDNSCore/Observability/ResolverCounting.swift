internal import HTTPDNSPrimitives
internal import Synchronization

/// The counters of a running resolver. All methods may be called from any thread, also under a lock: they never block.
package final class ResolverCounting: Sendable {
    /// The counters for queries that no route decides, and names without a route.
    package let unrouted = RouteCounting()
    /// The counters by the patterns of routes. They stay when a reload removes the route, so that no count is lost.
    private let routes = Lock<[String: RouteCounting]>([:])
    /// The counters of the routes beyond ``maximumRoutes``.
    private let otherRoutes = RouteCounting()
    private let occurrences = CounterRow(OccurrenceCount.allCases.count)
    /// The counters of the providers, in the order of registration. A provider that was replaced keeps its counters.
    private let providers: Lock<[(name: String, row: CounterRow)]>

    /// The counters of a provider: ``ProviderCount``, then its failures by code, then the nanoseconds of its answers.
    private static let firstFailure = ProviderCount.allCases.count
    private static let answerTime = firstFailure + HTTPDNSProviderError.Code.all.count

    /// The maximum number of patterns with their own counters. Reloads may add more over time; those share one.
    package static let maximumRoutes = 1000

    /// Returns the counters of the route with a pattern; for nil, those of names without a route.
    package func route(_ pattern: HTTPDNSRoute.Pattern?) -> RouteCounting {
        guard let pattern else { return unrouted }
        return routes.withLock { routes in
            if let known = routes[pattern.description] { return known }
            guard routes.count < ResolverCounting.maximumRoutes else { return otherRoutes }
            let counting = RouteCounting()
            routes[pattern.description] = counting
            return counting
        }
    }

    /// - Parameter providers: The names of the providers; their number is their index in this list.
    package init(providers: [String]) {
        self.providers = Lock(providers.map { ($0, CounterRow(ResolverCounting.answerTime + 1)) })
    }

    /// Returns the number of a provider; a new one is added at the end.
    package func number(ofProvider name: String) -> Int {
        providers.withLock { providers in
            if let number = providers.firstIndex(where: { $0.name == name }) { return number }
            providers.append((name, CounterRow(ResolverCounting.answerTime + 1)))
            return providers.count - 1
        }
    }

    private func row(ofProvider number: Int) -> CounterRow? {
        providers.withLock { $0.indices.contains(number) ? $0[number].row : nil }
    }

    /// Counts an answer, for queries that no route decides. Called for every request.
    @inline(__always)
    package func count(_ answer: AnswerCount) { unrouted.answers.add(to: answer.rawValue) }

    /// Counts a rare occurrence.
    package func count(_ occurrence: OccurrenceCount, times: Int = 1) {
        occurrences.add(times, to: occurrence.rawValue)
    }

    /// Counts an occurrence of a provider, except failures.
    /// - Parameters:
    ///   - provider: Its number; an unknown number counts nothing.
    ///   - elapsed: The latency of an answer or negative.
    package func count(_ count: ProviderCount, provider: Int, elapsed: Duration = .zero) {
        guard let row = row(ofProvider: provider) else { return }
        row.add(1, to: count.rawValue)
        if elapsed > .zero { row.add(Int(elapsed.wholeNanoseconds), to: ResolverCounting.answerTime) }
    }

    /// Counts a failure of a provider by its code: ``HTTPDNSProviderError/Code/other`` for errors of other types.
    package func countFailure(_ error: any Error, provider: Int) {
        guard let row = row(ofProvider: provider) else { return }
        let code = (error as? HTTPDNSProviderError)?.code ?? .other
        let number = HTTPDNSProviderError.Code.all.firstIndex(of: code) ?? HTTPDNSProviderError.Code.all.count - 1
        row.add(1, to: ResolverCounting.firstFailure + number)
    }

    /// Returns the counts up to now.
    /// - Parameters:
    ///   - cacheEntries: The present number of cached answers.
    ///   - cacheBytes: The present size of the cache in bytes.
    package func snapshot(cacheEntries: Int = 0, cacheBytes: Int = 0) -> HTTPDNSResolver.Counters {
        var counters = HTTPDNSResolver.Counters()
        let routes = routes.withLock { $0 }
        let all = [unrouted, otherRoutes] + routes.values
        let answer = AnswerCount.allCases.map { count in all.reduce(0) { $0 + $1.answers.sum(count.rawValue) } }
        for (pattern, route) in routes { counters.routes[pattern] = route.snapshot }
        counters.routes[HTTPDNSResolver.Counters.unrouted] = unrouted.snapshot
        let others = otherRoutes.snapshot
        if others.questions > 0 { counters.routes[HTTPDNSResolver.Counters.otherRoutes] = others }
        func sum(_ kinds: AnswerCount...) -> Int { kinds.reduce(0) { $0 + answer[$1.rawValue] } }
        counters.hits = sum(.hitFromProvider, .hitFromSystem)
        counters.staleHits = sum(.staleHitFromProvider, .staleHitFromSystem)
        counters.negativeHits = sum(.negativeHit)
        counters.failureHits = sum(.failureHit)
        counters.immediate = sum(.pinned, .mapped, .literal)
        counters.misses = sum(.miss)
        counters.joined = sum(.joined)
        counters.staleServedAfterWait = sum(.staleAfterWaitFromProvider, .staleAfterWaitFromSystem)
        counters.policyRefusals = sum(.policyRefusal)
        let sources: [HTTPDNSResolver.Resolution.Source: Int] = [
            .request: sum(.pinned), .mapping: sum(.mapped), .literal: sum(.literal),
            .provider: sum(
                .hitFromProvider,
                .staleHitFromProvider,
                .awaitedProvider,
                .staleAfterWaitFromProvider
            ),
            .lastResort: occurrences[OccurrenceCount.lastResort.rawValue],
            .system: sum(.hitFromSystem, .staleHitFromSystem, .awaitedSystem, .staleAfterWaitFromSystem),
        ]
        counters.answers = sources.filter { $0.value != 0 }
        counters.refreshesStarted = occurrences[OccurrenceCount.refreshStarted.rawValue]
        counters.refreshesSucceeded = occurrences[OccurrenceCount.refreshSucceeded.rawValue]
        counters.refreshesFailed = occurrences[OccurrenceCount.refreshFailed.rawValue]
        counters.evictions = occurrences[OccurrenceCount.eviction.rawValue]
        counters.restored = occurrences[OccurrenceCount.restored.rawValue]
        counters.changes = occurrences[OccurrenceCount.change.rawValue]
        counters.overloaded = occurrences[OccurrenceCount.overload.rawValue]
        counters.systemQueries = occurrences[OccurrenceCount.systemQuery.rawValue]
        counters.systemFailures = occurrences[OccurrenceCount.systemFailure.rawValue]
        counters.shadowAgreed = occurrences[OccurrenceCount.shadowAgreed.rawValue]
        counters.shadowDiffered = occurrences[OccurrenceCount.shadowDiffered.rawValue]
        counters.shadowFailed = occurrences[OccurrenceCount.shadowFailed.rawValue]
        counters.lastResort = occurrences[OccurrenceCount.lastResort.rawValue]
        counters.switchedOff = occurrences[OccurrenceCount.switchedOff.rawValue]
        counters.rolledOut = occurrences[OccurrenceCount.rolledOut.rawValue]
        counters.heldBack = occurrences[OccurrenceCount.heldBack.rawValue]
        counters.cacheEntries = cacheEntries
        counters.cacheBytes = cacheBytes
        for (name, row) in providers.withLock({ $0 }) {
            counters.providers[name] = ResolverCounting.snapshot(of: row)
        }
        return counters
    }

    private static func snapshot(of row: CounterRow) -> HTTPDNSResolver.Counters.Provider {
        var counters = HTTPDNSResolver.Counters.Provider()
        // The ends are read first: a query that ends meanwhile then counts as in flight, and the number in flight is never
        // negative.
        counters.answers = row[ProviderCount.answer.rawValue]
        counters.negatives = row[ProviderCount.negative.rawValue]
        counters.cancelled = row[ProviderCount.cancelled.rawValue]
        for (number, code) in HTTPDNSProviderError.Code.all.enumerated() {
            let count = row[firstFailure + number]
            if count != 0 { counters.failures[code] = count }
        }
        counters.answerTime = .nanoseconds(row[answerTime])
        counters.hedges = row[ProviderCount.hedge.rawValue]
        counters.probes = row[ProviderCount.probe.rawValue]
        counters.queries = row[ProviderCount.query.rawValue]
        return counters
    }
}
