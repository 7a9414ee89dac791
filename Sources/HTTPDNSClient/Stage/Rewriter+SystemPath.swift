internal import CurlTransport
internal import HTTPDNS
internal import HTTPDNSPrimitives

extension Rewriter {
    /// The same hop to the addresses of the system resolver, which pass the policy like all others.
    /// - Parameter isWanted: Which of them are of use.
    /// - Throws: ``HTTPDNSClientError`` with code `resolveFailed` when none is left; `CancellationError`.
    func systemPath(
        of rewritten: RewrittenRequest,
        for request: ClientRequest,
        deadline: MonotonicTime?,
        isWanted: (Endpoint) -> Bool
    ) async throws -> RewrittenRequest {
        let url = rewritten.content.url
        var options = request.options
        options.pinnedTo = nil
        options.bypass = true
        var resolution = try await resolve(
            try question(about: url.host, port: url.port, options: options),
            deadline: deadline
        )
        let endpoints = resolution.endpoints
        let wanted = endpoints.filter(isWanted)
        if wanted.count < endpoints.count { resolution.endpoints = wanted }
        guard !wanted.isEmpty else {
            throw HTTPDNSClientError(
                code: .resolveFailed,
                stage: .resolve,
                message: "the system resolver has no other address of \(url.host)",
                host: url.host.description
            )
        }
        return replacing(resolution, in: rewritten, for: request)
    }

    /// The hop with an address before its own: the one that the last request used; nil when the policy refuses it by now.
    func staying(on endpoint: Endpoint, _ rewritten: RewrittenRequest, for request: ClientRequest) -> RewrittenRequest?
    {
        guard permits(endpoint.address, as: rewritten.resolution) else { return nil }
        var resolution = rewritten.resolution
        resolution.endpoints = [endpoint] + resolution.endpoints
        return replacing(resolution, in: rewritten, for: request)
    }

    func replacing(
        _ resolution: Resolution,
        in rewritten: RewrittenRequest,
        for request: ClientRequest
    ) -> RewrittenRequest {
        let content = rewritten.content
        return RewrittenRequest(
            content: RewrittenRequest.Content(
                request,
                url: content.url,
                resolution: resolution,
                issuer: content.issuer,
                tagExpiry: content.tagExpiry
            )
        )
    }
}
