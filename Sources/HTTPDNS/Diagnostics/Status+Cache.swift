extension HTTPDNSClient.Status {
    /// The cache.
    public struct Cache: Codable, Hashable, Sendable {
        /// The number of answers.
        public var entries: Int
        /// The number of bytes that they take, with their share of the tables.
        public var bytes: Int
        /// The answers, by name.
        public var answers: [Answer]
        /// Whether there are more answers than the limit.
        public var isTruncated: Bool
    }

    /// A cached answer for a name.
    public struct Answer: Codable, Hashable, Sendable {
        /// The name.
        public var host: String
        /// The families that the query itself named: `v4`, `v6` or `both`; nil for those of the name's route.
        public var families: String?
        /// The addresses, IPv4 first; empty for a negative answer, and while nothing is known.
        public var addresses: [String]
        /// The source of the addresses: `provider` or `system`; nil when every query so far failed.
        public var source: String?
        /// The name of the provider.
        public var provider: String?
        /// The pattern of the route that led to the provider.
        public var route: String?
        /// The time since the query.
        public var ageSeconds: Double?
        /// The remaining time to live; negative for a stale answer.
        public var secondsLeft: Double?
        /// Whether its time to live has passed, and it may only be served while nothing newer is available.
        public var isStale: Bool
        /// The reason for a negative answer: a code of `HTTPDNSResolver.Error`.
        public var negative: String?
        /// The error of the queries since this answer: a code of `HTTPDNSResolver.Error`.
        public var failure: String?
        /// The time until the next query after that error.
        public var retryInSeconds: Double?
    }
}
