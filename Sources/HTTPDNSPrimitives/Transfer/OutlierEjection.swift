extension HTTPDNSTransfer {
    /// When an address whose server answers with errors is left for a while, although it can be connected to.
    ///
    /// Such an address is tried last, as one that fails to connect is, and never left out: when all are ejected, all are used
    /// in their order. Statuses are counted for each address and host; any other status starts the count anew.
    public struct OutlierEjection: Hashable, Sendable {
        /// The statuses that count.
        public var statuses: Set<Int> = [500, 502, 503, 504]
        /// How many of them in a row make an address an outlier, at least 1.
        public var consecutive = 5
        /// How long it is left the first time, at least 1 s; each time after that twice as long, until it answers well.
        public var rest: Duration = .seconds(30)
        /// The longest that it is left.
        public var longestRest: Duration = .seconds(300)

        /// Creates the defaults.
        public init() {}
    }
}
