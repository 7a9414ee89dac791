internal import CurlTransport
internal import HTTPDNS
internal import HTTPDNSPrimitives

extension Rewriter {
    /// The same hop to the addresses of the system resolver, which pass the policy like all others.
    /// - Parameters:
    ///   - way: A redirect's limits hold here too, and a retry asks the system anew.
    ///   - isWanted: Which of them are of use.
    /// - Throws: ``HTTPDNSClientError`` with code `resolveFailed` when none is left, `policyRefused` when a redirect may lead
    ///   to none of them; `CancellationError`.
    func systemPath(
        of rewritten: RewrittenRequest,
        for request: ClientRequest,
        on way: HopWay,
        deadline: MonotonicTime?,
        isWanted: (Endpoint) -> Bool
    ) async throws -> RewrittenRequest {
        let url = rewritten.content.url
        var options = request.options
        options.pinnedTo = nil
        options.bypass = true
        var question = try question(about: url.host, port: url.port, options: options)
        question.freshAfter = way.freshAfter
        var resolution = try await resolve(question, deadline: deadline)
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
        let bySystem = replacing(resolution, in: rewritten, for: request)
        guard let scope = way.redirectedFrom else { return bySystem }
        return try keptOutside(bySystem, for: request, redirectedFrom: scope)
    }

    /// The hop with an address before its own: the one that the last request used; nil when the policy refuses it by now, and
    /// when it is none that a redirect may lead to.
    func staying(
        on endpoint: Endpoint,
        _ rewritten: RewrittenRequest,
        for request: ClientRequest,
        redirectedFrom scope: AddressScope?
    ) -> RewrittenRequest? {
        guard permits(endpoint.address, as: rewritten.resolution),
            mayBeReached(endpoint.address, as: rewritten.resolution, redirectedFrom: scope)
        else { return nil }
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
