// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

/// One attempt to send a hop through its egress path.
struct EgressAttempt {
    var egressPath: EgressPath?
    var endpoints: [HTTPDNSEndpoint]
    /// The address of the proxy, if it is one of several that are tried in turn.
    var proxyEndpoint: HTTPDNSEndpoint?
}

// This step is for hops through proxies and to Unix sockets. A hop of a client and a request without either does not
// pass it, see ``EgressSelector/isDirect(_:)``.
extension Pipeline {
    /// Returns the rewritten hop if its host is not resolved here; otherwise nil. A proxy may resolve the name itself,
    /// and a Unix socket needs no address. Callers need not ask for a request that is direct.
    /// - Throws: ``HTTPDNSClientError``.
    func unresolved(_ request: HTTPDNSClient.Request) throws(HTTPDNSClientError) -> HTTPDNSRewriter.RewrittenRequest? {
        let url = try HTTPDNSRewriter.Canonicalizer.canonicalize(request.url)
        switch try egress.choice(of: request, for: url) {
        case .direct: return nil
        case .unixSocket: return try rewriter.unresolved(request, url, as: .unixSocket)
        case .proxy(let proxy):
            guard proxy.isTold(url.host, request.options), case .name(let name) = url.host, !name.isLocalhost else {
                // An address, and localhost, are checked by the policy as they are without a proxy.
                return nil
            }
            return try rewriter.unresolved(request, url, as: .proxy)
        }
    }

