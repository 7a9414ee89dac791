// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

extension HTTPDNSRewriter {
    /// Returns the same hop with the addresses of the system resolver, which the policy checks like all others.
    /// - Parameters:
    ///   - constraints: The constraints of the hop: a redirect's limits apply here too, and a retry queries the system
    ///     again.
    ///   - isWanted: Whether an endpoint is useful.
    /// - Throws: ``HTTPDNSClientError`` with code `resolveFailed` when no address is left, `policyRefused` when a
    ///   redirect may lead to none of them; `CancellationError`.
    func systemPath(
        of rewritten: HTTPDNSRewriter.RewrittenRequest,
        for request: HTTPDNSClient.Request,
        on constraints: HopConstraints,
        deadline: MonotonicTime?,
        isWanted: (HTTPDNSEndpoint) -> Bool
    ) async throws -> HTTPDNSRewriter.RewrittenRequest {
        let url = rewritten.content.url
        var options = request.options
        options.addresses = .system
        var question = try question(about: url.host, port: url.port, options: options)
        question.freshAfter = constraints.freshAfter
        var resolution = try await resolve(question, deadline: deadline)
        let endpoints = resolution.endpoints
        let wanted = endpoints.filter(isWanted)
        if wanted.count < endpoints.count { resolution.endpoints = wanted }
        guard !wanted.isEmpty else {
            throw HTTPDNSClientError(
                code: .resolveFailed,
                phase: .resolve,
                message: "the system resolver has no other address of \(url.host)",
                host: url.host.description
            )
        }
        if let route = rewritten.resolution.route {
            // Otherwise an attacker could give the providers an address that refuses connections, and the system one inside the
            // network.
            resolution = resolution.inPlaceOfProviders(of: route)
            let subject = "the addresses that the system resolver has"
            try applyPolicy(to: &resolution, from: .system, of: rewritten.content.issuer, url.host, subject)
        }
        let bySystem = replacing(resolution, in: rewritten, for: request)
        guard let scope = constraints.redirectedFrom else { return bySystem }
        return try keptOutside(bySystem, for: request, redirectedFrom: scope)
    }

    /// Returns the hop with the last request's address before its own addresses. Nil when the policy now refuses that
    /// address, or when a redirect may not lead to it.
    func staying(
        on endpoint: HTTPDNSEndpoint,
        _ rewritten: HTTPDNSRewriter.RewrittenRequest,
        for request: HTTPDNSClient.Request,
        redirectedFrom scope: HTTPDNSAddressPolicy.Scope?
    ) -> HTTPDNSRewriter.RewrittenRequest? {
        guard permits(endpoint.address, of: rewritten.content.url.host, as: rewritten.resolution),
            mayBeReached(endpoint.address, as: rewritten.resolution, redirectedFrom: scope)
        else { return nil }
        var resolution = rewritten.resolution
        resolution.endpoints = [endpoint] + resolution.endpoints
        return replacing(resolution, in: rewritten, for: request)
    }

    func replacing(
        _ resolution: HTTPDNSResolver.Resolution,
        in rewritten: HTTPDNSRewriter.RewrittenRequest,
        for request: HTTPDNSClient.Request,
        at url: HTTPDNSRewriter.CanonicalURL? = nil
    ) -> HTTPDNSRewriter.RewrittenRequest {
        let content = rewritten.content
        return HTTPDNSRewriter.RewrittenRequest(
            content: HTTPDNSRewriter.RewrittenRequest.Content(
                request,
                url: url ?? content.url,
                resolution: resolution,
                issuer: content.issuer,
                tagExpiry: content.tagExpiry
            )
        )
    }
}
