package import HTTPDNSCurl
public import HTTPTypes

extension HTTPDNSClient {
    /// The answer to a request: its head, and its body as a stream.
    public struct Response: Sendable {
        /// Status and header fields.
        public var head: HTTPResponse
        /// The HTTP version.
        public var version: HTTPDNSClient.HTTPVersion
        /// The body. Read it to its end, or drop it: one that is kept unread holds its connection until the call's deadline.
        public var body: HTTPDNSClient.Response.Body
        /// The hops that led here, redirects and tries that were answered before a retry included; the last one gave this
        /// answer. Empty when an interceptor answered by itself.
        public var exchanges: [HTTPDNSClient.Exchange]

        /// Creates a response, as an interceptor that answers by itself does.
        public init(
            head: HTTPResponse,
            version: HTTPDNSClient.HTTPVersion = .http11,
            body: HTTPDNSClient.Response.Body,
            exchanges: [HTTPDNSClient.Exchange] = []
        ) {
            self.head = head
            self.version = version
            self.body = body
            self.exchanges = exchanges
        }

        /// The status.
        public var status: HTTPResponse.Status { head.status }
        /// The header fields.
        public var headerFields: HTTPFields { head.headerFields }

        /// Where the answer came from, on one line:
        /// `203.0.113.7 · doh "backup" · fresh, 41 s left · reused connection`.
        public var route: String { exchanges.last.map(RouteLine.text) ?? "answered by an interceptor" }
    }
}
