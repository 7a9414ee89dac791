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
            resolution = try limited(resolution, inPlaceOfProvidersOf: route, url.host, by: rewritten.content.issuer)
        }
        let bySystem = replacing(resolution, in: rewritten, for: request)
        guard let scope = constraints.redirectedFrom else { return bySystem }
        return try keptOutside(bySystem, for: request, redirectedFrom: scope)
    }

    /// Returns the system's answer without the addresses that it must not have as a substitute for a route's providers.
    /// Otherwise an attacker could give the providers an address that refuses connections, and the system one inside
    /// the network.
    /// - Parameter issuer: The client whose route it is.
    /// - Throws: ``HTTPDNSClientError`` with code `policyRefused` when no address is left.
    private func limited(
        _ resolution: HTTPDNSResolver.Resolution,
        inPlaceOfProvidersOf route: HTTPDNSRoute,
        _ host: HTTPDNSHost,
        by issuer: TagIssuer
    ) throws(HTTPDNSClientError) -> HTTPDNSResolver.Resolution {
        var limited = resolution.inPlaceOfProviders(of: route)
        let scope = issuer.providerScope(of: limited)
        let policy = resolver.policy
        // Addresses that the issuer's route allows are allowed there alone.
        let ownRoute = self.route(for: host)
        var refusals: [String] = []
        let endpoints = limited.endpoints
        let allowed = endpoints.filter { endpoint in
            let refusal = policy.refusal(of: endpoint.address, from: .system, providerScope: scope, route: ownRoute)
            if let refusal { refusals.append(refusal) }
            return refusal == nil
        }
        guard let first = refusals.first else { return limited }
        guard !allowed.isEmpty else {
            throw .allRefused("the addresses that the system resolver has", of: host, first)
        }
        limited.endpoints = allowed
        return limited
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
        for request: HTTPDNSClient.Request
    ) -> HTTPDNSRewriter.RewrittenRequest {
        let content = rewritten.content
        return HTTPDNSRewriter.RewrittenRequest(
            content: HTTPDNSRewriter.RewrittenRequest.Content(
                request,
                url: content.url,
                resolution: resolution,
                issuer: content.issuer,
                tagExpiry: content.tagExpiry
            )
        )
    }
}
