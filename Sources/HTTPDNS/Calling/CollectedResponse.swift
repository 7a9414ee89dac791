public import HTTPDNSCurl
public import HTTPTypes

/// A response with its whole body, for callers that do not read a stream.
public struct CollectedResponse: Sendable {
    /// Status and header fields.
    public var head: HTTPResponse
    /// The HTTP version.
    public var version: HTTPVersion
    /// The body.
    public var body: [UInt8]
    /// The hops that led here; the last one gave this answer.
    public var exchanges: [Exchange]
    /// Where the answer came from, on one line: see ``ClientResponse/route``.
    public var route: String

    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    init(_ response: ClientResponse, upTo limit: HTTPDNSByteCount) async throws {
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
