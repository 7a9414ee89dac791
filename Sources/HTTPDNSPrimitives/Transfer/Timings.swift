extension HTTPDNSTransfer {
    /// The durations of the phases of one transfer.
    ///
    /// A phase that did not happen is nil: a reused connection has neither `connect` nor `tls`.
    public struct Timings: Hashable, Sendable {
        /// From the start of the transfer until the start of the attempt that carried it; nil for the first attempt.
        public var race: Duration?
        /// From the start of the attempt until the TCP connection was established.
        public var connect: Duration?
        /// From the TCP connection until the end of the TLS handshake.
        public var tls: Duration?
        /// From the sending of the request until the first byte of the response.
        public var firstByte: Duration?
        /// From the start of the transfer until its last byte.
        public var total: Duration?

        /// Creates timings; an omitted phase did not happen.
        public init(
            race: Duration? = nil,
            connect: Duration? = nil,
            tls: Duration? = nil,
            firstByte: Duration? = nil,
            total: Duration? = nil
        ) {
            self.race = race
            self.connect = connect
            self.tls = tls
            self.firstByte = firstByte
            self.total = total
        }
    }
}
