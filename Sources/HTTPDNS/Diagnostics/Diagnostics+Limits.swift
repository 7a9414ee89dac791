extension HTTPDNSClient.Status {
    /// The limits in force.
    public struct Limits: Codable, Hashable, Sendable {
        /// How many answers the cache may have.
        public var cacheEntries: Int
        /// How many bytes they may take.
        public var cacheBytes: Int
        /// The shortest time that an answer is kept.
        public var minimumTimeToLiveSeconds: Double
        /// The longest time that an answer is kept.
        public var maximumTimeToLiveSeconds: Double
        /// How long past its time an answer may serve.
        public var staleSeconds: Double
        /// How long one resolution may take.
        public var resolutionSeconds: Double
        /// How long one query to a provider may take while another one can be asked.
        public var attemptSeconds: Double
        /// How many connections are kept open for later requests, for all clients with the same trust settings on a
        /// transport.
        public var idleConnections: Int
        /// How many connections to one host and port may be in use; nil means no limit. Of this and the next three the
        /// client's own limit and that of its transport hold both, and the lower one is here.
        public var connectionsPerHost: Int?
        /// How many may be in use for all hosts together; nil means no limit.
        public var connections: Int?
        /// How many requests may wait for one; nil where nobody waits, because no connections are limited.
        public var requestsWaiting: Int?
        /// How long one may wait; nil means until its deadline.
        public var queueSeconds: Double?
        /// How many requests may be in flight.
        public var requestsInFlight: Int
        /// The longest body of a response, in bytes; nil means no limit.
        public var responseBytes: Int?
        /// Until the TCP connection stands; nil means no limit.
        public var connectSeconds: Double?
        /// From there until TLS is done; nil means no limit.
        public var tlsSeconds: Double?
        /// Until the answer's first byte; nil means no limit.
        public var firstByteSeconds: Double?
        /// Between two reads or writes; nil means no limit.
        public var idleSeconds: Double?
        /// The whole call; nil means no limit.
        public var totalSeconds: Double?
    }
}
