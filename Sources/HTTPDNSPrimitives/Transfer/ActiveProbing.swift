extension HTTPDNSTransfer {
    /// The settings for connections that check addresses in advance, without a request.
    public struct ActiveProbing: Hashable, Sendable {
        /// The interval between connections to an address, less up to a quarter; at least 1 s.
        public var interval: Duration = .seconds(15)
        /// The maximum number of concurrent probe connections, at least 1.
        public var maximumAtOnce = 4

        /// Creates the defaults.
        public init() {}
    }
}
