package import HTTPDNSPrimitives
package import HTTPTypes

/// The head of a response and the stream of its body.
package struct TransferResponse: Sendable {
    package var head: HTTPResponse
    package var version: HTTPDNSTransfer.HTTPVersion
    /// The address and port that responded, as reported by the connection.
    package var endpoint: HTTPDNSEndpoint
    /// The endpoints that were tried before, and failed.
    package var failedAttempts: [TransferAttempt]
    package var reusedConnection: Bool
    /// The number of times that the request was sent again in parallel, because it had no response in time; the first response
    /// counts.
    package var hedges: Int
    /// The server's certificates from the handshake, beginning with its own. Empty in clear text, and unless
    /// ``TransportConfiguration/keepsPeerCertificates``.
    package var peerCertificates: [HTTPDNSTransfer.PeerCertificate]
    /// The phases known when the head arrived; ``TransferResponseBody/summary`` has `total` at the end.
    package var timings: HTTPDNSTransfer.Timings
    package var body: TransferResponseBody
}

/// The facts of a transfer that are known at the end of its body.
package struct TransferSummary: Hashable, Sendable {
    /// The number of body bytes after decoding.
    package var bodyBytes: Int
    /// The number of received body bytes, before decoding.
    package var wireBytes: Int
    package var timings: HTTPDNSTransfer.Timings
}
