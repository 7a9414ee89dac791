extension HTTPDNSResolver {
    /// What a resolver did since it was made: a snapshot of its counters. Take the difference of two for the time between.
    ///
    /// Every question is counted once among ``hits``, ``staleHits``, ``negativeHits``, ``failureHits``, ``immediate``,
    /// ``misses``, ``joined`` and ``overloaded``; one whose addresses the policy refuses before it waited is counted among
    /// ``policyRefusals`` in their place. The counters of a snapshot are read one after the other while others count on,
    /// so that they may differ by what happened in these microseconds; none is ever lost.
    public struct Counters: Hashable, Sendable {
        /// Questions answered by a fresh answer out of the cache.
        public var hits = 0
        /// Questions answered at once by an answer past its time to live, since asking for it failed a moment ago.
        public var staleHits = 0
        /// Questions answered by a cached "no such name" or "no addresses".
        public var negativeHits = 0
        /// Questions refused with a cached failure, while the name is left alone.
        public var failureHits = 0
        /// Questions that needed neither cache nor query: pinned by the request, mapped, address literals, `localhost`.
        public var immediate = 0
        /// Questions that started a flight, because the cache had nothing to serve at once.
        public var misses = 0
        /// Questions that joined another one's flight.
        public var joined = 0
        /// Questions refused because too many names were asked for at the same time.
        public var overloaded = 0

        /// Questions that waited, and got an answer past its time to live when waiting was over.
        public var staleServedAfterWait = 0
        /// Questions whose addresses the address policy refused, all of them.
        public var policyRefusals = 0
        /// Questions that got addresses, by where these came from, through the cache or not. Sources without one are left
        /// out.
        public var answers: [HTTPDNSResolver.Resolution.Source: Int] = [:]

        /// Cached answers that began to be asked for anew in the background.
        public var refreshesStarted = 0
        /// Refreshes that brought an answer.
        public var refreshesSucceeded = 0
        /// Refreshes that brought none.
        public var refreshesFailed = 0
        /// Names whose addresses were others than before.
        public var changes = 0
        /// Answers that left the cache to make room.
        public var evictions = 0
        /// Answers that came out of the store.
        public var restored = 0
        /// Look-ups by the system resolver.
        public var systemQueries = 0
        /// Look-ups by the system resolver that failed; that a name does not exist is no failure.
        public var systemFailures = 0
        /// Comparisons of a route in shadow mode in which providers and system resolver had an address in common, or both had
        /// none.
        public var shadowAgreed = 0
        /// Comparisons in which they had no address in common, or one of them had some and the other none.
        public var shadowDiffered = 0
        /// Comparisons that came to nothing, because no provider had a usable answer.
        public var shadowFailed = 0
        /// Questions that were answered with addresses of last resort, after all sources had none.
        public var lastResort = 0
        /// Questions that took the system path because the ``HTTPDNSResolver/KillSwitch`` had them off.
        public var switchedOff = 0
        /// Questions within the rollout of a route that has one.
        public var rolledOut = 0
        /// Questions outside the rollout of their route, which took the system path.
        public var heldBack = 0
        /// What each provider was asked and gave, by its name.
        public var providers: [String: HTTPDNSResolver.Counters.Provider] = [:]

        /// What questions came to by the route of their name: its pattern, or ``unrouted``.
        public var routes: [String: HTTPDNSResolver.Counters.Route] = [:]
        /// In ``routes``, the names without a route.
        public static let unrouted = "none"
        /// In ``routes``, those beyond the first 1,000 patterns.
        public static let otherRoutes = "_OTHER"

        /// Answers in the cache at the moment of the snapshot; in a difference, by how many it grew.
        public var cacheEntries = 0
        /// Bytes that the cache takes at the moment of the snapshot; in a difference, by how many it grew.
        public var cacheBytes = 0

        /// Creates counters that are zero.
        public init() {}

        /// All questions.
        public var questions: Int {
            hits + staleHits + negativeHits + failureHits + immediate + misses + joined + overloaded
        }

        /// Questions that got an answer past its time to live.
        public var staleServed: Int { staleHits + staleServedAfterWait }

        /// Both together, as of two resolvers.
        public static func + (left: HTTPDNSResolver.Counters, right: HTTPDNSResolver.Counters)
            -> HTTPDNSResolver.Counters
        {
            left.combined(with: right, +, { $0 + $1 }, { $0 + $1 })
        }

        /// What happened between the snapshot `earlier` and `later`.
        public static func - (later: HTTPDNSResolver.Counters, earlier: HTTPDNSResolver.Counters)
            -> HTTPDNSResolver.Counters
        {
            later.combined(with: earlier, -, { $0 - $1 }, { $0 - $1 })
        }

        private func combined(
            with other: HTTPDNSResolver.Counters,
            _ combine: (Int, Int) -> Int,
            _ combineProviders: (HTTPDNSResolver.Counters.Provider, HTTPDNSResolver.Counters.Provider) ->
                HTTPDNSResolver.Counters.Provider,
            _ combineRoutes: (HTTPDNSResolver.Counters.Route, HTTPDNSResolver.Counters.Route) ->
                HTTPDNSResolver.Counters.Route
        ) -> HTTPDNSResolver.Counters {
            var result = HTTPDNSResolver.Counters()
            for field in HTTPDNSResolver.Counters.numbers {
                result[keyPath: field] = combine(self[keyPath: field], other[keyPath: field])
            }
            result.answers = answers.combined(with: other.answers, combine)
            for name in Set(providers.keys).union(other.providers.keys) {
                result.providers[name] = combineProviders(providers[name] ?? .init(), other.providers[name] ?? .init())
            }
            for pattern in Set(routes.keys).union(other.routes.keys) {
                result.routes[pattern] = combineRoutes(routes[pattern] ?? .init(), other.routes[pattern] ?? .init())
            }
            return result
        }

        /// The fields that are plain numbers. A test compares them with those that there are.
        private static var numbers: [WritableKeyPath<HTTPDNSResolver.Counters, Int>] {
            [
                \.hits, \.staleHits, \.negativeHits, \.failureHits, \.immediate, \.misses, \.joined, \.overloaded,
                \.staleServedAfterWait, \.policyRefusals, \.refreshesStarted, \.refreshesSucceeded, \.refreshesFailed,
                \.changes, \.evictions, \.restored, \.systemQueries, \.systemFailures, \.cacheEntries, \.cacheBytes,
                \.shadowAgreed, \.shadowDiffered, \.shadowFailed, \.lastResort, \.switchedOff, \.rolledOut, \.heldBack,
            ]
        }
    }
}
