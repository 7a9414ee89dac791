extension HTTPDNSTransfer {
    /// The connections that requests for one host to one endpoint share, and the number of these requests.
    public struct ConnectionPool: Hashable, Sendable {
        /// The host of the URL; an address without brackets.
        public var host: String
        /// The port of the URL.
        public var port: UInt16
        /// The address and port of the connections.
        public var endpoint: HTTPDNSEndpoint
        /// The number of open sockets: in use, idle, or being connected.
        public var connections: Int
        /// The number of requests sent there, repetitions and hedged requests included.
        public var requests: Int

        package init(host: String, port: UInt16, endpoint: HTTPDNSEndpoint, connections: Int, requests: Int) {
            self.host = host
            self.port = port
            self.endpoint = endpoint
            self.connections = connections
            self.requests = requests
        }
    }
}
