// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

extension HTTPDNSResolver {
    /// A snapshot of a resolver's counters since it was created. Subtract two snapshots for the time between them.
    ///
    /// Every query is counted once among ``hits``, ``staleHits``, ``negativeHits``, ``failureHits``, ``immediate``, ``misses``,
    /// ``joined`` and ``overloaded``. A query whose addresses the policy refuses before it waited is counted among
    /// ``policyRefusals`` instead. The counters of a snapshot are read one after the other while other threads count on. They
    /// may differ by the events of these microseconds, but no event is ever lost.
    public struct Counters: Hashable, Sendable {
        /// Queries answered by a fresh cached answer.
        public var hits = 0
        /// Queries answered immediately by a cached answer past its time to live, because refreshing it has just failed.
        public var staleHits = 0
        /// Queries answered by a cached "no such name" or "no addresses".
        public var negativeHits = 0
        /// Queries refused with a cached failure, before the name may be tried again.
        public var failureHits = 0
        /// Queries that needed neither the cache nor a provider: pinned by the request, mapped, address literals, `localhost`.
        public var immediate = 0
        /// Queries that started a lookup, because the cache had no answer to serve immediately.
        public var misses = 0
        /// Queries that joined a lookup in flight.
        public var joined = 0
        /// Queries refused because too many lookups were in flight.
        public var overloaded = 0

        /// Queries that waited, and were then served an answer past its time to live.
        public var staleServedAfterWait = 0
        /// Queries for which the address policy refused all addresses.
        public var policyRefusals = 0
        /// Queries answered with addresses, cached or not, by their source. Sources without a query are left out.
        public var answers: [HTTPDNSResolver.Resolution.Source: Int] = [:]

        /// Background refreshes of cached answers that were started.
        public var refreshesStarted = 0
        /// Refreshes that received an answer.
        public var refreshesSucceeded = 0
        /// Refreshes that received no answer.
        public var refreshesFailed = 0
        /// Names whose addresses changed.
        public var changes = 0
        /// Answers evicted from the cache to make room.
        public var evictions = 0
        /// Answers restored from the store.
        public var restored = 0
        /// Lookups by the system resolver.
        public var systemQueries = 0
        /// Lookups by the system resolver that failed, or of which the address policy refused all addresses. A name that does
        /// not exist is no failure.
        public var systemFailures = 0
        /// Comparisons in shadow mode in which providers and system resolver had an address in common, or both had none.
        public var shadowAgreed = 0
        /// Comparisons in shadow mode without an address in common, or in which only one side had addresses.
        public var shadowDiffered = 0
        /// Comparisons in shadow mode without a result, because no provider had a usable answer.
        public var shadowFailed = 0
        /// Queries answered with addresses of last resort, after all sources had none.
        public var lastResort = 0
        /// Queries resolved by the system resolver because the ``HTTPDNSResolver/KillSwitch`` had turned them off.
        public var switchedOff = 0
        /// Queries within the rollout of a route that has one.
        public var rolledOut = 0
        /// Queries outside the rollout of their route, which the system resolver answered.
        public var outsideRollout = 0
        /// The counters of each provider, by its name.
        public var providers: [String: HTTPDNSResolver.Counters.Provider] = [:]

        /// The counters of each route, by its pattern, or by ``unrouted``.
        public var routes: [String: HTTPDNSResolver.Counters.Route] = [:]
        /// The key in ``routes`` for names without a route.
        public static let unrouted = "none"
        /// The key in ``routes`` for patterns beyond the first 1,000.
        public static let otherRoutes = "_OTHER"

        /// The number of cached answers at the moment of the snapshot; in a difference, the growth.
        public var cacheEntries = 0
        /// The number of bytes of the cache at the moment of the snapshot; in a difference, the growth.
        public var cacheBytes = 0

        /// Creates counters that are zero.
        public init() {}

        /// The number of all queries.
        public var queries: Int {
            hits + staleHits + negativeHits + failureHits + immediate + misses + joined + overloaded
        }

        /// The number of queries that were served an answer past its time to live.
        public var staleServed: Int { staleHits + staleServedAfterWait }