    /// Returns the attempts to make in turn while the proxy refuses connections; at least one.
    /// - Parameter endpoints: The endpoints of the hop's host.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    func egressAttempts(
        of request: HTTPDNSClient.Request,
        to rewritten: HTTPDNSRewriter.RewrittenRequest,
        _ endpoints: [HTTPDNSEndpoint],
        by egressChoice: EgressChoice,
        deadline: MonotonicTime?
    ) async throws -> [EgressAttempt] {
        let source = egress.source
        switch egressChoice {
        case .direct:
            // The send step sends direct hops itself.
            return []
        case .unixSocket(let path):
            return [
                EgressAttempt(
                    egressPath: EgressPath(unixSocket: path, source: source),
                    endpoints: [HTTPDNSEndpoint.ofUnixSockets]
                )
            ]
        case .proxy(let proxy):
            let own = egress.ordered(try await endpointsOf(proxy, deadline: deadline), of: proxy)
            var hop = EgressProxy(
                kind: proxy.kind,
                host: proxy.transportHost,
                port: proxy.port,
                addresses: Set(own.map(\.address)),
                login: try await proxy.login(until: deadline, orClosing: authentication.ending),
                trust: proxyTrust
            )
            if proxy.isTold(rewritten.content.url.host, request.options) {
                guard proxy.kind == .https else {
                    return [EgressAttempt(egressPath: EgressPath(proxy: hop, source: source), endpoints: own)]
                }
                // Its addresses cannot race (libcurl quirk "One name for an HTTPS proxy").
                let egressPath = EgressPath(proxy: hop, source: source)
                return own.map { EgressAttempt(egressPath: egressPath, endpoints: [$0], proxyEndpoint: $0) }
            }
            let targets = try proxy.reachable(endpoints, rewritten)
            return own.map { endpoint in
                hop.endpoint = endpoint
                let egressPath = EgressPath(proxy: hop, source: source)
                return EgressAttempt(egressPath: egressPath, endpoints: targets, proxyEndpoint: endpoint)
            }
        }
    }

    /// Returns the addresses of a proxy, from a mapping or the system resolver.
    private func endpointsOf(_ proxy: HTTPDNSClient.Proxy, deadline: MonotonicTime?) async throws -> [HTTPDNSEndpoint] {
        switch proxy.host {
        case .address(let address):
            if let denial = rewriter.resolver.policy.denial(of: address) {
                throw HTTPDNSClientError.deniedProxy(proxy, denial)
            }
            return [HTTPDNSEndpoint(address: address, port: proxy.port)]
        case .name(let name): return try await endpointsOf(proxy, name, deadline: deadline)
        }
    }

    private func endpointsOf(_ proxy: HTTPDNSClient.Proxy, _ name: HTTPDNSName, deadline: MonotonicTime?) async throws
        -> [HTTPDNSEndpoint]
    {
        do {
            return try await rewriter.resolve(question(about: name, of: proxy), deadline: deadline).endpoints
        } catch let error as HTTPDNSClientError {
            var error = error
            if error.code == .resolveFailed { error.code = .proxyUnreachable }
            error.proxy = proxy.description
            error.message = "the proxy \(proxy) has no address: \(error.message)"
            throw error
        }
    }

    /// Returns the query for the name of a proxy, which is never sent to providers. A mapping for it applies if it has
    /// addresses or leads to another name.
    private func question(about name: HTTPDNSName, of proxy: HTTPDNSClient.Proxy) -> HTTPDNSResolver.Query {
        let mappings = rewriter.resolver.mappings.current
        var end = name
        // Mappings contain no cycles.
        while case .via(let next, _) = mappings.rule(for: end, port: proxy.port)?.mapping.action { end = next }
        if case .addresses = mappings.rule(for: end, port: proxy.port)?.mapping.action {
            return HTTPDNSResolver.Query(proxy.host, port: proxy.port)
        }
        var question = HTTPDNSResolver.Query(.name(end), port: proxy.port)
        question.usesSystemResolver = true
        return question
    }

    /// Sends a hop through a proxy or to a Unix socket. When there are several attempts for its proxy, the first one
    /// that connects is used.
    /// - Returns: Nil for a hop whose settings were replaced before it was sent.
    /// - Throws: ``TransferFailure``, ``HTTPDNSClientError``, `CancellationError`.
    func sendThroughEgress(
        _ request: HTTPDNSClient.Request,
        _ fixed: FixedHop,
        _ context: HTTPDNSClient.InterceptionContext,
        _ hop: HopRecord
    ) async throws -> HopAnswer? {
        let egressChoice = fixed.egressChoice
        var egressAttempts = try await egressAttempts(
            of: request,
            to: fixed.rewritten,
            fixed.endpoints,
            by: egressChoice,
            deadline: context.call.firstDeadline
        )[...]
        let first = egressAttempts.first?.proxyEndpoint
        while let attempt = egressAttempts.popFirst() {
            do {
                guard let answer = try await send(request, fixed, by: attempt, context, hop) else { return nil }
                context.noteSent()
                if let proxy = egressChoice.proxy {
                    if let endpoint = attempt.proxyEndpoint { egress.prefer(endpoint, of: proxy) }
                    try refuseLogin(answer, from: proxy, hop, attempt)
                }
                return answer
            } catch let failure as TransferFailure {
                guard let proxy = egressChoice.proxy, failure.isWorthAnotherAddress(of: proxy) else { throw failure }
                if let next = egressAttempts.first?.proxyEndpoint ?? first { egress.prefer(next, of: proxy) }
                let isOver = context.call.firstDeadline.map { SystemTimeSource().now() >= $0 } ?? false
                guard failure.phase != .total, failure.phase != .head, !isOver, !egressAttempts.isEmpty else {
                    throw failure
                }
            }
        }
        // A resolution without addresses is an error of its own.
        throw HTTPDNSClientError(code: .proxyUnreachable, phase: .resolve, message: "the proxy has no address")
    }

    /// The most requests to a proxy: without a credential, with an answer, and with an answer to a stale nonce.
    private static let maximumProxyRequests = 3

    /// Sends one attempt, and answers the Digest challenges of a proxy that forwards it without a tunnel. libcurl itself answers the
    /// challenges to tunnels, and sends Basic credentials.
    /// - Returns: Nil for a hop whose settings were replaced before it was sent.
    /// - Throws: ``TransferFailure``, ``HTTPDNSClientError``, `CancellationError`.
    private func send(
        _ request: HTTPDNSClient.Request,
        _ fixed: FixedHop,
        by attempt: EgressAttempt,
        _ context: HTTPDNSClient.InterceptionContext,
        _ hop: HopRecord
    ) async throws -> HopAnswer? {
        var run = authentication.forwardingRun(request, fixed, attempt, context)
        var (context, requests) = (context, 0)
        while true {
            let body = try await opened(request, context, hop)
            var transfer = try transferRequest(
                request,
                fixed,
                to: attempt.endpoints,
                through: attempt.egressPath,
                context,
                body
            )
            let authorization = try await run?.authorization(until: context.call.firstDeadline)
            if let field = authorization?.nextField(.proxyAuthorization) {
                transfer.headerFields.append(field)
                // A hedge is a copy, and a copy would repeat the count of the nonce.
                transfer.hedgeAfter = nil
            }
            guard let answer = try await sender.send(transfer, unless: { isStale(context) }) else { return nil }
            guard run != nil else { return answer }
            requests += 1
            let fields = answer.facts.head.headerFields
            guard answer.facts.head.status.code == 407 else {
                try run?.accept(
                    AuthenticationChallenge.information(in: fields, AuthenticationChallenge.proxyInformation)
                )
                return answer
            }
            let challenges = AuthenticationChallenge.all(in: fields, .proxyAuthenticate)
            let mayRepeat = requests < Pipeline.maximumProxyRequests && !request.body.isSpent
            guard try await run?.learn(from: challenges, mayRepeat: mayRepeat) == true else {
                authentication.logRefusal(run?.refusal(of: challenges), by: "the proxy")
                return answer
            }
            context.noteSent()
            let length = BodyLength(declaredBy: answer.facts.head, to: request.method, decodes: fixed.isDecoded)
            try await HTTPDNSClient.Response.Body(answer.body, of: hop, length: length).drain()
            context.call.restartHeadTime(after: request)
        }
    }

    /// Refuses a 407 response of a proxy that forwards requests in clear text: it is the proxy's own response (RFC 9110
    /// section 15.5.8).
    /// - Throws: ``HTTPDNSClientError`` with code `proxyLoginRefused`.
    func refuseLogin(_ answer: HopAnswer, from proxy: HTTPDNSClient.Proxy, _ hop: HopRecord, _ sent: EgressAttempt)
        throws
    {
        guard answer.facts.head.status.code == 407, let egressProxy = sent.egressPath?.proxy, proxy.kind.isHTTP,
            !egressProxy.tunnels(
                hop.rewritten.content.sent.scheme,
                answer.facts.version == .http2 ? .http2Only : .automatic
            )
        else { return }
        let reason =
            switch proxy.credential?.scheme {
            case nil: "the proxy wants a login (407)"
            case .digest? where !DigestHash.isAvailable:
                "this build answers Digest challenges of proxies in tunnels only (407); build it with the trait Digest"
            default: "the proxy refused the login (407)"
            }
        var failure = TransferFailure(code: .proxyLoginRefused, phase: .firstByte, message: reason)
        failure.endpoint = answer.facts.endpoint
        failure.proxy = proxy.description
        // The proxy has the request, and the client cannot know whether it was forwarded.
        failure.requestMayHaveBeenSent = true
        throw HTTPDNSClientError(failure, on: hop)
    }
}

