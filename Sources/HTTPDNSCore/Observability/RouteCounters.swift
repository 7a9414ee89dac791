extension HTTPDNSResolver.Counters {
    /// The counters of queries for the names of one route, since the resolver was created.
    ///
    /// Mappings, address literals and addresses named by the request itself are not counted.
    public struct Route: Hashable, Sendable {
        /// Queries answered with addresses of a provider within their time to live, cached or not.
        public var fresh = 0
        /// Queries answered with addresses past their time to live.
        public var stale = 0
        /// Queries answered by the system resolver: as fallback, by a bypass, outside a rollout, or turned off by the kill
        /// switch.
        public var system = 0
        /// Queries without addresses, by error code. Codes without a query are left out.
        public var failures: [HTTPDNSResolver.Error.Code: Int] = [:]

        /// Creates counters that are zero.
        public init() {}

        /// The number of all queries.
        public var questions: Int { failures.values.reduce(fresh + stale + system, +) }

        /// Returns the sum of both.
        public static func + (left: HTTPDNSResolver.Counters.Route, right: HTTPDNSResolver.Counters.Route)
            -> HTTPDNSResolver.Counters.Route
        { left.combined(with: right, +) }

        /// Returns the difference between the snapshots `earlier` and `later`.
        public static func - (later: HTTPDNSResolver.Counters.Route, earlier: HTTPDNSResolver.Counters.Route)
            -> HTTPDNSResolver.Counters.Route
        {
            later.combined(with: earlier, -)
        }

        private func combined(with other: HTTPDNSResolver.Counters.Route, _ combine: (Int, Int) -> Int)
            -> HTTPDNSResolver.Counters.Route
        {
            var result = HTTPDNSResolver.Counters.Route()
            result.fresh = combine(fresh, other.fresh)
            result.stale = combine(stale, other.stale)
            result.system = combine(system, other.system)
            result.failures = failures.combined(with: other.failures, combine)
            return result
        }
    }
}
