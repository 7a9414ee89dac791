package import CurlTransport
package import HTTPDNSPrimitives
package import HTTPTypes

/// What carries one request of a ``DoHProvider`` to one address of its service, and back.
package protocol DoHExchanging: Sendable {
    /// Sends the request over a connection to `endpoint`, whatever the URL's host, and collects the answer.
    ///
    /// It returns or throws by `deadline`. The body is read only where the status is 200, and no further than the longest
    /// DNS message.
    /// - Throws: `TransferFailure`; `CancellationError` when the task is cancelled.
    func exchange(_ request: DoHRequest, with endpoint: Endpoint, deadline: MonotonicTime) async throws -> DoHReply

    /// Ends connections and threads. Idempotent.
    func shutdown() async
}

/// A query as an HTTP request.
package struct DoHRequest: Sendable {
    package var method: HTTPRequest.Method
    package var url: ParsedURL
    package var headerFields: HTTPFields
    /// Nil for GET.
    package var body: [UInt8]?
}

/// The parts of an HTTP response that an answer is read from.
package struct DoHReply: Sendable {
    package var status: Int
    package var headerFields: HTTPFields
    /// Empty unless the status is 200.
    package var body: [UInt8]
    /// Where it came from.
    package var endpoint: Endpoint

    package init(status: Int, headerFields: HTTPFields, body: [UInt8], endpoint: Endpoint) {
        self.status = status
        self.headerFields = headerFields
        self.body = body
        self.endpoint = endpoint
    }
}
