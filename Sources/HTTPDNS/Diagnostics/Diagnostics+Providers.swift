extension HTTPDNSClient.Status {
    /// A provider.
    public struct Provider: Codable, Hashable, Sendable {
        /// Its name in the settings.
        public var name: String
        /// What it speaks, such as `doh`.
        public var kind: String
        /// How it stands: `healthy`, `suspect` (it owes an answer) or `quarantined` (it is left alone).
        public var state: String
        /// Why it is in quarantine.
        public var reason: String?
        /// How long the quarantine lasts yet.
        public var restSeconds: Double?
        /// The mean latency of its answers.
        public var latencySeconds: Double?
        /// The latency that 95 of 100 answers do not pass.
        public var percentile95Seconds: Double?
        /// How many queries are under way.
        public var inFlight: Int
        /// How many queries wait for one of those to end.
        public var queued: Int
        /// How many queries were sent.
        public var queries: Int
        /// How many of them had a definite answer.
        public var successes: Int
        /// How many failed.
        public var failures: Int
        /// The failures by code of `HTTPDNSProviderError`.
        public var failuresByCode: [String: Int]
    }
}
