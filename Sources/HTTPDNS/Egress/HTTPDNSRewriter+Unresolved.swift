internal import HTTPDNSCore
internal import HTTPDNSPrimitives

extension HTTPDNSRewriter {
    /// Returns a rewritten hop whose host is not resolved here. It has no addresses and no tag.
    /// - Throws: ``HTTPDNSClientError`` with code `invalidRequest`.
    func unresolved(
        _ request: HTTPDNSClient.Request,
        _ url: HTTPDNSRewriter.CanonicalURL,
        as source: HTTPDNSResolver.Resolution.Source
    ) throws(HTTPDNSClientError) -> HTTPDNSRewriter.RewrittenRequest {
        try RequestCheck.check(request, at: url)
        return finish(request, url, HTTPDNSResolver.Resolution(endpoints: [], source: source))
    }
}

extension HTTPDNSRewriter.RewrittenRequest {
    /// Whether its host was not resolved, see ``HTTPDNSRewriter/unresolved(_:_:as:)``.
    var isUnresolved: Bool { source == .proxy || source == .unixSocket }
}
