// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes
internal import Logging

// This step is inside redirects and outside retries: each request of it passes the retries of its hop, and a redirect
// begins it again with the credential of its own origin.
extension Pipeline {
    /// The most requests of one hop: without a credential, with an answer, and with an answer to a stale nonce.
    private static let maximumRequests = 3

    /// The field in which a server proves itself (RFC 9110 section 11.6.3).
    private static let authenticationInfo = HTTPField.Name("Authentication-Info")

    /// Whether a call has a credential for its first hop. Nearly no call does: the others do not pass this step.
    func mayAuthenticate(_ request: borrowing HTTPDNSClient.Request) -> Bool {
        if let credential = request.own?.settings.options.credential { return !credential.isOff }
        guard hasCredentials else { return false }
        return hasCredential(for: request.url)
    }

    private func hasCredential(for url: String) -> Bool {
        // The rewriter refuses an unreadable URL.
        HTTPDNSClient.Origin(url).map { current.values.credentials[$0] != nil } ?? false
    }

    /// Sends a hop with the credential of its origin, if there is one.
    func sendAuthenticated(_ request: HTTPDNSClient.Request, _ context: HTTPDNSClient.InterceptionContext) async throws
        -> HTTPDNSClient.Response
    {
        guard mayAuthenticate(request), let (credential, target) = try credential(for: request, context),
            var run = run(credential, target, request, context)
        else { return try await sendAgain(request, context) }
        var (context, exchanges, requests) = (context, [HTTPDNSClient.Exchange](), 0)
        do {
            while true {
                context.authorization = try await run.authorization(until: context.call.firstDeadline)
                var response = try await sendAgain(request, context)
                // A network interceptor may have sent the request to another origin, or made the response itself.
                let isOwn = response.isFrom(target.origin, context)
                exchanges += response.exchanges
                response.exchanges = exchanges
                requests += 1
                guard isOwn else { return response }
                guard response.statusCode == 401 else {
                    try run.accept(information(in: response))
                    return response
                }
                let challenges = AuthenticationChallenge.all(in: response.headerFields, .wwwAuthenticate)
                let mayRepeat = requests < Pipeline.maximumRequests && !request.body.isSpent && !gate.isClosed
                guard try await run.learn(from: challenges, mayRepeat: mayRepeat) else {
                    logRefusal(run.refusal(of: challenges), by: target.server)
                    return response
                }
                logAnswer(credential, target)
                // Before the wait for a token: its closure may need the connection.
                try await response.body.drain()
                context.call.nextHop(after: request)
            }
        } catch var error as HTTPDNSClientError {
            // A request before this one had a response, whatever happened to the last one.
            if requests > 0 { error.requestMayHaveBeenSent = true }
            throw error
        }
    }

    /// Returns the credential for a hop, and what it is for; nil when the hop needs none.
    /// - Throws: ``HTTPDNSClientError`` with code `invalidRequest` for a credential of the request that cannot be used.
    private func credential(
        for request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext
    ) throws(HTTPDNSClientError) -> (HTTPDNSClient.Credential, AuthorizationTarget)? {
        // The request's own field and the user information of its URL win. The rewriter refuses an unreadable URL.
        guard request.own?.settings.options.stopsBeforeSending != true, !request.headerFields.contains(.authorization),
            let url = try? HTTPDNSRewriter.Canonicalizer.canonicalize(request.url).parsed, url.credential == nil
        else { return nil }
        let origin = HTTPDNSClient.Origin(url)
        let own = request.own?.settings.options.credential
        let isWithheld = own.map { context.frame?.withholds($0, from: origin) == true } ?? true
        guard let credential = isWithheld ? current.values.credentials[origin] : own, !credential.isOff else {
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
        let target = AuthorizationTarget(
            origin: origin,
            server: origin.description,
            host: url.hostText,
            method: request.method,
            text: url.target,
            path: String(url.target.prefix { $0 != "?" })
        )
        return (credential, target)
    }

    private func run(
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
                [self] function, deadline in
                try await bodyHash(of: request, function, until: deadline, context)
            }
        case .bearer(let tokens): return BearerRun(tokens, target: target, time: retrying.time)
        case .fixedToken(let secret): return FixedTokenRun(secret, target: target)
        }
    }

    /// Returns the hash of a request body as it is sent; nil for a body that can be read once only, and for a file that
    /// is compressed while it is sent.
    func bodyHash(
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
        } catch is BodyOverdue {
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

    private func information(in response: HTTPDNSClient.Response) -> [String: [UInt8]] {
        guard let name = Pipeline.authenticationInfo else { return [:] }
        return AuthenticationChallenge.information(in: response.headerFields, name)
    }

    /// Logs that a credential was not used, because no challenge of a response can be answered.
    func logRefusal(_ reason: String?, by server: String) {
        guard let reason else { return }
        logger?.notice("challenges not answered", metadata: ["server": "\(server)", "reason": "\(reason)"])
    }

    private func logAnswer(_ credential: HTTPDNSClient.Credential, _ target: AuthorizationTarget) {
        guard let logger, logger.logLevel <= .debug else { return }
        logger.debug(
            "challenge answered",
            metadata: ["origin": "\(target.server)", "scheme": "\(credential)", "host": "\(target.host)"]
        )
    }
}

extension HTTPDNSClient.Response {
    /// Whether a server of an origin sent the response, or a stub in its place.
    fileprivate func isFrom(_ origin: HTTPDNSClient.Origin, _ context: HTTPDNSClient.InterceptionContext) -> Bool {
        answeredURL(context).map { HTTPDNSClient.Origin($0) == origin } ?? false
    }
}
