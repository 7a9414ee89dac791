extension HTTPDNSResolver.Configuration {
    /// How much a provider may be asked: vendors bill, and refuse who asks too much.
    public struct ProviderLimits: Hashable, Sendable {
        /// The most queries that may be under way at once, at least 1; more wait for their turn. While one waits, a query
        /// makes room that takes longer than 250 ms and than eight times what 95 of 100 answers take, and fails. Where the
        /// provider answers nothing else meanwhile, it has ``HTTPDNSResolver/Configuration/attemptLimit`` at least.
        public var maximumInFlight: Int
        /// How many queries a second on average, above 0, with a burst of as many; nil means no limit. A query over the
        /// budget is not sent: the next provider is asked, or a stale answer serves.
        public var queriesPerSecond: Double?

        /// Creates limits.
        public init(maximumInFlight: Int = 128, queriesPerSecond: Double? = nil) {
            self.maximumInFlight = maximumInFlight
            self.queriesPerSecond = queriesPerSecond
        }
    }
}
