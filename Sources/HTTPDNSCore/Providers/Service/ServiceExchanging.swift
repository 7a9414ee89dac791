package import HTTPDNSCurl
package import HTTPDNSPrimitives
package import HTTPTypes

/// What carries one request of a provider to one address of its service, and back.
package protocol ServiceExchanging: Sendable {
    /// Sends the request over a connection to `endpoint`, whatever the URL's host, and collects the answer.
    ///
    /// It returns or throws by `deadline`. The body is read only where the status is 200 or the protocol names its errors
    /// there, and no further than the longest answer of the provider's protocol.
    /// - Throws: `TransferFailure`; `CancellationError` when the task is cancelled.
    func exchange(_ request: ServiceRequest, with endpoint: HTTPDNSEndpoint, deadline: MonotonicTime) async throws
        -> ServiceReply

    /// Ends connections and threads. Idempotent.
    func shutdown() async
}

/// A query as an HTTP request.
package struct ServiceRequest: Sendable {
    package var method: HTTPRequest.Method
    package var url: ParsedURL
    package var headerFields: HTTPFields
    /// Nil for GET.
    package var body: [UInt8]?

    package init(method: HTTPRequest.Method, url: ParsedURL, headerFields: HTTPFields, body: [UInt8]? = nil) {
        self.method = method
        self.url = url
        self.headerFields = headerFields
        self.body = body
    }
}

/// The parts of an HTTP response that an answer is read from.
package struct ServiceReply: Sendable {
    package var status: Int
    package var headerFields: HTTPFields
    /// Empty where it was not read: see ``ServiceExchanging``.
    package var body: [UInt8]
    /// Where it came from.
    package var endpoint: HTTPDNSEndpoint

    package init(status: Int, headerFields: HTTPFields, body: [UInt8], endpoint: HTTPDNSEndpoint) {
        self.status = status
        self.headerFields = headerFields
        self.body = body
        self.endpoint = endpoint
    }
}
