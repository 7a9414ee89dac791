extension HTTPDNSTransfer {
    /// How a client connects to addresses without a request, to know how they stand before one needs them.
    public struct ActiveProbing: Hashable, Sendable {
        /// How often each address is connected to, less up to a quarter; at least 1 s.
        public var interval: Duration = .seconds(15)
        /// How many such connections there are at once, at least 1.
        public var maximumAtOnce = 4

        /// Creates the defaults.
        public init() {}
    }
}
