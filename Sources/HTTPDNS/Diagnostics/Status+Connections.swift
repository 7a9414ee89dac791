// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

extension HTTPDNSClient.Status {
    /// The state of the client's connections.
    public struct Connections: Codable, Hashable, Sendable {
        /// The open sockets: in use, idle, or being connected.
        public var open: Int
        /// The requests that were sent and whose response has not ended.
        public var requestsInFlight: Int
        /// The requests that wait for a connection: this client's, and those of all clients of a transport that limits
        /// them.
        public var requestsWaiting: Int
        /// The requests that were sent to an address of the system resolver after no address of a provider accepted a
        /// connection.
        public var fallbacks: Int
        /// The requests for which the system resolver's addresses did not accept a connection either.
        public var fallbacksFailed: Int
        /// The requests that took the system path immediately, because the breaker of their host was open: an earlier one
        /// had to fall back.
        public var fallbacksShortCircuited: Int
        /// The hosts that take the system path at present.
        public var fallenBackHosts: Int
        /// The requests that stayed on a warm address that the newest answer no longer contains.
        public var keptPreviousAddress: Int
        /// The requests in flight that calls with identical reads share, or that such calls could share; nil in the status of
        /// an older version of this library.
        public var sharedReads: Int?
        /// The calls that got the response to the request of another call; nil in the status of an older version of this
        /// library.
        public var mergedReads: Int?
    }

    /// The connections that requests for one host to one endpoint share, and the number of requests sent there.
    public struct Pool: Codable, Hashable, Sendable {
        /// The host of the URL.
        public var host: String
        /// The port of the URL.
        public var port: UInt16
        /// The address and port of the connections.
        public var endpoint: String
        /// The number of open sockets; 0 for an endpoint whose connections are closed.
        public var connections: Int
        /// The number of requests sent there, repeated and hedged ones included. The count starts again after 1,024
        /// other endpoints were used and closed.
        public var requests: Int?
    }

    /// The record of connection attempts to an address and port.
    public struct Endpoint: Codable, Hashable, Sendable {
        /// The address and port.
        public var endpoint: String
        /// The host whose TLS handshake failed there; nil for a record of the endpoint itself.
        public var host: String?
        /// The state: `healthy`, `suspect` or `cooling`.
        public var state: String
        /// The number of consecutive failures to connect.
        public var consecutiveFailures: Int
        /// The time until it is tried like the others again; nil for a healthy endpoint.
        public var backOffSeconds: Double?
        /// The time that the last connection took, TLS included.
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

    /// Returns the records, unhealthy ones first.
    static func endpoints(_ records: [HTTPDNSClient.EndpointRecord], limit: Int) -> [Endpoint] {
        // The records use this clock, whatever clock the resolver has.
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
        _ counters: HTTPDNSClient.ConnectionCounters,
        _ reads: ReadCoalescer<ReadKey, SharedResponse>
    ) {
        open = pools.map(\.connections).reduce(0, +)
        self.requestsInFlight = requestsInFlight
        self.requestsWaiting = requestsWaiting
        fallbacks = counters.fallbacks
        fallbacksFailed = counters.fallbacksFailed
        fallbacksShortCircuited = counters.fallbacksShortCircuited
        fallenBackHosts = counters.fallenBackHosts
        keptPreviousAddress = counters.keptPreviousAddress
        sharedReads = reads.leadCount
        mergedReads = reads.sharedCount
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
        consecutiveFailures = record.consecutiveFailures
        backOffSeconds = record.until.map { max(MonotonicTime($0) - now, .zero).inSeconds }
        connectSeconds = record.connectTime?.inSeconds
    }
}
