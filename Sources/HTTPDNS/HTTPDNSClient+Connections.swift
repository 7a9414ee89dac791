public import HTTPDNSCore
package import HTTPDNSCurl
internal import HTTPDNSPrimitives

extension HTTPDNSClient {
    /// Lets no later request use a connection that is open now. Idle connections are closed soon, transfers in flight end as
    /// they began.
    public func retireConnections() {
        sender.retireConnections()
        pipeline.choice.forgetHeld()
    }

    /// The same for the connections of one host.
    public func retireConnections(host: HTTPDNSName) {
        sender.retireConnections(host: host.description)
        pipeline.choice.forgetHeld()
    }

    /// What is known of addresses, sorted by address: for each of the client's trust settings at most 4,096 records of what
    /// connecting has shown, and as many of addresses that are ejected.
    public var endpointRecords: [HTTPDNSClient.EndpointRecord] { sender.endpointRecords }

    /// The connections that are open: the largest pools first, then by host. A client on a transport that others use too,
    /// with the same trust settings, tells theirs as well: they share these.
    public var connectionPools: [HTTPDNSClient.ConnectionPool] {
        sender.connectionPools.filter { $0.connections > 0 }
    }

    /// How often requests went elsewhere than to the first address they were given.
    public var connectionCounters: HTTPDNSClient.ConnectionCounters { pipeline.choice.counters }

    /// How many requests wait for a connection: this client's, and those of all clients of a transport that limits them.
    public var requestsWaiting: Int { pipeline.waiting }
}
