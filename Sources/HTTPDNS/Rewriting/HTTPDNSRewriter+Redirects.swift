internal import HTTPDNSCore
internal import HTTPDNSPrimitives

extension HTTPDNSRewriter {
    /// Returns the hop of a redirect without the addresses that are more private than the redirecting server.
    ///
    /// Redirect targets are untrusted input: they must not reach services inside the network. In the caller's own URL,
    /// a name of the system resolver or an address is the caller's decision. Mappings are the operator's decision, and
    /// so are answers of providers, which have a limit of their own.
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

    /// Whether a redirect may lead to an address from the same source as a resolution.
    /// - Parameter scope: The network scope of the redirecting server; nil for the caller's own URL.
    func mayBeReached(
        _ address: HTTPDNSAddress,
        as resolution: HTTPDNSResolver.Resolution,
        redirectedFrom scope: HTTPDNSAddressPolicy.Scope?
    ) -> Bool {
        guard let scope, resolution.source == .literal || resolution.source == .system else { return true }
        // A server on a link-local address was allowed by name, and counts as a server of the network.
        let limit = scope == .special ? .private : scope
        return HTTPDNSAddressPolicy.Scope(of: address) <= limit
            || resolver.policy.allowed.contains { $0.contains(address) }
            || resolution.route?.allowed.contains { $0.contains(address) } == true
    }
}
