// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes
internal import Logging

/// The credentials of a client's hops, see ``CallState``. A redirect has the credential of its own origin.
struct Authentication: Sendable {
    let egress: EgressSelector
    let time: any TimeSource
    let logger: Logger?
    /// Closed when a shutdown ends the calls that are left: none of them waits for a token or the file of a secret any more.
    let ending = CallGate()
    /// The record of answered challenges.
    private let memories = AuthenticationMemories()

    init(egress: EgressSelector, time: any TimeSource, logger: Logger?) {
        (self.egress, self.time, self.logger) = (egress, time, logger)
    }

    /// Returns the credential for a hop, and what it is for; nil when the hop needs none.
    /// - Throws: ``HTTPDNSClientError`` with code `invalidRequest` for a credential of the request that cannot be used, and
    ///   `authenticationFailed` for one that would be sent over `http`.
    func credential(
        for request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext,
        among credentials: [HTTPDNSClient.Origin: HTTPDNSClient.Credential]
    ) throws(HTTPDNSClientError) -> (HTTPDNSClient.Credential, AuthorizationTarget)? {
        // The request's own field and the user information of its URL win. The rewriter refuses an unreadable URL.
        guard request.own?.callOptions.stopsBeforeSending != true, !request.headerFields.contains(.authorization),
            let canonical = try? HTTPDNSRewriter.Canonicalizer.canonicalize(request.url),
            canonical.parsed.credential == nil
        else { return nil }
        let url = canonical.parsed
        let origin = HTTPDNSClient.Origin(url)
        let own = request.own?.callOptions.credential
        let isWithheld = own.map { context.frame?.withholds($0, from: origin) == true } ?? true
        guard let credential = isWithheld ? credentials[origin] : own, !credential.isOff else {
            return nil
        }
        if let fault = credential.fault {
            throw HTTPDNSClientError(
                code: .invalidRequest,
                phase: .request,
                message: "the credential of the request: \(fault.message)",
                hint: fault.hint
            )
        }
        try context.checkCleartext(request, to: url, by: try egress.choice(of: request, for: canonical))
        let target = AuthorizationTarget(
            origin: origin,
            server: origin.description,
            host: url.hostText,
            method: request.method,
            text: url.target,
            path: String(url.target.prefix { $0 != "?" }),
            ending: ending
        )
        return (credential, target)
    }

    /// Returns the use of a credential for the requests of a hop.
    func makeRun(
        _ credential: HTTPDNSClient.Credential,
        _ target: AuthorizationTarget,
        _ request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext
    ) -> (any AuthorizationRun)? {
        switch credential.content {
        case .off: return nil
        case .basic(let login, let isPreemptive):
            let memory = memories.memory(of: credential, at: target.server)
            return BasicRun(login, isPreemptive: isPreemptive, memory: memory, target: target)
        case .digest(let login):
            let memory = memories.memory(of: credential, at: target.server)
            return DigestRun(login, memory: memory, target: target, isBodyReadable: request.body.isReadableBefore) {
                function,
                deadline in
                try await Self.bodyHash(of: request, function, until: deadline, context)
            }
        case .bearer(let tokens): return BearerRun(tokens, target: target, time: time)
        case .fixedToken(let secret): return FixedTokenRun(secret, target: target)
        }
    }

    /// Returns the use of a Digest credential for a hop that a proxy forwards; nil for all other hops.
    func forwardingRun(
        _ request: HTTPDNSClient.Request,
        _ fixed: FixedHop,
        _ attempt: EgressAttempt,
        _ context: HTTPDNSClient.InterceptionContext
    ) -> DigestRun? {
        guard DigestHash.isAvailable, let proxy = fixed.egressChoice.proxy, proxy.kind.isHTTP,
            let credential = proxy.credential, credential.scheme == .digest, let password = credential.password,
            let egressProxy = attempt.egressPath?.proxy
        else { return nil }
        let sent = fixed.rewritten.content.sent
        let versions = context.options(of: request).shared.versions
        guard !egressProxy.tunnels(sent.scheme, versions) else { return nil }
        let target = AuthorizationTarget(
            origin: HTTPDNSClient.Origin(sent),
            server: "the proxy \(proxy)",
            host: sent.hostText,
            method: request.method,
            // The target of a forwarded request is its URL (RFC 9112 section 3.2.2).
            text: sent.description,
            path: sent.target,
            ending: ending,
            isProxy: true
        )
        let own = HTTPDNSClient.Credential.digest(user: credential.user, password: password)
        let login = HTTPDNSClient.Credential.Login(
            user: credential.user,
            password: password
        )
        return DigestRun(
            login,
            memory: memories.memory(of: own, at: target.server),
            target: target,
            isBodyReadable: request.body.isReadableBefore
        ) { function, deadline in
            try await Self.bodyHash(of: request, function, until: deadline, context)
        }
    }

    /// Returns the hash of a request body as it is sent; nil for a body that can be read once only, and for a file that
    /// is compressed while it is sent.
    private static func bodyHash(
        of request: HTTPDNSClient.Request,
        _ function: DigestHash.Function,
        until deadline: MonotonicTime?,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> String? {
        guard request.body.isReadableBefore else { return nil }
        var hash = DigestHash(function)
        let source: RequestBodySource
        do {
            source = try await request.body.opened(until: deadline, keeping: context.compressed)
        } catch let error as HTTPDNSClientError where error.isCallDeadline {
            // The hop itself fails with the error of the deadline.
            return nil
        }
        switch source {
        case .none: break
        case .bytes(let bytes): hash.update(bytes)
        case .stream(_, let chunks):
            guard let pieces = chunks as? OpenPieces else { return nil }
            for try await piece in pieces { hash.update(piece) }
        }
        return hash.finish()
    }

    /// Logs that a credential was not used, because no challenge of a response can be answered.
    func logRefusal(_ reason: String?, by server: String) {
        guard let reason else { return }
        logger?.notice("challenges not answered", metadata: ["server": "\(server)", "reason": "\(reason)"])
    }

    func logAnswer(_ credential: HTTPDNSClient.Credential, _ target: AuthorizationTarget) {
        guard let logger, logger.logLevel <= .debug else { return }
        logger.debug(
            "challenge answered",
            metadata: ["origin": "\(target.server)", "scheme": "\(credential)", "host": "\(target.host)"]
        )
    }
}

extension HTTPDNSClient.InterceptionContext {
    /// Checks that a credential of the client may be sent to a URL, see ``HTTPDNSClient/Options/allowsCleartextCredentials``.
    /// - Throws: ``HTTPDNSClientError`` with code `authenticationFailed`.
    func checkCleartext(
        _ request: HTTPDNSClient.Request,
        to url: ParsedURL,
        by choice: EgressChoice
    ) throws(HTTPDNSClientError) {
        guard url.scheme == .http, !options(of: request).shared.allowsCleartextCredentials else {
            return
        }
        switch choice {
        case .unixSocket: return
        case .direct where url.host.scope == .loopback && request.options.addresses.targets == nil: return
        case .direct, .proxy: break
        }
        throw HTTPDNSClientError(
            code: .authenticationFailed,
            phase: .authentication,
            message: "cannot send a credential to \(HTTPDNSClient.Origin(url)): the connection is not encrypted",
            host: url.hostText,
            hint: "use https; or set allowsCleartextCredentials of the options (client.allows_cleartext_credentials)"
        )
    }
}
