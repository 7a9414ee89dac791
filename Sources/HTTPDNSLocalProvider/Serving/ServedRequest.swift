#if LocalProvider
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// A request as the protocols see it.
struct ServedRequest: Sendable {
    var method: HTTPRequest.Method
    /// Without the query.
    var path: String
    /// Without its question mark, as it was sent.
    var query: String
    var headerFields: HTTPFields = [:]
    var body: [UInt8] = []
    /// Where it comes from; nil when that is not known.
    var client: HTTPDNSAddress?
    /// The address and port that it came to.
    var service: HTTPDNSEndpoint

    /// The parts of the path.
    var segments: [Substring] { path.split(separator: "/", omittingEmptySubsequences: true) }
}
#endif
