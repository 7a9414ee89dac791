public import HTTPDNSPrimitives

// Public names for values of the transport, which is a layer below.

extension HTTPDNSClient {
    /// The HTTP version that a response came over.
    public typealias HTTPVersion = HTTPDNSTransfer.HTTPVersion
    /// The HTTP versions that a request may use.
    public typealias AllowedVersions = HTTPDNSTransfer.AllowedVersions
    /// The record of a client's connection attempts to an endpoint.
    public typealias EndpointRecord = HTTPDNSTransfer.EndpointRecord
    /// The connections that requests for one host to one endpoint share.
    public typealias ConnectionPool = HTTPDNSTransfer.ConnectionPool
}

extension HTTPDNSClient.Exchange {
    /// The durations of the phases of one exchange.
    public typealias Timings = HTTPDNSTransfer.Timings
    /// A certificate that a server sent.
    public typealias PeerCertificate = HTTPDNSTransfer.PeerCertificate
}

extension HTTPDNSClient.Proxy {
    /// The protocol spoken with a proxy.
    public typealias Kind = HTTPDNSTransfer.ProxyKind
}

extension HTTPDNSClient.Configuration {
    /// The interface or address of this machine that connections are bound to.
    public typealias LocalSource = HTTPDNSTransfer.LocalSource
    /// The conditions for avoiding an address whose server answers with errors.
    public typealias OutlierEjection = HTTPDNSTransfer.OutlierEjection
    /// The settings for connecting to addresses without a request, to learn their condition.
    public typealias ActiveProbing = HTTPDNSTransfer.ActiveProbing
}
