package import HTTPDNSCurl
package import HTTPDNSPrimitives
package import HTTPTypes

/// A carrier of a provider's requests to the addresses of its service.
package protocol UpstreamExchanging: Sendable {
    /// Sends the request over a connection to `endpoint`, whatever the URL's host, and collects the response.
    ///
    /// It returns or throws by `deadline`. The body is read only if the status is 200 or the protocol describes its errors in
    /// bodies. At most the provider's longest answer is read.
    /// - Throws: `TransferFailure`; `CancellationError` when the task is cancelled.
    func exchange(_ request: ServiceRequest, with endpoint: HTTPDNSEndpoint, deadline: MonotonicTime) async throws
        -> UpstreamReply

    /// Closes connections and stops threads. Idempotent.
    func shutdown() async
}

/// A query as an HTTP request.
package struct ServiceRequest: Sendable {
    package var method: HTTPRequest.Method
    package var url: ParsedURL
    package var headerFields: HTTPFields
    /// The body; `nil` for GET.
    package var body: [UInt8]?

    package init(method: HTTPRequest.Method, url: ParsedURL, headerFields: HTTPFields, body: [UInt8]? = nil) {
        self.method = method
        self.url = url
        self.headerFields = headerFields
        self.body = body
    }
}

/// The parts of an HTTP response that an answer is read from.
package struct UpstreamReply: Sendable {
    package var status: Int
    package var headerFields: HTTPFields
    /// The body; empty where it was not read: see ``UpstreamExchanging``.
    package var body: [UInt8]
    /// The endpoint that sent the response.
    package var endpoint: HTTPDNSEndpoint

    package init(status: Int, headerFields: HTTPFields, body: [UInt8], endpoint: HTTPDNSEndpoint) {
        self.status = status
        self.headerFields = headerFields
        self.body = body
        self.endpoint = endpoint
    }
}
