// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPTypes

// A part of the egress step: hops that a proxy forwards, which have no tunnel. libcurl itself answers the challenges to
// tunnels, and sends Basic credentials.
extension Pipeline {
    /// The most requests to a proxy: without a credential, with an answer, and with an answer to a stale nonce.
    private static let maximumProxyRequests = 3

    /// The field in which a proxy proves itself (RFC 9110 section 11.7.3).
    private static let proxyAuthenticationInfo = HTTPField.Name("Proxy-Authentication-Info")

    /// Sends one attempt, and answers the Digest challenges of a proxy that forwards it.
    /// - Returns: Nil for a hop whose settings were replaced before it was sent.
    /// - Throws: ``TransferFailure``, ``HTTPDNSClientError``, `CancellationError`.
    func send(
        _ request: HTTPDNSClient.Request,
        _ fixed: FixedHop,
        by attempt: EgressAttempt,
        _ context: HTTPDNSClient.InterceptionContext,
        _ hop: HopRecord
    ) async throws -> HopAnswer? {
        var run = forwardingRun(request, fixed, attempt, context)
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
            let fields = answer.head.headerFields
            guard answer.head.status.code == 407 else {
                let name = Pipeline.proxyAuthenticationInfo
                if let name { try run?.accept(AuthenticationChallenge.information(in: fields, name)) }
                return answer
            }
            let challenges = AuthenticationChallenge.all(in: fields, .proxyAuthenticate)
            let mayRepeat = requests < Pipeline.maximumProxyRequests && !request.body.isSpent
            guard try await run?.learn(from: challenges, mayRepeat: mayRepeat) == true else {
                logRefusal(run?.refusal(of: challenges), by: "the proxy")
                return answer
            }
            context.noteSent()
            let length = BodyLength(declaredBy: answer.head, to: request.method, decodes: fixed.isDecoded)
            try await HTTPDNSClient.Response.Body(answer.body, of: hop, length: length).drain()
            context.call.nextHop(after: request)
        }
    }

    /// Returns the use of a Digest credential for a hop that a proxy forwards; nil for all other hops.
    private func forwardingRun(
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
        let versions = context.options(of: request).settings.options.shared.versions
        guard !egressProxy.tunnels(sent.scheme, versions) else { return nil }
        let target = AuthorizationTarget(
            origin: HTTPDNSClient.Origin(sent),
            server: "the proxy \(proxy)",
            host: sent.hostText,
            method: request.method,
            // The target of a forwarded request is its URL (RFC 9112 section 3.2.2).
            text: sent.description,
            path: sent.target,
            isProxy: true
        )
        let own = HTTPDNSClient.Credential.digest(user: credential.user, password: password)
        let login = HTTPDNSClient.Credential.Login(
            user: credential.user,
            password: HTTPDNSClient.Credential.Secret(password)
        )
        return DigestRun(
            login,
            memory: memories.memory(of: own, at: target.server),
            target: target,
            isBodyReadable: request.body.isReadableBefore
        ) { [self] function, deadline in
            try await bodyHash(of: request, function, until: deadline, context)
        }
    }
}
