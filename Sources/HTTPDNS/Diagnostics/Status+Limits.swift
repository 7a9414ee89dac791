extension HTTPDNSClient.Status {
    /// The limits in force.
    public struct Limits: Codable, Hashable, Sendable {
        /// The maximum number of cached answers.
        public var cacheEntries: Int
        /// The maximum number of bytes of the cache.
        public var cacheBytes: Int
        /// The shortest time that an answer is kept.
        public var minimumTimeToLiveSeconds: Double
        /// The longest time that an answer is kept.
        public var maximumTimeToLiveSeconds: Double
        /// The longest time past its time to live that an answer may be served.
        public var staleSeconds: Double
        /// The longest time for one resolution.
        public var resolutionSeconds: Double
        /// The longest time for one query to a provider while another provider is available.
        public var attemptSeconds: Double
        /// The maximum number of connections kept open for later requests, for all clients with the same trust settings
        /// on a transport.
        public var idleConnections: Int
        /// The maximum number of connections in use to one host and port; nil means no limit. For this and the next
        /// three limits, the lower one of the client and of its transport is shown, because both apply.
        public var connectionsPerHost: Int?
        /// The maximum number of connections in use for all hosts together; nil means no limit.
        public var connections: Int?
        /// The maximum number of requests that wait for a connection; nil when connections are not limited.
        public var requestsWaiting: Int?
        /// The longest time that a request waits for a connection; nil means until its deadline.
        public var queueSeconds: Double?
        /// The maximum number of requests in flight.
        public var requestsInFlight: Int
        /// The longest body of a response, in bytes; nil means no limit.
        public var responseBytes: Int?
        /// The time until the TCP connection is established; nil means no limit.
        public var connectSeconds: Double?
        /// The time from there to the end of the TLS handshake; nil means no limit.
        public var tlsSeconds: Double?
        /// The time until the first byte of the response; nil means no limit.
        public var firstByteSeconds: Double?
        /// The time between two reads or writes; nil means no limit.
        public var idleSeconds: Double?
        /// The time for the whole call; nil means no limit.
        public var totalSeconds: Double?
    }
}
