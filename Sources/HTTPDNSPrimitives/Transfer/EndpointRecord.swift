extension HTTPDNSTransfer {
    /// What a client knows of an endpoint from connecting to it.
    public struct EndpointRecord: Hashable, Sendable {
        /// How an endpoint stands.
        public struct State: Hashable, Sendable, CustomStringConvertible {
            /// A short word, bounded in number.
            public let description: String

            /// Nothing speaks against it.
            public static let healthy = State(description: "healthy")
            /// It was slower to connect than the delay of the race, or a kept connection to it fell silent. It is tried last.
            public static let suspect = State(description: "suspect")
            /// It can be connected to, and answered with errors; see ``HTTPDNSTransfer/OutlierEjection``. It is tried after
            /// the others.
            public static let ejected = State(description: "ejected")
            /// Connecting failed. It is tried last, and beside requests once its time is over.
            public static let cooling = State(description: "cooling")
        }

        /// The address and port.
        public var endpoint: HTTPDNSEndpoint
        /// The host whose TLS handshake failed there, or whose requests were answered with errors; nil for what concerns the
        /// endpoint as such.
        public var host: String?
        /// How it stands.
        public var state: State
        /// How often connecting failed, or requests were answered with errors, since it last worked.
        public var failuresInARow: Int
        /// The end of its cool-down or ejection on `SystemTimeSource`, or when a suspect is tried again; nil for a healthy
        /// one.
        public var until: MonotonicTime?
        /// When a connection last stood; nil when none did since it was last in trouble.
        public var connectedAt: MonotonicTime?
        /// How long that connection took, TLS included.
        public var connectTime: Duration?

        package init(
            endpoint: HTTPDNSEndpoint,
            host: String?,
            state: State,
            failuresInARow: Int,
            until: MonotonicTime? = nil,
            connectedAt: MonotonicTime? = nil,
            connectTime: Duration? = nil
        ) {
            self.endpoint = endpoint
            self.host = host
            self.state = state
            self.failuresInARow = failuresInARow
            self.until = until
            self.connectedAt = connectedAt
            self.connectTime = connectTime
        }
    }
}
