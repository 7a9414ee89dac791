internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

extension HTTPDNSClient.Status {
    /// How requests get to addresses.
    public struct Connections: Codable, Hashable, Sendable {
        /// Sockets that are open: in use, idle, or being connected.
        public var open: Int
        /// Requests on their way whose response has not ended.
        public var requestsInFlight: Int
        /// Requests that wait for a connection: this client's, and those of all clients of a transport that limits them.
        public var requestsWaiting: Int
        /// Requests that were sent to an address of the system resolver after none of a provider's could be connected to.
        public var fallbacks: Int
        /// Requests for which the system resolver's addresses could not be connected to either.
        public var fallbacksFailed: Int
        /// Requests that took the system path at once, because one before them had to fall back.
        public var fallbacksAhead: Int
        /// Hosts that take the system path at present.
        public var fallenBackHosts: Int
        /// Requests that stayed on a warm address which the newest answer no longer has.
        public var held: Int
    }

    /// The connections that requests for one host to one endpoint share, and how many requests went there.
    public struct Pool: Codable, Hashable, Sendable {
        /// The host of the URL.
        public var host: String
        /// The port of the URL.
        public var port: UInt16
        /// The address and port that is connected to.
        public var endpoint: String
        /// The number of open sockets; 0 for an endpoint whose connections are closed.
        public var connections: Int
        /// The number of requests sent there, repetitions and hedged requests included. The count begins again after 1,024
        /// other endpoints were used and closed.
        public var requests: Int?
    }

    /// What connecting to an address and port has shown.
    public struct Endpoint: Codable, Hashable, Sendable {
        /// The address and port.
        public var endpoint: String
        /// The host whose TLS handshake failed there; nil for what concerns the endpoint as such.
        public var host: String?
        /// `healthy`, `suspect` or `cooling`.
        public var state: String
        /// How often connecting failed since it last worked.
        public var failuresInARow: Int
        /// Until it is tried again as others are; nil for a healthy one.
        public var restSeconds: Double?
        /// How long the last connection took to stand, TLS included.
        public var connectSeconds: Double?
    }
}

extension HTTPDNSClient.Status {
    static func pools(_ records: [HTTPDNSClient.ConnectionPool], about names: [HTTPDNSRoute.Pattern]?) -> [HTTPDNSClient
        .ConnectionPool]
    {
        guard let names else { return records }
        return records.filter { record in
            guard let host = try? HTTPDNSName(record.host) else { return false }
            return names.contains { $0.contains(host) }
        }
    }

    /// Those in trouble first.
    static func endpoints(_ records: [HTTPDNSClient.EndpointRecord], limit: Int) -> [Endpoint] {
        // The clock of the records, whatever the resolver's is.
        let now = SystemTimeSource().now()
        let ill = records.filter { $0.state != .healthy }
        return (ill + records.filter { $0.state == .healthy }).prefix(limit).map { Endpoint($0, at: now) }
    }
}

extension HTTPDNSClient.Status.Connections {
    init(
        _ pools: [HTTPDNSClient.ConnectionPool],
        requestsInFlight: Int,
        requestsWaiting: Int,
        _ counters: HTTPDNSClient.ConnectionCounters
    ) {
        open = pools.map(\.connections).reduce(0, +)
        self.requestsInFlight = requestsInFlight
        self.requestsWaiting = requestsWaiting
        fallbacks = counters.fallbacks
        fallbacksFailed = counters.fallbacksFailed
        fallbacksAhead = counters.fallbacksAhead
        fallenBackHosts = counters.fallenBackHosts
        held = counters.held
    }
}

extension HTTPDNSClient.Status.Pool {
    init(_ record: HTTPDNSClient.ConnectionPool) {
        host = record.host
        port = record.port
        endpoint = record.endpoint.description
        connections = record.connections
        requests = record.requests
    }
}

extension HTTPDNSClient.Status.Endpoint {
    init(_ record: HTTPDNSClient.EndpointRecord, at now: MonotonicTime) {
        endpoint = record.endpoint.description
        host = record.host
        state = record.state.description
        failuresInARow = record.failuresInARow
        restSeconds = record.until.map { max($0 - now, .zero).inSeconds }
        connectSeconds = record.connectTime?.inSeconds
    }
}
