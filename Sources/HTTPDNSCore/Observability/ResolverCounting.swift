// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

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
    static let maximumRoutes = 1000

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
        if others.queries > 0 { counters.routes[HTTPDNSResolver.Counters.otherRoutes] = others }
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
        counters.outsideRollout = occurrences[OccurrenceCount.outsideRollout.rawValue]
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
        counters.canceled = row[ProviderCount.canceled.rawValue]
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

/// The counters of the names of one route, or of those without one.
///
/// Counts of every request are kept only here: the resolver's own counters are the sums over all of these.
package final class RouteCounting: Sendable {
    /// The counters of ``AnswerCount``.
    let answers = StripedCounters(
        count: AnswerCount.allCases.count,
        stripes: min(StripedCounters.defaultStripes, RouteCounting.maximumStripes)
    )
    private let failures = CounterRow(HTTPDNSResolver.Error.Code.all.count)

    /// 2 KiB for each route: it is unlikely that many threads use many routes with full traffic at the same time.
    private static let maximumStripes = 16

    package init() {}

    /// Counts a query without addresses.
    package func countFailure(_ code: HTTPDNSResolver.Error.Code) {
        guard let number = HTTPDNSResolver.Error.Code.all.firstIndex(of: code) else { return }
        failures.add(1, to: number)
    }

    /// The counts up to now.
    var snapshot: HTTPDNSResolver.Counters.Route {
        func sum(_ kinds: AnswerCount...) -> Int { kinds.reduce(0) { $0 + answers.sum($1.rawValue) } }
        var counters = HTTPDNSResolver.Counters.Route()
        counters.fresh = sum(.hitFromProvider, .awaitedProvider)
        counters.stale = sum(
            .staleHitFromProvider,
            .staleHitFromSystem,
            .staleAfterWaitFromProvider,
            .staleAfterWaitFromSystem
        )
        counters.system = sum(.hitFromSystem, .awaitedSystem)
        for (number, code) in HTTPDNSResolver.Error.Code.all.enumerated() where failures[number] != 0 {
            counters.failures[code] = failures[number]
        }
        return counters
    }
}

/// The outcomes of queries that are counted for every request, one for each answer.
///
/// ``ResolverCounting`` keeps them in ``StripedCounters``, whose stripe has room for exactly 16.
package enum AnswerCount: Int, CaseIterable, Sendable {
    /// Fresh and cached, from a provider.
    case hitFromProvider
    /// Fresh and cached, from the system resolver.
    case hitFromSystem
    /// Served immediately past its time to live, because the name or its providers are in back-off.
    case staleHitFromProvider
    /// As ``staleHitFromProvider``, of the system resolver.
    case staleHitFromSystem
    /// A cached "no such name" or "no addresses".
    case negativeHit
    /// A cached failure, while the name is in back-off.
    case failureHit
    /// The request named its addresses.
    case pinned
    /// A rule of the mappings had the addresses.
    case mapped
    /// The URL had an address, or `localhost`.
    case literal
    /// Not cached: the query started a lookup.
    case miss
    /// Not cached: the query joined a lookup in flight.
    case joined
    /// A lookup that the query waited for returned addresses of a provider.
    case awaitedProvider
    /// A lookup that the query waited for returned addresses of the system resolver.
    case awaitedSystem
    /// The wait for a new answer ended, and a stale one of a provider was served.
    case staleAfterWaitFromProvider
    /// As ``staleAfterWaitFromProvider``, of the system resolver.
    case staleAfterWaitFromSystem
    /// There were addresses, and the address policy refused all of them.
    case policyRefusal

    /// Returns the count for an answer that was served immediately from the cache.
    package static func hit(fromSystem: Bool, isStale: Bool) -> AnswerCount {
        switch (fromSystem, isStale) {
        case (false, false): .hitFromProvider
        case (true, false): .hitFromSystem
        case (false, true): .staleHitFromProvider
        case (true, true): .staleHitFromSystem
        }
    }

    /// Returns the count for the answer to a query that waited.
    package static func awaited(fromSystem: Bool, isStale: Bool) -> AnswerCount {
        switch (fromSystem, isStale) {
        case (false, false): .awaitedProvider
        case (true, false): .awaitedSystem
        case (false, true): .staleAfterWaitFromProvider
        case (true, true): .staleAfterWaitFromSystem
        }
    }

    /// Returns the count for a query that needed neither cache nor lookup; nil for a source that always does.
    package static func immediate(_ source: HTTPDNSResolver.Resolution.Source) -> AnswerCount? {
        switch source {
        case .request: .pinned
        case .mapping: .mapped
        case .literal: .literal
        default: nil
        }
    }
}

/// The occurrences in a resolver other than answers, rare enough for one plain counter each.
package enum OccurrenceCount: Int, CaseIterable, Sendable {
    /// A refresh of a cached answer was started.
    case refreshStarted
    /// A refresh received an answer, positive or negative.
    case refreshSucceeded
    /// A refresh received no answer.
    case refreshFailed
    /// An answer was evicted from the cache to make room.
    case eviction
    /// An answer was restored from the store.
    case restored
    /// The addresses of a name changed.
    case change
    /// A query was refused, because too many lookups were in flight.
    case overload
    /// The system resolver was queried.
    case systemQuery
    /// The system resolver failed. A name that does not exist is no failure.
    case systemFailure
    /// Providers and system resolver agreed on a name of a route in shadow mode.
    case shadowAgreed
    /// Providers and system resolver disagreed.
    case shadowDiffered
    /// No provider had a usable answer to compare.
    case shadowFailed
    /// Addresses of last resort were served.
    case lastResort
    /// The kill switch sent a query to the system resolver.
    case switchedOff
    /// A query was within its route's rollout.
    case rolledOut
    /// A query was outside its route's rollout.
    case outsideRollout
}

/// The counts of one provider. A query ends with exactly one of ``answer``, ``negative``, ``canceled`` and a failure, which is
/// counted by its code.
package enum ProviderCount: Int, CaseIterable, Sendable {
    /// A query was sent.
    case query
    /// It returned addresses.
    case answer
    /// It reported that the name, or an address of it, does not exist.
    case negative
    /// Its answer was not needed any more: another provider was faster, or there were no waiters left.
    case canceled
    /// A query was sent because an earlier provider was slow.
    case hedge
    /// A query was sent to check whether the provider has recovered.
    case probe
}
