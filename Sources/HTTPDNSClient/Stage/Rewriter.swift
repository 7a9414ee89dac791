internal import CurlTransport
internal import HTTPDNS
internal import HTTPDNSPrimitives
internal import Logging

/// The stage: canonicalizes the URL, resolves the host, applies the address policy, and says where the request goes.
///
/// Each client has one as the last of its network stages. It can also be listed among the interceptors of another client,
/// whose requests then go where this client's mappings and providers say: the second stage believes the first one's tag.
public final class Rewriter: Interceptor {
    private let resolver: Resolver
    private let policy: AddressPolicy
    private let issuer: TagIssuer
    private let isEnabled: Bool
    private let logger: Logger?

    init(resolver: Resolver, configuration: HTTPDNSClient.Configuration) {
        self.resolver = resolver
        policy = configuration.resolver.policy
        issuer = TagIssuer(
            mappings: resolver.mappings,
            timeSource: configuration.resolver.timeSource,
            providers: configuration.resolver.providers
        )
        isEnabled = configuration.isEnabled
        logger = configuration.logger
    }

    /// Rewrites the request and passes it on with its tag.
    public func intercept(
        _ request: ClientRequest,
        context: InterceptionContext,
        next: (ClientRequest, InterceptionContext) async throws -> ClientResponse
    ) async throws -> ClientResponse {
        var context = context
        context.rewritten = try await rewrite(request, carrying: context.rewritten, deadline: context.deadline)
        return try await next(request, context)
    }

    /// Where a request goes. A tag that came with it and still holds is believed, and nobody is asked.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    func rewrite(
        _ request: ClientRequest,
        carrying carried: RewrittenRequest?,
        deadline: MonotonicTime?
    ) async throws -> RewrittenRequest {
        let url = try Canonicalizer.canonicalize(request.url)
        try RequestCheck.check(request, at: url)
        if let carried, let accepted = try accept(carried, for: request, url: url) { return accepted }

        let question = try question(about: url.host, port: url.port, options: request.options)
        let resolution = try await resolve(question, deadline: deadline)
        let rewritten = RewrittenRequest(
            content: RewrittenRequest.Content(
                request,
                url: url,
                resolution: resolution,
                issuer: issuer,
                tagExpiry: issuer.timeSource.coarseNow() + Tag.lifetime(of: resolution)
            )
        )
        log(rewritten)
        return rewritten
    }

    /// What the resolver is asked.
    /// - Throws: ``HTTPDNSClientError`` with code `invalidRequest`.
    func question(
        about host: Host,
        port: UInt16,
        options: RequestOptions
    ) throws(HTTPDNSClientError) -> ResolutionQuestion {
        var question = ResolutionQuestion(host, port: port)
        if let texts = options.pinnedTo { question.pinnedTo = try RequestCheck.endpoints(texts, port: port) }
        question.bypass = options.bypass || !isEnabled
        question.families = options.families
        return question
    }

    /// A host that stands alone: a name, or an address with or without brackets.
    /// - Throws: ``HTTPDNSClientError`` with code `invalidURL`.
    static func host(_ text: String) throws(HTTPDNSClientError) -> Host {
        if let address = IPAddress(text) { return .address(address) }
        if text.hasPrefix("["), text.hasSuffix("]"), let address = IPAddress(String(text.dropFirst().dropLast())) {
            return .address(address)
        }
        do {
            return .name(try HostName(text))
        } catch {
            throw HTTPDNSClientError(code: .invalidURL, stage: .request, message: "\(error)")
        }
    }

    /// Addresses for a question, without a wait where that is possible.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    func resolve(_ question: ResolutionQuestion, deadline: MonotonicTime?) async throws -> Resolution {
        do {
            if let resolution = try resolver.immediateResolution(for: question) { return resolution }
            var question = question
            if let deadline {
                let left = deadline - SystemTimeSource().now()
                guard left > .zero else {
                    throw HTTPDNSClientError.deadlinePassed(host: question.host, port: question.port)
                }
                question.timeLimit = left
            }
            return try await resolver.resolve(question)
        } catch let error as ResolutionError {
            throw HTTPDNSClientError(error)
        }
    }

    /// The request with the addresses of a tag that holds for it; nil when it must be rewritten anew.
    /// - Throws: ``HTTPDNSClientError`` with code `policyRefused` when another client's addresses do not pass the policy
    ///   of this one.
    private func accept(
        _ carried: RewrittenRequest,
        for request: ClientRequest,
        url: CanonicalURL
    ) throws(HTTPDNSClientError) -> RewrittenRequest? {
        let content = carried.content
        // The kill switch is stronger than a tag, and so is what the request asks for itself.
        guard isEnabled, let tag = carried.tag, content.url.host == url.host, content.url.port == url.port,
            content.pinnedTo == request.options.pinnedTo, content.bypass == request.options.bypass,
            content.families == request.options.families, tag.isValid
        else { return nil }
        var resolution = content.resolution
        if content.issuer !== issuer { try applyPolicy(to: &resolution, issuer: content.issuer, host: url.host) }
        return RewrittenRequest(
            content: RewrittenRequest.Content(
                request,
                url: url,
                resolution: resolution,
                issuer: content.issuer,
                tagExpiry: content.tagExpiry
            )
        )
    }

    /// Whether the policy lets an address through that an answer from the same source had.
    func permits(_ address: IPAddress, as resolution: Resolution) -> Bool {
        let scope = issuer.scope(ofProvider: resolution.provider)
        return policy.refusal(of: address, from: resolution.source, providerScope: scope, route: resolution.route)
            == nil
    }

    private func applyPolicy(
        to resolution: inout Resolution,
        issuer: TagIssuer,
        host: Host
    ) throws(HTTPDNSClientError) {
        let scope = issuer.scope(ofProvider: resolution.provider)
        let source = resolution.source
        var refusal: String?
        let allowed = resolution.endpoints.filter { endpoint in
            let reason = policy.refusal(of: endpoint.address, from: source, providerScope: scope)
            refusal = refusal ?? reason
            return reason == nil
        }
        guard let refusal else { return }
        resolution.endpoints = allowed
        guard allowed.isEmpty else { return }
        throw HTTPDNSClientError(
            code: .policyRefused,
            stage: .policy,
            message: "the addresses that another client gave for \(host) are refused: \(refusal)",
            host: host.description
        )
    }

    private func log(_ rewritten: RewrittenRequest) {
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
