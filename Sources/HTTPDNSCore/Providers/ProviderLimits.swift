extension HTTPDNSResolver.Configuration {
    /// The limits on queries to one provider: vendors bill queries, and refuse clients that send too many.
    public struct ProviderLimits: Hashable, Sendable {
        /// The maximum number of concurrent queries, at least 1; further queries wait in a queue.
        ///
        /// While one waits, a query fails and makes room once it takes longer than 250 ms and than eight times the provider's
        /// 95th percentile. If the provider answers no other query meanwhile, it gets at least
        /// ``HTTPDNSResolver/Configuration/attemptLimit``.
        public var maximumInFlight: Int
        /// The maximum average number of queries per second, above 0, with a burst of as many; nil means no limit.
        ///
        /// A query over the budget is not sent: the next provider is queried, or a stale answer is served.
        public var queriesPerSecond: Double?

        /// Creates limits.
        public init(maximumInFlight: Int = 128, queriesPerSecond: Double? = nil) {
            self.maximumInFlight = maximumInFlight
            self.queriesPerSecond = queriesPerSecond
        }
    }
}
