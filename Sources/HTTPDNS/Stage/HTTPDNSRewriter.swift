internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import Logging

/// The stage: canonicalizes the URL, resolves the host, applies the address policy, and says where the request goes.
///
/// Each client has one as the last of its network stages. It can also be listed among the interceptors of another client,
/// whose requests then go where this client's mappings and providers say: the second stage believes the first one's tag.
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
            deadline: context.deadline,
            freshAfter: context.way.freshAfter
        )
        return try await next(request, context)
    }

    /// Where a request goes. A tag that came with it and still holds is believed, and nobody is asked.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    func rewrite(
        _ request: HTTPDNSClient.Request,
        carrying carried: HTTPDNSRewriter.RewrittenRequest?,
        deadline: MonotonicTime?,
        freshAfter: MonotonicTime? = nil
    ) async throws -> HTTPDNSRewriter.RewrittenRequest {
        if let rewritten = try rewriteAtOnce(request, carrying: carried, freshAfter) { return rewritten }
        // What follows waits for the network, so that it does not matter that the URL is read once more.
        let url = try HTTPDNSRewriter.Canonicalizer.canonicalize(request.url)
        var question = try question(about: url.host, port: url.port, options: request.options)
        question.freshAfter = freshAfter
        return finish(request, url, try await ask(question, deadline: deadline))
    }

    /// The part of the rewriting that never waits; nil when somebody must be asked for addresses.
    private func rewriteAtOnce(
        _ request: HTTPDNSClient.Request,
        carrying carried: HTTPDNSRewriter.RewrittenRequest?,
        _ freshAfter: MonotonicTime?
    ) throws(HTTPDNSClientError) -> HTTPDNSRewriter.RewrittenRequest? {
        let url = try HTTPDNSRewriter.Canonicalizer.canonicalize(request.url)
        try RequestCheck.check(request, at: url)
        if let carried, let accepted = try accept(carried, for: request, url: url) { return accepted }
        var question = HTTPDNSResolver.Query(url.host, port: url.port)
        question.freshAfter = freshAfter
        if let own = request.own { try apply(own.options, to: &question) }
        guard let resolution = try knownResolution(for: question) else { return nil }
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

    /// What the resolver is asked.
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

    /// Says in the question what the request's options say about it.
    private func apply(
        _ options: HTTPDNSClient.Request.Options,
        to question: inout HTTPDNSResolver.Query
    ) throws(HTTPDNSClientError) {
        if let texts = options.pinnedTo {
            question.pinnedTo = try RequestCheck.endpoints(texts, port: question.port)
        }
        question.bypass = options.bypass
        question.families = options.families
        question.rolloutKey = options.rolloutKey
    }

    /// A host that stands alone: a name, or an address with or without brackets.
    /// - Throws: ``HTTPDNSClientError`` with code `invalidURL`.
    static func host(_ text: String) throws(HTTPDNSClientError) -> HTTPDNSHost {
        if let address = HTTPDNSAddress(text) { return .address(address) }
        if text.hasPrefix("["), text.hasSuffix("]"), let address = HTTPDNSAddress(String(text.dropFirst().dropLast())) {
            return .address(address)
        }
        do {
            return .name(try HTTPDNSName(text))
        } catch {
            throw HTTPDNSClientError(code: .invalidURL, stage: .request, message: "\(error)")
        }
    }

    /// Addresses for a question, without a wait where that is possible.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    func resolve(_ question: HTTPDNSResolver.Query, deadline: MonotonicTime?) async throws -> HTTPDNSResolver.Resolution
    {
        if let known = try knownResolution(for: question) { return known }
        return try await ask(question, deadline: deadline)
    }

    /// The addresses that are known without a wait; nil when somebody must be asked.
    private func knownResolution(for question: HTTPDNSResolver.Query) throws(HTTPDNSClientError) -> HTTPDNSResolver
        .Resolution?
    {
        do {
            return try resolver.immediateResolution(for: question)
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
            // The resolver's own limit is shorter, or the call's decided.
            error.isCallDeadline = failure.code == .timedOut && deadline != nil && failure.limit == question.timeLimit
            throw error
        }
    }

    /// The request with the addresses of a tag that holds for it; nil when it must be rewritten anew.
    /// - Throws: ``HTTPDNSClientError`` with code `policyRefused` when another client's addresses do not pass the policy
    ///   of this one.
    private func accept(
        _ carried: HTTPDNSRewriter.RewrittenRequest,
        for request: HTTPDNSClient.Request,
        url: HTTPDNSRewriter.CanonicalURL
    ) throws(HTTPDNSClientError) -> HTTPDNSRewriter.RewrittenRequest? {
        let content = carried.content
        // The kill switch is stronger than a tag, and so is what the request asks for itself.
        guard !isOff(url.host), let tag = carried.tag, content.url.host == url.host, content.url.port == url.port,
            content.pinnedTo == request.options.pinnedTo, content.bypass == request.options.bypass,
            content.families == request.options.families, tag.isValid
        else { return nil }
        var resolution = content.resolution
        if content.issuer !== issuer { try applyPolicy(to: &resolution, issuer: content.issuer, host: url.host) }
        return HTTPDNSRewriter.RewrittenRequest(
            content: HTTPDNSRewriter.RewrittenRequest.Content(
                request,
                url: url,
                resolution: resolution,
                issuer: content.issuer,
                tagExpiry: content.tagExpiry
            )
        )
    }

    private func isOff(_ host: HTTPDNSHost) -> Bool {
        guard case .name(let name) = host else { return !resolver.killSwitch.isOn }
        return resolver.off(for: name) != nil
    }

    /// Whether the policy lets an address of a host through that an answer from the same source had.
    func permits(_ address: HTTPDNSAddress, of host: HTTPDNSHost, as resolution: HTTPDNSResolver.Resolution) -> Bool {
        resolver.policy.refusal(
            of: address,
            from: resolution.source,
            providerScope: issuer.providerScope(of: resolution),
            route: route(for: host)
        ) == nil
    }

    /// This client's own route for a host. A resolution has the route that its addresses came by, which is none for a mapping
    /// and another client's for a carried tag.
    func route(for host: HTTPDNSHost) -> HTTPDNSRoute? {
        guard case .name(let name) = host else { return nil }
        return resolver.route(for: name)
    }

    private func applyPolicy(
        to resolution: inout HTTPDNSResolver.Resolution,
        issuer: TagIssuer,
        host: HTTPDNSHost
    ) throws(HTTPDNSClientError) {
        let scope = issuer.providerScope(of: resolution)
        let source = resolution.source
        let policy = resolver.policy
        let route = route(for: host)
        var refusal: String?
        let allowed = resolution.endpoints.filter { endpoint in
            let reason = policy.refusal(of: endpoint.address, from: source, providerScope: scope, route: route)
            refusal = refusal ?? reason
            return reason == nil
        }
        guard let refusal else { return }
        resolution.endpoints = allowed
        guard allowed.isEmpty else { return }
        throw .allRefused("the addresses that another client gave", of: host, refusal)
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
