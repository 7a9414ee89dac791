#if LocalProvider
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// A request to a protocol.
struct ServedRequest: Sendable {
    var method: HTTPRequest.Method
    /// The path without the query.
    var path: String
    /// The query without its question mark, as it was sent.
    var query: String
    var headerFields: HTTPFields = [:]
    var body: [UInt8] = []
    /// The source address; nil when it is not known.
    var client: HTTPDNSAddress?
    /// The address and port that received the request.
    var service: HTTPDNSEndpoint

    /// The parts of the path.
    var segments: [Substring] { path.split(separator: "/", omittingEmptySubsequences: true) }
}
#endif
