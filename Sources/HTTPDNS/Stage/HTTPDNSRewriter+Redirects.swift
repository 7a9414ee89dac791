internal import HTTPDNSCore
internal import HTTPDNSPrimitives

extension HTTPDNSRewriter {
    /// A hop that a redirect leads to, without the addresses that are more private than the server which redirects there.
    ///
    /// A name that the system resolver knows, or an address, is the caller's will in a URL of the caller's. In a redirect it
    /// is that of a stranger, who must not reach services inside the network. Mappings, and answers of providers, which have
    /// a limit of their own, are the operator's.
    /// - Throws: ``HTTPDNSClientError`` with code `policyRefused` when no address is left.
    func keptOutside(
        _ rewritten: HTTPDNSRewriter.RewrittenRequest,
        for request: HTTPDNSClient.Request,
        redirectedFrom scope: HTTPDNSAddressPolicy.Scope
    ) throws(HTTPDNSClientError) -> HTTPDNSRewriter.RewrittenRequest {
        var resolution = rewritten.resolution
        var refused: HTTPDNSAddress?
        let endpoints = resolution.endpoints
        let left = endpoints.filter { endpoint in
            if mayBeReached(endpoint.address, as: resolution, redirectedFrom: scope) { return true }
            refused = refused ?? endpoint.address
            return false
        }
        guard let refused else { return rewritten }
        guard !left.isEmpty else {
            throw .redirectInside(
                refused,
                HTTPDNSAddressPolicy.Scope(of: refused).description,
                from: scope.description,
                host: rewritten.content.url.host.description
            )
        }
        resolution.endpoints = left
        return replacing(resolution, in: rewritten, for: request)
    }

    /// Whether a redirect may lead to an address that an answer from the same source had.
    /// - Parameter scope: How far the server reaches that redirects; nil for a URL of the caller's.
    func mayBeReached(
        _ address: HTTPDNSAddress,
        as resolution: HTTPDNSResolver.Resolution,
        redirectedFrom scope: HTTPDNSAddressPolicy.Scope?
    ) -> Bool {
        guard let scope, resolution.source == .literal || resolution.source == .system else { return true }
        // A server on a link-local address was allowed by name, and is a server of the network.
        let limit = scope == .special ? .private : scope
        return HTTPDNSAddressPolicy.Scope(of: address) <= limit
            || resolver.policy.allowed.contains { $0.contains(address) }
            || resolution.route?.allowed.contains { $0.contains(address) } == true
    }
}