        /// Returns the sum of both, as of two resolvers.
        public static func + (left: HTTPDNSResolver.Counters, right: HTTPDNSResolver.Counters)
            -> HTTPDNSResolver.Counters
        {
            left.adding(right, times: 1)
        }

        /// Returns the difference between the snapshots `earlier` and `later`.
        public static func - (later: HTTPDNSResolver.Counters, earlier: HTTPDNSResolver.Counters)
            -> HTTPDNSResolver.Counters
        {
            later.adding(earlier, times: -1)
        }

        /// Returns the sum with other counters for a `factor` of 1, and the difference from them for -1.
        private func adding(_ other: HTTPDNSResolver.Counters, times factor: Int) -> HTTPDNSResolver.Counters {
            var result = self
            for (_, field) in HTTPDNSResolver.Counters.named {
                result[keyPath: field] += factor * other[keyPath: field]
            }
            result.answers = answers.adding(other.answers, times: factor)
            for (name, counters) in other.providers {
                result.providers[name] = (providers[name] ?? .init()).adding(counters, times: factor)
            }
            for (pattern, counters) in other.routes {
                result.routes[pattern] = (routes[pattern] ?? .init()).adding(counters, times: factor)
            }
            return result
        }
    }
}

extension HTTPDNSResolver.Counters {
    /// The plain numbers by their names, for output. A test compares them with the existing ones.
    package static let named: KeyValuePairs<String, any WritableKeyPath<HTTPDNSResolver.Counters, Int> & Sendable> = [
        "hits": \.hits, "staleHits": \.staleHits, "negativeHits": \.negativeHits, "failureHits": \.failureHits,
        "immediate": \.immediate, "misses": \.misses, "joined": \.joined, "overloaded": \.overloaded,
        "staleServedAfterWait": \.staleServedAfterWait, "policyRefusals": \.policyRefusals,
        "refreshesStarted": \.refreshesStarted, "refreshesSucceeded": \.refreshesSucceeded,
        "refreshesFailed": \.refreshesFailed, "changes": \.changes, "evictions": \.evictions, "restored": \.restored,
        "systemQueries": \.systemQueries, "systemFailures": \.systemFailures, "cacheEntries": \.cacheEntries,
        "cacheBytes": \.cacheBytes, "shadowAgreed": \.shadowAgreed, "shadowDiffered": \.shadowDiffered,
        "shadowFailed": \.shadowFailed, "lastResort": \.lastResort, "switchedOff": \.switchedOff,
        "rolledOut": \.rolledOut, "outsideRollout": \.outsideRollout,
    ]

    /// The numbers by their names.
    package var byName: [String: Int] {
        Dictionary(HTTPDNSResolver.Counters.named.map { ($0.key, self[keyPath: $0.value]) }, uniquingKeysWith: { $1 })
    }

    /// Creates counters from numbers by name; unknown names are ignored.
    package init(byName numbers: [String: Int]) {
        self.init()
        for (name, field) in HTTPDNSResolver.Counters.named { self[keyPath: field] = numbers[name] ?? 0 }
    }
}

extension HTTPDNSResolver.Counters {
    /// The counters of queries for the names of one route, since the resolver was created.
    ///
    /// Mappings, address literals and addresses named by the request itself are not counted.
    public struct Route: Hashable, Sendable {
        /// Queries answered with addresses of a provider within their time to live, cached or not.
        public var fresh = 0
        /// Queries answered with addresses past their time to live.
        public var stale = 0
        /// Queries answered by the system resolver: as fallback, for `system`, outside a rollout, or turned off by the kill
        /// switch.
        public var system = 0
        /// Queries without addresses, by error code. Codes without a query are left out.
        public var failures: [HTTPDNSResolver.Error.Code: Int] = [:]

        /// Creates counters that are zero.
        public init() {}

        /// The number of all queries.
        public var queries: Int { failures.values.reduce(fresh + stale + system, +) }

        /// Returns the sum of both.
        public static func + (left: HTTPDNSResolver.Counters.Route, right: HTTPDNSResolver.Counters.Route)
            -> HTTPDNSResolver.Counters.Route
        { left.adding(right, times: 1) }

