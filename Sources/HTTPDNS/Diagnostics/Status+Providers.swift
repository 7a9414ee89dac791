extension HTTPDNSClient.Status {
    /// A provider.
    public struct Provider: Codable, Hashable, Sendable {
        /// The name in the settings.
        public var name: String
        /// The protocol, such as `doh`.
        public var kind: String
        /// The state: `healthy`, `suspect` (an answer is overdue) or `quarantined` (it gets no queries).
        public var state: String
        /// The reason for the quarantine.
        public var reason: String?
        /// The remaining time of the quarantine.
        public var restSeconds: Double?
        /// The mean latency of its answers.
        public var latencySeconds: Double?
        /// The 95th percentile of the latency.
        public var percentile95Seconds: Double?
        /// The number of queries in flight.
        public var inFlight: Int
        /// The number of queries that wait for one of those to end.
        public var queued: Int
        /// The number of queries sent.
        public var queries: Int
        /// The number of queries with a definite answer.
        public var successes: Int
        /// The number of failed queries.
        public var failures: Int
        /// The failures by code of `HTTPDNSProviderError`.
        public var failuresByCode: [String: Int]
    }
}
