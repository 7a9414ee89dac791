public import HTTPDNSPrimitives

// What the transport, a layer below, has for values of a client.

extension HTTPDNSClient {
    /// The HTTP version that a response came over.
    public typealias HTTPVersion = HTTPDNSTransfer.HTTPVersion
    /// The HTTP versions that a request may use.
    public typealias AllowedVersions = HTTPDNSTransfer.AllowedVersions
    /// What a client knows of an endpoint from connecting to it.
    public typealias EndpointRecord = HTTPDNSTransfer.EndpointRecord
    /// The connections that requests for one host to one endpoint share.
    public typealias ConnectionPool = HTTPDNSTransfer.ConnectionPool
}

extension HTTPDNSClient.Exchange {
    /// How long the phases of one exchange took.
    public typealias Timings = HTTPDNSTransfer.Timings
    /// A certificate that a server showed.
    public typealias PeerCertificate = HTTPDNSTransfer.PeerCertificate
}

extension HTTPDNSClient.Proxy {
    /// What is spoken with a proxy.
    public typealias Kind = HTTPDNSTransfer.ProxyKind
}

extension HTTPDNSClient.Configuration {
    /// Where on this machine connections begin.
    public typealias LocalSource = HTTPDNSTransfer.LocalSource
    /// When an address whose server answers with errors is left for a while.
    public typealias OutlierEjection = HTTPDNSTransfer.OutlierEjection
    /// How a client connects to addresses without a request, to know how they stand.
    public typealias ActiveProbing = HTTPDNSTransfer.ActiveProbing
}
