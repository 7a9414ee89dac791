public import CurlTransport
public import HTTPDNS
internal import HTTPDNSPrimitives

extension HTTPDNSClient {
    /// Lets no later request use a connection that is open now. Idle connections are closed soon, transfers in flight end as
    /// they began.
    public func retireConnections() {
        pipeline.choice.forgetHeld()
        sender.retireConnections()
    }

    /// The same for the connections of one host.
    public func retireConnections(host: HostName) {
        pipeline.choice.forgetHeld()
        sender.retireConnections(host: host.description)
    }

    /// What connecting to addresses has shown: at most 4,096 records, sorted by address.
    public var endpointRecords: [EndpointRecord] { sender.endpointRecords }

    /// How often requests went elsewhere than to the first address they were given.
    public var connectionCounters: ConnectionCounters { pipeline.choice.counters }
}
