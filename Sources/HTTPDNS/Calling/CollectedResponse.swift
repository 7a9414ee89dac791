package import HTTPDNSCurl
public import HTTPTypes

extension HTTPDNSClient.Response {
    /// A response with its whole body, for callers that do not read a stream.
    public struct Collected: Sendable {
        /// The status and the header fields.
        public var head: HTTPResponse
        /// The HTTP version.
        public var version: HTTPDNSClient.HTTPVersion
        /// The body.
        public var body: [UInt8]
        /// The exchanges of the call; the last one has this response.
        public var exchanges: [HTTPDNSClient.Exchange]
        /// The origin of the response on one line, see ``HTTPDNSClient/Response/route``.
        public var route: String

        /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
        init(_ response: HTTPDNSClient.Response, upTo limit: HTTPDNSByteCount) async throws {
            body = try await response.body.collect(upTo: limit)
            head = response.head
            version = response.version
            exchanges = response.exchanges
            route = response.route
        }

        /// The status.
        public var status: HTTPResponse.Status { head.status }
        /// The header fields.
        public var headerFields: HTTPFields { head.headerFields }
    }
}
