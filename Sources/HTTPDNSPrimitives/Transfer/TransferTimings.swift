extension HTTPDNSTransfer {
    /// How long the phases of one transfer took. A phase that did not happen is nil: a reused connection has neither
    /// `connect` nor `tls`.
    public struct Timings: Hashable, Sendable {
        /// From the start of the transfer until the attempt began that carried it, when it was not the first one.
        public var race: Duration?
        /// From the start of the attempt until the TCP connection stood.
        public var connect: Duration?
        /// From the TCP connection until the TLS handshake was done.
        public var tls: Duration?
        /// From the sending of the request until the first byte of the answer.
        public var firstByte: Duration?
        /// From the start of the transfer until its last byte.
        public var total: Duration?

        /// Creates timings; a phase that is left out did not happen.
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
