package import HTTPDNSPrimitives
package import HTTPTypes

/// The head of an answer and the stream of its body.
package struct TransferResponse: Sendable {
    package var head: HTTPResponse
    package var version: HTTPDNSTransfer.HTTPVersion
    /// The address and port that answered, as the connection itself reports them.
    package var endpoint: HTTPDNSEndpoint
    /// The endpoints that were tried before, and failed.
    package var failedAttempts: [TransferAttempt]
    package var reusedConnection: Bool
    /// How often the request was sent besides, because it had no answer in time; the first answer counts.
    package var hedges: Int
    /// The certificates that the server showed when the connection was made, its own first; empty in clear text, and unless
    /// ``TransportConfiguration/keepsPeerCertificates``.
    package var peerCertificates: [HTTPDNSTransfer.PeerCertificate]
    /// Phases known when the head arrived; ``TransferResponseBody/summary`` has `total` at the end.
    package var timings: HTTPDNSTransfer.Timings
    package var body: TransferResponseBody
}

/// What is known once a body ended.
package struct TransferSummary: Hashable, Sendable {
    /// Bytes of the body after decoding.
    package var bodyBytes: Int
    /// Bytes of the body as received, before decoding.
    package var wireBytes: Int
    package var timings: HTTPDNSTransfer.Timings
}
