// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import Logging

/// The rewriter of a client: it canonicalizes the URL, resolves the host, applies the address policy, and chooses the
/// addresses of the request.
///
/// Each client has one, which runs after its network interceptors. It can also be listed among the interceptors of another client.
/// That client's requests then follow this client's mappings and providers, because the second rewriter accepts the tag
/// of the first.
public final class HTTPDNSRewriter: HTTPDNSClient.Interceptor {
    let resolver: HTTPDNSResolver
    private let issuer: TagIssuer
    private let logger: Logger?

    init(resolver: HTTPDNSResolver, configuration: HTTPDNSClient.Configuration) {
        self.resolver = resolver
        issuer = TagIssuer(resolver: resolver, timeSource: configuration.resolver.timeSource)
        logger = configuration.logger
    }

    /// Rewrites the request and passes it on with its tag.
    public func intercept(
        _ request: HTTPDNSClient.Request,
        context: HTTPDNSClient.InterceptionContext,
        next: (HTTPDNSClient.Request, HTTPDNSClient.InterceptionContext) async throws -> HTTPDNSClient.Response
    ) async throws -> HTTPDNSClient.Response {
        var context = context
        context.rewritten = try await rewrite(
            request,
            carrying: context.rewritten,
            deadline: context.call.deadline,
            freshAfter: context.constraints.freshAfter
        )
        return try await next(request, context)
    }