extension HTTPDNSEndpoint {
    /// The endpoint of connections to Unix sockets, which have no address: the unspecified one.
    static let ofUnixSockets = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 0, 0, 0, 0), port: 0)
}

extension TransferFailure {
    /// Whether connecting to an address of the proxy failed, or took too long, and nothing was sent.
    fileprivate func isWorthAnotherAddress(of proxy: HTTPDNSClient.Proxy) -> Bool {
        guard !requestMayHaveBeenSent else { return false }
        guard code == .timedOut else { return code == .proxyUnreachable }
        switch reached ?? phase {
        case .connect: return true
        // Behind other proxies this is the TLS handshake with the origin, through the tunnel.
        case .tls: return proxy.kind == .https
        default: return false
        }
    }
}

extension HTTPDNSClient.Proxy {
    /// Whether the proxy receives the host as the URL has it.
    fileprivate func isTold(_ host: HTTPDNSHost, _ options: HTTPDNSClient.Request.Options) -> Bool {
        !takesAddresses && options.addresses.targets == nil
    }

    fileprivate var transportHost: ParsedURL.Host {
        switch host {
        case .name(let name): .name(name.description)
        case .address(let address): .address(address)
        }
    }

    /// Returns the endpoints that the proxy's protocol supports.
    fileprivate func reachable(
        _ endpoints: [HTTPDNSEndpoint],
        _ rewritten: HTTPDNSRewriter.RewrittenRequest
    ) throws(HTTPDNSClientError) -> [HTTPDNSEndpoint] {
        guard kind == .socks4 || kind == .socks4a else { return endpoints }
        let reachable = endpoints.filter { $0.address.family == .v4 }
        guard reachable.isEmpty else { return reachable }
        let host = rewritten.content.url.host.description
        var error = HTTPDNSClientError(
            code: .proxyRefused,
            phase: .resolve,
            message: "\(host) has IPv6 addresses only, and SOCKS 4 of the proxy \(self) knows none",
            host: host,
            hint: "use socks5 if the proxy speaks it"
        )
        error.proxy = description
        throw error
    }

    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    fileprivate func login(until deadline: MonotonicTime?, orClosing gate: CallGate) async throws -> ProxyLogin? {
        guard let credential else { return nil }
        do {
            return ProxyLogin(
                user: credential.user,
                password: try await credential.password?.current(until: deadline, orClosing: gate) ?? "",
                scheme: credential.scheme == .digest ? .digest : .basic
            )
        } catch let error as SecretError {
            var failure: HTTPDNSClientError =
                error.isOverdue
                ? .overdue(error, of: nil) : .configuration("the password for the proxy \(self): \(error)")
            failure.proxy = description
            throw failure
        }
    }
}
