extension HTTPDNSClient.Status {
    /// The cache.
    public struct Cache: Codable, Hashable, Sendable {
        /// How many answers there are.
        public var entries: Int
        /// How many bytes they take, with their share of the tables.
        public var bytes: Int
        /// Answers, by name.
        public var answers: [Answer]
        /// Whether there are more answers than were asked for.
        public var isTruncated: Bool
    }

    /// What is known about a name.
    public struct Answer: Codable, Hashable, Sendable {
        /// The name.
        public var host: String
        /// The families that the question itself named: `v4`, `v6` or `both`; nil for those of the name's route.
        public var families: String?
        /// The addresses, IPv4 first; empty for an answer that says so, and while nothing is known.
        public var addresses: [String]
        /// Where they came from: `provider` or `system`; nil while nothing is known but that asking failed.
        public var source: String?
        /// The provider's name.
        public var provider: String?
        /// The pattern of the route that it came by.
        public var route: String?
        /// How long ago it was asked for.
        public var ageSeconds: Double?
        /// How long it is still good; below zero for a stale one.
        public var secondsLeft: Double?
        /// Whether it is past its time to live, and may serve while nothing newer is to be had.
        public var isStale: Bool
        /// Why there are no addresses, for an answer that says so: a code of `HTTPDNSResolver.Error`.
        public var negative: String?
        /// How asking failed since it came: a code of `HTTPDNSResolver.Error`.
        public var failure: String?
        /// How long it is left alone after that.
        public var retryInSeconds: Double?
    }
}
