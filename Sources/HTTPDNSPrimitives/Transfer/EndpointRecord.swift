extension HTTPDNSTransfer {
    /// The client's knowledge of an endpoint from connecting to it.
    public struct EndpointRecord: Hashable, Sendable {
        /// The state of an endpoint.
        public struct State: Hashable, Sendable, CustomStringConvertible {
            /// A short identifier from a bounded set.
            public let description: String

            /// No failure is known.
            public static let healthy = State(description: "healthy")
            /// Connecting took longer than the delay of the race, or a kept connection stopped responding. The endpoint is
            /// tried last.
            public static let suspect = State(description: "suspect")
            /// Connecting works, but the responses were errors; see ``HTTPDNSTransfer/OutlierEjection``. The endpoint is tried
            /// after the others.
            public static let ejected = State(description: "ejected")
            /// Connecting failed. The endpoint is tried last, and concurrently with requests after the end of its cool-down.
            public static let cooling = State(description: "cooling")
        }

        /// The address and port.
        public var endpoint: HTTPDNSEndpoint
        /// The host whose TLS handshake failed there, or whose requests received error responses; nil for the endpoint as such.
        public var host: String?
        /// The state of the endpoint.
        public var state: State
        /// The number of failures to connect, or of error responses, since the last success.
        public var failuresInARow: Int
        /// The end of its cool-down or ejection on `SystemTimeSource`, or the time at which a suspect is tried again.
        ///
        /// Nil for a healthy endpoint.
        public var until: MonotonicTime?
        /// The time at which a connection was last established; nil when none was since the last failure.
        public var connectedAt: MonotonicTime?
        /// The time to establish that connection, TLS included.
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
