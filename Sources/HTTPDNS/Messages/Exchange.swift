// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
public import HTTPDNSPrimitives
public import HTTPTypes

extension HTTPDNSClient {
    /// One request and its response on one hop.
    public struct Exchange: Sendable {
        /// The request as it was sent, with its addresses.
        public var request: HTTPDNSRewriter.RewrittenRequest
        /// The address and port that answered, as the connection reported them. Through a proxy that resolves names it
        /// is the proxy's. Through a proxy that receives addresses it is the address that it received. For a Unix
        /// socket it is `0.0.0.0:0`.
        public var remote: HTTPDNSEndpoint
        /// The proxy that the request went through, such as `http://proxy.test:3128`; nil without one.
        public var proxy: String?
        /// Whether the request used an address of the system resolver because its own addresses refused connections,
        /// for this request or one shortly before.
        public var usedSystemFallback = false
        /// Whether the request stayed on a warm address that the newest answer no longer contains.
        public var keptPreviousAddress = false
        /// The addresses that were tried before and failed, in order. An address that was only slower is not listed.
        public var failedAttempts: [HTTPDNSClientError.Attempt] = []
        /// The header fields that were not sent on this hop because a redirect changed the origin or the method.
        public var droppedFields: [HTTPField.Name] = []
        /// Whether the connection had been used before.
        public var reusedConnection: Bool
        /// Whether the request was sent twice, because the first copy had no response within
        /// ``HTTPDNSClient/Configuration/Connections/hedgeAfter``. This exchange has the response that arrived first.
        public var isHedged = false
        /// Whether the request was sent for another call with an identical request, whose response this call got too
        /// (``HTTPDNSClient/Options/mergesIdenticalReads``).
        public var isMerged = false
        /// The certificates that the server sent when the connection was made, in its order, its own first. Empty in
        /// clear text, and unless ``HTTPDNSClient/Configuration/Connections/keepsPeerCertificates`` is true.
        public var peerCertificates: [HTTPDNSClient.Exchange.PeerCertificate] = []
        /// The version and the cipher suite of TLS, also on a connection that had been used before; nil in clear text. Of a
        /// request through a proxy with TLS of its own they are those of the server.
        public var tls: HTTPDNSClient.Exchange.TLSParameters?
        /// The HTTP version.
        public var version: HTTPDNSClient.HTTPVersion
        /// The status.
        public var status: HTTPResponse.Status
        /// The time that resolving took; nil when the request had its own addresses.
        public var resolve: Duration?
        /// The durations of the phases that had ended at the response head. ``HTTPDNSClient/Response/Body/summary`` has
        /// the total.
        public var timings: HTTPDNSClient.Exchange.Timings
        /// The part that the response cache took after this exchange: `miss`, `validated`, or `stale` when a stored response
        /// replaced an error of the server. Nil without a cache, and for a method that it does not store. An exchange is
        /// sent: a response from the cache without sending has none, see ``HTTPDNSClient/Response/cacheSource``.
        public package(set) var cacheSource: HTTPDNSClient.CacheSource?
        /// A number unique in the process for a call through interceptors or hooks, 0 for others.
        var number: UInt64 = 0
    }
}

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
    /// The result of the TLS handshake of a connection.
    public typealias TLSParameters = HTTPDNSTransfer.TLSParameters
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
    /// The settings of TCP keepalive.
    public typealias TCPKeepalive = HTTPDNSTransfer.TCPKeepalive
    /// The settings for connecting to addresses without a request, to learn their condition.
    public typealias ActiveProbing = HTTPDNSTransfer.ActiveProbing
}