        /// Returns the difference between the snapshots `earlier` and `later`.
        public static func - (later: HTTPDNSResolver.Counters.Route, earlier: HTTPDNSResolver.Counters.Route)
            -> HTTPDNSResolver.Counters.Route
        {
            later.adding(earlier, times: -1)
        }

        fileprivate func adding(_ other: HTTPDNSResolver.Counters.Route, times factor: Int)
            -> HTTPDNSResolver.Counters.Route
        {
            var result = self
            result.fresh += factor * other.fresh
            result.stale += factor * other.stale
            result.system += factor * other.system
            result.failures = failures.adding(other.failures, times: factor)
            return result
        }
    }
}

extension HTTPDNSResolver.Counters {
    /// The counters of one provider, since its resolver was created or between two snapshots.
    public struct Provider: Hashable, Sendable {
        /// Queries sent, hedges and probes included.
        ///
        /// Queries that are not yet among answers, negatives, failures and canceled ones are in flight.
        public var queries = 0
        /// Queries that were answered with addresses.
        public var answers = 0
        /// Queries that were answered with "no such name" or "no addresses".
        public var negatives = 0
        /// Failed queries by kind of failure; kinds without failures are left out. See ``HTTPDNSProviderError/Code/other``.
        public var failures: [HTTPDNSProviderError.Code: Int] = [:]
        /// Queries that were canceled because no caller needed their answer any more, mostly because another provider was
        /// faster.
        public var canceled = 0
        /// Queries sent because an earlier provider was slow.
        public var hedges = 0
        /// Queries sent to check whether a quarantined provider has recovered.
        public var probes = 0
        /// The total latency of all answers and negatives.
        public var answerTime: Duration = .zero

        /// Creates counters that are zero.
        public init() {}

        /// The number of queries in flight.
        public var queriesInFlight: Int { queries - answers - negatives - canceled - failures.values.reduce(0, +) }

        /// The mean latency of an answer; nil when there was none.
        public var meanAnswerTime: Duration? {
            answers + negatives > 0 ? answerTime / (answers + negatives) : nil
        }

        /// Returns the sum of both.
        public static func + (left: HTTPDNSResolver.Counters.Provider, right: HTTPDNSResolver.Counters.Provider)
            -> HTTPDNSResolver.Counters.Provider
        {
            left.adding(right, times: 1)
        }

        /// Returns the difference between the snapshots `earlier` and `later`.
        public static func - (later: HTTPDNSResolver.Counters.Provider, earlier: HTTPDNSResolver.Counters.Provider)
            -> HTTPDNSResolver.Counters.Provider
        {
            later.adding(earlier, times: -1)
        }

        fileprivate func adding(_ other: HTTPDNSResolver.Counters.Provider, times factor: Int)
            -> HTTPDNSResolver.Counters.Provider
        {
            var result = self
            result.queries += factor * other.queries
            result.answers += factor * other.answers
            result.negatives += factor * other.negatives
            result.canceled += factor * other.canceled
            result.hedges += factor * other.hedges
            result.probes += factor * other.probes
            result.failures = failures.adding(other.failures, times: factor)
            result.answerTime += other.answerTime * factor
            return result
        }
    }
}

extension Dictionary where Value == Int {
    /// Returns the sum with a multiple of other entries. Missing entries count as zero, and results of zero are left out.
    fileprivate func adding(_ other: Self, times factor: Int) -> Self {
        merging(other.mapValues { $0 * factor }, uniquingKeysWith: +).filter { $0.value != 0 }
    }
}

extension HTTPDNSProviderError.Code {
    /// An error of a type other than ``HTTPDNSProviderError``: the provider violated its contract.
    public static let other = HTTPDNSProviderError.Code(description: "other")

    /// All kinds of failure.
    package static let all: [HTTPDNSProviderError.Code] = [
        .timedOut, .unreachable, .httpStatus, .badResponse, .serverFailure, .refused, .policyRefused, .rateLimited,
        .accountRefused, .serviceDisabled, .notConfigured, .shutDown, .other,
    ]
}
