extension HTTPDNSTransfer {
    /// The settings for the ejection of addresses that accept connections but answer with errors.
    ///
    /// An ejected address is tried last, as one that fails to connect is, and never left out: when all are ejected, all are
    /// used in their order. Statuses are counted for each address and host; any other status resets the count.
    public struct OutlierEjection: Hashable, Sendable {
        /// The statuses that count as errors.
        public var statuses: Set<Int> = [500, 502, 503, 504]
        /// The number of error statuses in a row that ejects an address, at least 1.
        public var consecutive = 5
        /// The duration of the first ejection, at least 1 s. Each further ejection lasts twice as long, until a response is no
        /// error.
        public var rest: Duration = .seconds(30)
        /// The maximum duration of an ejection.
        public var longestRest: Duration = .seconds(300)

        /// Creates the defaults.
        public init() {}
    }
}
