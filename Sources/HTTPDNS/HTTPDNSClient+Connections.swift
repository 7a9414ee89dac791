public import HTTPDNSCore
package import HTTPDNSCurl
internal import HTTPDNSPrimitives

extension HTTPDNSClient {
    /// Excludes all open connections from later requests. Idle connections are closed soon; transfers in flight finish
    /// on theirs.
    public func retireConnections() {
        sender.retireConnections()
        pipeline.choice.forgetHeld()
    }

    /// Excludes the open connections to one host from later requests.
    public func retireConnections(host: HTTPDNSName) {
        sender.retireConnections(host: host.description)
        pipeline.choice.forgetHeld()
    }

    /// The connection records of addresses, sorted by address. For each of the client's trust settings there are at
    /// most 4,096 records of connection attempts, and as many of ejected addresses.
    public var endpointRecords: [HTTPDNSClient.EndpointRecord] { sender.endpointRecords }

    /// The open connections: the largest pools first, then by host. On a shared transport, it includes the connections
    /// of other clients with the same trust settings, because they are shared.
    public var connectionPools: [HTTPDNSClient.ConnectionPool] {
        sender.connectionPools.filter { $0.connections > 0 }
    }

    /// The counters of requests that went elsewhere than to the first address they were given.
    public var connectionCounters: HTTPDNSClient.ConnectionCounters { pipeline.choice.counters }

    /// The number of requests that wait for a connection: this client's, and those of all clients of a transport that
    /// limits them.
    public var requestsWaiting: Int { pipeline.waiting }
}
