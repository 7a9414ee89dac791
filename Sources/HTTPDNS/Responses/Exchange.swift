package import HTTPDNSCurl
public import HTTPDNSPrimitives
public import HTTPTypes

extension HTTPDNSClient {
    /// One request and its response on one hop.
    public struct Exchange: Sendable {
        /// What was sent, and where to.
        public var request: HTTPDNSRewriter.RewrittenRequest
        /// The address and port that answered, as the connection reported them. Through a proxy that is told names it is the
        /// proxy's, through one that is given addresses the one that it was given; for a Unix socket it is `0.0.0.0:0`.
        public var remote: HTTPDNSEndpoint
        /// The proxy that it went through, such as `http://proxy.test:3128`; nil without one.
        public var proxy: String?
        /// Whether it went to an address of the system resolver because those that it was given could not be connected to, by
        /// this request or by one shortly before it.
        public var fellBack = false
        /// Whether it stayed on a warm address that the newest answer no longer has.
        public var isHeld = false
        /// The addresses that were tried before it and failed, in order. One that was only slower is not among them.
        public var failedAttempts: [HTTPDNSClientError.Attempt] = []
        /// The header fields that were not sent on this hop, because a redirect to it changed the origin or the method.
        public var droppedFields: [HTTPField.Name] = []
        /// Whether the connection had been used before.
        public var reusedConnection: Bool
        /// Whether the request was sent twice, because the first sending had no answer within
        /// ``HTTPDNSClient/Configuration/Connections/hedgeAfter``. This is the answer that came first.
        public var isHedged = false
        /// The certificates that the server showed when the connection was made, its own first, as it sent them; empty in
        /// clear text, and unless ``HTTPDNSClient/Configuration/Connections/keepsPeerCertificates``.
        public var peerCertificates: [HTTPDNSClient.Exchange.PeerCertificate] = []
        /// The HTTP version.
        public var version: HTTPDNSClient.HTTPVersion
        /// The status.
        public var status: HTTPResponse.Status
        /// How long resolving took; nil when the request brought its addresses.
        public var resolve: Duration?
        /// The phases known at the head. ``HTTPDNSClient/Response/Body/summary`` has the total.
        public var timings: HTTPDNSClient.Exchange.Timings
        /// Unique in the process for a call through interceptors or hooks, 0 for others.
        var number: UInt64 = 0
    }
}
