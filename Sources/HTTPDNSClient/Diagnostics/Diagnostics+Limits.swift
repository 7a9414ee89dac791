extension Diagnostics {
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
        /// How many connections are kept open for later requests.
        public var idleConnections: Int
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