    /// Rewrites a request. It uses a valid tag of an earlier rewriting, without any query.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    func rewrite(
        _ request: HTTPDNSClient.Request,
        carrying carried: HTTPDNSRewriter.RewrittenRequest?,
        deadline: MonotonicTime?,
        freshAfter: MonotonicTime? = nil
    ) async throws -> HTTPDNSRewriter.RewrittenRequest {
        if let cached = try cached(request, carrying: carried, freshAfter) { return cached }
        return try await lookedUp(request, deadline: deadline, freshAfter)
    }

    /// Rewrites a request whose addresses ``cached(_:carrying:_:_:)`` did not know.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    func lookedUp(
        _ request: HTTPDNSClient.Request,
        deadline: MonotonicTime?,
        _ freshAfter: MonotonicTime?
    ) async throws -> HTTPDNSRewriter.RewrittenRequest {
        // The following steps wait for the network, so parsing the URL a second time does not matter.
        let url = try HTTPDNSRewriter.Canonicalizer.canonicalize(request.url)
        var question = try question(about: url.host, port: url.port, options: request.options)
        question.freshAfter = freshAfter
        return finish(request, url, try await ask(question, deadline: deadline))
    }

    /// Rewrites a request without waiting; nil when its addresses need a query.
    /// - Parameter received: A URL that was parsed before, which may be the request's.
    func cached(
        _ request: HTTPDNSClient.Request,
        carrying carried: HTTPDNSRewriter.RewrittenRequest?,
        _ freshAfter: MonotonicTime?,
        _ received: ReceivedURL? = nil
    ) throws(HTTPDNSClientError) -> HTTPDNSRewriter.RewrittenRequest? {
        let url =
            if let received, let canonical = received.canonical, received.isURL(of: request.url) {
                canonical
            } else {
                try HTTPDNSRewriter.Canonicalizer.canonicalize(request.url)
            }
        try RequestCheck.check(request, at: url)
        // Nearly all requests: nothing of their own changes the query.
        let isBare = carried == nil && freshAfter == nil && request.own?.callOptions.leavesQuery ?? true
        if isBare, let name = url.name, let resolution = resolver.cached(name, port: url.port) {
            return finish(request, url, resolution)
        }
        if let carried, let accepted = try accept(carried, for: request, url: url) { return accepted }
        var question = HTTPDNSResolver.Query(url.host, port: url.port)
        question.freshAfter = freshAfter
        if let own = request.own { try apply(own.options, to: &question) }
        guard let resolution = try knownResolution(for: question, hasMissed: isBare) else { return nil }
        return finish(request, url, resolution)
    }

    func finish(
        _ request: borrowing HTTPDNSClient.Request,
        _ url: consuming HTTPDNSRewriter.CanonicalURL,
        _ resolution: consuming HTTPDNSResolver.Resolution
    ) -> HTTPDNSRewriter.RewrittenRequest {
        let tagExpiry = HTTPDNSRewriter.Tag.expiry(of: resolution, at: issuer.timeSource.coarseNow())
        let rewritten = HTTPDNSRewriter.RewrittenRequest(
            content: HTTPDNSRewriter.RewrittenRequest.Content(
                request,
                url: url,
                resolution: resolution,
                issuer: issuer,
                tagExpiry: tagExpiry
            )
        )
        log(rewritten)
        return rewritten
    }

    /// Waits for the family that the addresses of a hop lack because its lookup was still in flight.
    /// - Returns: The resolution with it; nil when there is none, and for addresses of another source or client.
    func completedResolution(
        of rewritten: HTTPDNSRewriter.RewrittenRequest,
        for request: HTTPDNSClient.Request
    ) async -> HTTPDNSResolver.Resolution? {
        let content = rewritten.content
        guard content.issuer === issuer,
            let question = try? question(about: content.url.host, port: content.url.port, options: request.options),
            let resolution = await resolver.completedResolution(for: question), resolution.source == rewritten.source
        else { return nil }
        return resolution
    }

    /// Returns the query for the resolver.
    /// - Throws: ``HTTPDNSClientError`` with code `invalidRequest`.
    func question(
        about host: HTTPDNSHost,
        port: UInt16,
        options: HTTPDNSClient.Request.Options
    ) throws(HTTPDNSClientError) -> HTTPDNSResolver.Query {
        var question = HTTPDNSResolver.Query(host, port: port)
        try apply(options, to: &question)
        return question
    }

    /// Copies the options of a request to the query.
    private func apply(
        _ options: HTTPDNSClient.Request.Options,
        to question: inout HTTPDNSResolver.Query
    ) throws(HTTPDNSClientError) {
        switch options.addresses.content {
        case .automatic: break
        case .system: question.usesSystemResolver = true
        case .only(let targets): question.addresses = try RequestCheck.endpoints(targets, port: question.port)
        }
        question.families = options.families
        question.rolloutKey = options.rolloutKey
    }

    /// Parses a host on its own: a name, or an address with or without brackets.
    /// - Throws: ``HTTPDNSClientError`` with code `invalidURL`.
    static func host(_ text: String) throws(HTTPDNSClientError) -> HTTPDNSHost {
        do {
            return try HTTPDNSHost(text)
        } catch {
            throw HTTPDNSClientError(code: .invalidURL, phase: .request, message: "\(error)")
        }
    }

    /// Returns the addresses for a query, without waiting where that is possible.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    func resolve(_ question: HTTPDNSResolver.Query, deadline: MonotonicTime?) async throws -> HTTPDNSResolver.Resolution
    {
        if let known = try knownResolution(for: question) { return known }
        return try await ask(question, deadline: deadline)
    }

    /// Returns the addresses that are known without waiting; nil when a query is needed.
    /// - Parameter hasMissed: As for ``HTTPDNSResolver/cached(_:hasMissed:)``.
    private func knownResolution(
        for question: HTTPDNSResolver.Query,
        hasMissed: Bool = false
    ) throws(HTTPDNSClientError) -> HTTPDNSResolver.Resolution? {
        do {
            return try resolver.cached(question, hasMissed: hasMissed)
        } catch {
            throw HTTPDNSClientError(error)
        }
    }

    private func ask(_ question: HTTPDNSResolver.Query, deadline: MonotonicTime?) async throws
        -> HTTPDNSResolver.Resolution
    {
        var question = question
        do {
            if let deadline {
                let left = deadline - SystemTimeSource().now()
                guard left > .zero else {
                    throw HTTPDNSClientError.deadlinePassed(host: question.host, port: question.port)
                }
                question.timeLimit = left
            }
            return try await resolver.resolve(question)
        } catch let failure as HTTPDNSResolver.Error {
            var error = HTTPDNSClientError(failure)
            // The resolver's own limit is shorter, or the call's limit ended the query.
            error.isCallDeadline = failure.code == .timedOut && deadline != nil && failure.limit == question.timeLimit
            throw error
        }
    }

    /// Returns the request with the addresses of its valid tag; nil when it must be rewritten again.
    /// - Throws: ``HTTPDNSClientError`` with code `policyRefused` when another client's addresses do not pass the
    ///   policy of this one.
    private func accept(
        _ carried: HTTPDNSRewriter.RewrittenRequest,
        for request: HTTPDNSClient.Request,
        url: HTTPDNSRewriter.CanonicalURL
    ) throws(HTTPDNSClientError) -> HTTPDNSRewriter.RewrittenRequest? {
        let content = carried.content
        // The kill switch wins over a tag, and so do the request's own options.
        guard !isOff(url.host), let tag = carried.tag, content.url.host == url.host, content.url.port == url.port,
            content.addresses == request.options.addresses, content.families == request.options.families, tag.isValid
        else { return nil }
        var resolution = content.resolution
        if content.issuer !== issuer {
            let subject = "the addresses that another client gave"
            try applyPolicy(to: &resolution, from: resolution.source, of: content.issuer, url.host, subject)
        }
        return replacing(resolution, in: carried, for: request, at: url)
    }

    private func isOff(_ host: HTTPDNSHost) -> Bool {
        guard case .name(let name) = host else { return !resolver.killSwitch.isOn }
        return resolver.switchEntry(for: name) != nil
    }

    /// Whether the policy permits an address of a host from the same source as a resolution.
    func permits(_ address: HTTPDNSAddress, of host: HTTPDNSHost, as resolution: HTTPDNSResolver.Resolution) -> Bool {
        resolver.policy.refusal(
            of: address,
            from: resolution.source,
            providerScope: issuer.providerScope(of: resolution),
            route: route(for: host)
        ) == nil
    }

    /// Returns this client's own route for a host. The route of a resolution is the one that led to its addresses: none
    /// for a mapping, and another client's for a carried tag.
    func route(for host: HTTPDNSHost) -> HTTPDNSRoute? {
        guard case .name(let name) = host else { return nil }
        return resolver.route(for: name)
    }

    /// Removes the addresses that the policy of this client refuses.
    /// - Parameters:
    ///   - issuer: The client that has resolved the host. Addresses that its route allows are allowed there alone.
    ///   - subject: The addresses, in the words of the error.
    /// - Throws: ``HTTPDNSClientError`` with code `policyRefused` when no address is left.
    func applyPolicy(
        to resolution: inout HTTPDNSResolver.Resolution,
        from source: HTTPDNSResolver.Resolution.Source,
        of issuer: TagIssuer,
        _ host: HTTPDNSHost,
        _ subject: String
    ) throws(HTTPDNSClientError) {
        let (policy, scope, route) = (resolver.policy, issuer.providerScope(of: resolution), route(for: host))
        let refusal = resolution.removeEndpoints { address in
            policy.refusal(of: address, from: source, providerScope: scope, route: route)
        }
        if let refusal, resolution.endpoints.isEmpty { throw .allRefused(subject, of: host, refusal) }
    }

    private func log(_ rewritten: HTTPDNSRewriter.RewrittenRequest) {
        guard let logger, logger.logLevel <= .trace else { return }
        logger.trace(
            "request rewritten",
            metadata: [
                "host": "\(rewritten.content.url.host)", "port": "\(rewritten.content.url.port)",
                "source": "\(rewritten.source)", "addresses": "\(rewritten.addresses)",
                "generation": "\(rewritten.generation)", "tagged": "\(rewritten.tag != nil)",
            ]
        )
    }
}

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
        let refused = resolution.removeEndpoints { address in
            mayBeReached(address, as: rewritten.resolution, redirectedFrom: scope) ? nil : address
        }
        guard let refused else { return rewritten }
        guard !resolution.endpoints.isEmpty else {
            throw .redirectInside(
                refused,
                HTTPDNSAddressPolicy.Scope(of: refused).description,
                from: scope.description,
                host: rewritten.content.url.host.description
            )
        }
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

extension HTTPDNSResolver.Resolution {
    /// Removes the addresses for which there is a refusal, and returns the first refusal.
    fileprivate mutating func removeEndpoints<Refusal>(_ refusal: (HTTPDNSAddress) -> Refusal?) -> Refusal? {
        var first: Refusal?
        let left = endpoints.filter { endpoint in
            let refusal = refusal(endpoint.address)
            first = first ?? refusal
            return refusal == nil
        }
        if first != nil { endpoints = left }
        return first
    }
}

extension HTTPDNSRewriter.RewrittenRequest {
    /// Whether its host was not resolved, see ``HTTPDNSRewriter/unresolved(_:_:as:)``.
    var isUnresolved: Bool { source == .proxy || source == .unixSocket }
}
