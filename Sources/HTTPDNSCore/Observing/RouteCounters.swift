extension HTTPDNSResolver.Counters {
    /// What questions about the names of one route came to, since the resolver was made. Mappings, literals and addresses
    /// that a request named itself are not among them.
    public struct Route: Hashable, Sendable {
        /// Questions answered with addresses of a provider within their time to live, through the cache or not.
        public var fresh = 0
        /// Questions answered with addresses past their time to live.
        public var stale = 0
        /// Questions answered by the system resolver: as fallback, by a bypass, outside a rollout, or with the switch off.
        public var system = 0
        /// Questions without addresses, by why. Codes without one are left out.
        public var failures: [HTTPDNSResolver.Error.Code: Int] = [:]

        /// Creates counters that are zero.
        public init() {}

        /// All questions.
        public var questions: Int { failures.values.reduce(fresh + stale + system, +) }

        /// Both together.
        public static func + (left: HTTPDNSResolver.Counters.Route, right: HTTPDNSResolver.Counters.Route)
            -> HTTPDNSResolver.Counters.Route
        { left.combined(with: right, +) }

        /// What happened between the snapshot `earlier` and `later`.
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
