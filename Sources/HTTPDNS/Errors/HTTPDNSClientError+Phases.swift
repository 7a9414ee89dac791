// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

extension HTTPDNSClientError {
    /// Creates the error of a failed resolution.
    init(_ error: HTTPDNSResolver.Error) {
        let (code, phase): (Code, Phase) =
            switch error.code {
            case .policyRefused: (.policyRefused, .policy)
            case .timedOut: (.timedOut, .resolve)
            case .invalidName: (.invalidURL, .request)
            case .shutDown: (.shutDown, .resolve)
            default: (.resolveFailed, .resolve)
            }
        self.init(
            code: code,
            phase: phase,
            message: error.message,
            host: error.host,
            hint: error.hint ?? (code == .shutDown ? HTTPDNSClientError.shutDownHint : nil)
        )
        limit = error.limit
        underlying = error
    }

    /// Creates the error for an interceptor's own error. Its text is not repeated, because it may hold anything.
    init(interceptorError error: any Error) {
        self.init(
            code: .interceptorFailed,
            phase: .interceptor,
            message: "an interceptor threw \(type(of: error))",
            hint: "the error itself is in underlying",
            mayHaveBeenSent: false,
            underlying: error
        )
    }

    /// Returns the error for a call whose deadline passed before anything could be sent.
    static func deadlinePassed(host: HTTPDNSHost, port: UInt16) -> HTTPDNSClientError {
        callOverdue(
            .total,
            "the call's deadline passed before \(host) port \(port) was resolved",
            host: host.description
        )
    }

    /// Returns the error for a call whose time ended while an interceptor or a hook ran.
    static func overdue(_ call: CallTime, mayHaveBeenSent: Bool) -> HTTPDNSClientError {
        let isOver = call.deadline.map { SystemTimeSource().now() >= $0 } ?? false
        let limit = isOver ? call.limit : call.headLimit
        return callOverdue(
            .interceptor,
            "the call \(isOver ? "did not end" : "had no response head") within \((limit ?? .zero).shortText): "
                + "an interceptor or a hook was still at work",
            hint: "\(callTimeHint); they count what interceptors and hooks do",
            limit: limit,
            mayHaveBeenSent: mayHaveBeenSent
        )
    }

    /// Returns the error for a time limit of the settings in which nothing can happen.
    static func unusable(_ limit: Duration, timeout name: String) -> HTTPDNSClientError {
        .configuration(
            "timeouts.\(name) is \(limit.shortText), and nothing happens in that time",
            hint: "give a positive duration, or nil for no limit"
        )
    }

    /// Returns the error of a call whose time passed while a secret's file was read.
    static func overdue(_ error: SecretError, of host: String?) -> HTTPDNSClientError {
        callOverdue(
            .authentication,
            "the deadline passed: \(error)",
            host: host,
            hint: "look at the file system of the secret"
        )
    }

    /// - Parameter url: The URL of the innermost call.
    static func loop(depth: Int, url: String) -> HTTPDNSClientError {
        let host = (try? HTTPDNSRewriter.Canonicalizer.canonicalize(url))?.host.description
        return HTTPDNSClientError(
            code: .loop,
            phase: .interceptor,
            message:
                "interceptors of this client made calls through it \(depth) deep, and \(CallFrame.maximumDepth) is the limit"
                + (host.map { "; the innermost was to \($0)" } ?? ""),
            host: host,
            hint: "let the interceptor pass its own calls by, or make them through a client without it"
        )
    }

    /// Returns the error for trust settings that cannot be used, with their files.
    /// - Parameter origin: The file and line of the settings, if known.
    static func unusable(_ failure: TransferFailure, origin: TrustOrigin? = nil) -> HTTPDNSClientError {
        let hint =
            switch failure.code {
            case .clientCertificateUnusable:
                "trust.clientCertificate wants PEM files of a certificate and the private key that belongs to it"
            case .tlsSettingsRefused: unknownAlgorithmsHint
            default: "trust.roots wants a PEM file; .system takes the machine's own authorities"
            }
        return configuration((origin?.prefix(failure.code) ?? "") + failure.message, hint: hint, underlying: failure)
    }

    static func tooManyTrustSettings(_ limit: Int) -> HTTPDNSClientError {
        HTTPDNSClientError(
            code: .limitReached,
            phase: .configuration,
            message: "the transport has \(limit) different trust settings in use, which is its limit",
            hint:
                "clients whose HTTPDNSTrust values are equal share one: give them the same files in the same order; or shut clients "
                + "down, or raise limits.trustSettings, each of which costs a thread"
        )
    }

    static var transportShutDown: HTTPDNSClientError {
        HTTPDNSClientError(
            code: .shutDown,
            phase: .configuration,
            message: "the transport is shut down",
            hint: "make a new HTTPDNSLibcurlTransport; one that was shut down stays so"
        )
    }

    static let shutDownHint = "make a new client; one that was shut down stays so"

    static var shutDown: HTTPDNSClientError {
        HTTPDNSClientError(
            code: .shutDown,
            phase: .request,
            message: "the client is shut down",
            hint: shutDownHint
        )
    }

    static func configuration(_ message: String, hint: String? = nil, underlying: (any Error)? = nil)
        -> HTTPDNSClientError
    {
        HTTPDNSClientError(
            code: .configuration,
            phase: .configuration,
            message: message,
            hint: hint,
            mayHaveBeenSent: false,
            underlying: underlying
        )
    }
}

extension HTTPDNSClientError {
    static func redirectRefused(
        _ base: ParsedURL,
        _ status: RedirectStatus,
        _ reason: String,
        hint: String? = nil
    ) -> HTTPDNSClientError {
        redirect(
            .redirectRefused,
            base,
            "the redirect (\(status.rawValue)) of \(base.authority) was not followed: \(reason)",
            hint: hint ?? "with options.redirects = .off the \(status.rawValue) is the response"
        )
    }

    /// Returns an error about the redirect of a response, whose request was sent.
    private static func redirect(_ code: Code, _ base: ParsedURL, _ message: String, hint: String)
        -> HTTPDNSClientError
    {
        HTTPDNSClientError(
            code: code,
            phase: .redirect,
            message: message,
            host: base.hostText,
            hint: hint,
            mayHaveBeenSent: true
        )
    }

    /// `Location` is not a list (RFC 9110 section 10.2.2): none of several values is the right one.
    static func differingLocations(_ base: ParsedURL, _ status: RedirectStatus) -> HTTPDNSClientError {
        redirect(
            .protocolViolation,
            base,
            "the redirect (\(status.rawValue)) of \(base.authority) has Location fields that differ",
            hint: "with options.redirects = .off the \(status.rawValue) is the response"
        )
    }

    static func tooManyRedirects(_ limit: Int, at base: ParsedURL) -> HTTPDNSClientError {
        redirect(
            .tooManyRedirects,
            base,
            "\(base.authority) redirects once more, after the \(limit) redirects that a call follows",
            hint:
                "options.redirects = .off shows where each leads; options.redirects and client.redirects.limit set the number"
        )
    }

    static func redirectLoop(at base: ParsedURL, to target: ParsedURL) -> HTTPDNSClientError {
        redirect(
            .redirectLoop,
            base,
            "\(base.authority) redirects to a request that this call has sent before, to \(target.authority)",
            hint: "the server may expect a cookie; set cookies (client.cookies), or add it in a redirectHook"
        )
    }

    /// Returns the error for a redirect to an internal address, by a name or address that only the server vouches for.
    static func redirectInside(_ address: HTTPDNSAddress, _ what: String, from scope: String, host: String)
        -> HTTPDNSClientError
    {
        HTTPDNSClientError(
            code: .policyRefused,
            phase: .policy,
            message:
                "a redirect to \(host) leads to \(address), which is \(what), and the server that redirects there is \(scope)",
            host: host,
            hint: "allow it with \(address) in policy.allow, or map the name"
        )
    }

    /// Creates the error for an error that the redirect hook threw.
    init(hookError error: any Error) {
        self.init(
            code: .interceptorFailed,
            phase: .redirect,
            message: "the redirect hook threw \(type(of: error))",
            hint: "the error itself is in underlying",
            mayHaveBeenSent: true,
            underlying: error
        )
    }
}

// Refusals by the client's policy; those of the resolver arrive as its errors.
extension HTTPDNSClientError {
    /// Returns the error for an answer of which the policy refuses every address.
    static func allRefused(_ what: String, of host: HTTPDNSHost, _ reason: String) -> HTTPDNSClientError {
        HTTPDNSClientError(
            code: .policyRefused,
            phase: .policy,
            message: "\(what) for \(host) are refused: \(reason)",
            host: host.description
        )
    }

    /// Returns the error for a proxy at an address that the policy denies.
    static func deniedProxy(_ proxy: HTTPDNSClient.Proxy, _ reason: String) -> HTTPDNSClientError {
        var error = HTTPDNSClientError(
            code: .policyRefused,
            phase: .policy,
            message: "the address of the proxy \(proxy) is refused: \(reason)"
        )
        error.proxy = proxy.description
        return error
    }

    /// Returns the error for a hop outside the networks that it may reach.
    /// - Parameter what: The destination of the hop.
    static func beyond(_ networks: HTTPDNSClient.ReachableNetworks, _ what: String, _ host: HTTPDNSHost)
        -> HTTPDNSClientError
    {
        HTTPDNSClientError(
            code: .policyRefused,
            phase: .policy,
            message: "the request to \(host) is refused: \(what), and reachable_networks is \(networks)",
            host: host.description,
            hint:
                "to allow it, set client.reachable_networks to any, and options.reachableNetworks of the request if it has one"
        )
    }

    /// Returns the error for a name that a proxy resolves, so that the client cannot know its address.
    static func beyond(
        _ networks: HTTPDNSClient.ReachableNetworks,
        _ host: HTTPDNSHost,
        throughResolving proxy: HTTPDNSClient.Proxy
    )
        -> HTTPDNSClientError
    {
        var error = beyond(networks, "the proxy \(proxy) looks the name up itself", host)
        error.hint =
            "let the client look it up (resolve: local, Proxy.resolvesLocally); or, for a proxy that refuses other networks "
            + "itself, set enforces_reachable_networks (Proxy.enforcesReachableNetworks)"
        error.proxy = proxy.description
        return error
    }
}

extension HTTPDNSClientError {
    /// Creates the error of a request that got no connection permit. Nothing of it was sent.
    /// - Parameter call: The times of the call.
    init(_ failure: AdmissionFailure, _ call: CallTime) {
        let place = "\(failure.origin.host):\(failure.origin.port)"
        let limits = failure.limits.queue
        let (code, text, hint): (Code, String, String?) =
            switch failure.reason {
            case .deadline:
                (
                    .timedOut, "waited \(failure.waited.shortText) for a connection until the call's deadline",
                    "\(HTTPDNSClientError.callTimeHint); \(HTTPDNSClientError.relief)"
                )
            case .waitedTooLong:
                (
                    .timedOut, "waited \(failure.waited.shortText) for a connection",
                    "connections.queueWait bounds it; \(HTTPDNSClientError.relief)"
                )
            case .full:
                (
                    .limitReached, "found the queue full",
                    "wait for answers before sending more, or raise connections.maximumQueued"
                )
            case .displaced:
                (
                    .limitReached, "had to leave the full queue for a more urgent one",
                    "wait for answers before sending more, or raise connections.maximumQueued"
                )
            case .shutDown:
                (.shutDown, "waited for a connection when the client was shut down", HTTPDNSClientError.shutDownHint)
            }
        let bounds = [
            limits.perHost < .max ? "\(limits.perHost) for a host" : nil,
            limits.total < .max ? "\(limits.total) in all" : nil,
        ].compactMap(\.self).joined(separator: " and ")
        let others = "\(failure.waitingForHost) others wait for this host, \(failure.waiting) in all"
        self.init(
            code: code,
            phase: .queue,
            message: "the request to \(place) \(text); connections are limited to \(bounds); \(others)",
            host: failure.origin.host.description,
            hint: hint
        )
        elapsed = call.elapsed
        switch failure.reason {
        case .deadline: (limit, isCallDeadline) = (call.firstLimit, true)
        case .waitedTooLong: limit = failure.limits.wait
        default: break
        }
    }

    private static let relief = "raise connections.maximumPerHost or connections.maximum if the server can take more"

    /// The error of a call that would block the thread that its own work needs.
    static var blockingRefused: HTTPDNSClientError {
        HTTPDNSClientError(
            code: .blockingRefused,
            phase: .request,
            message: "a blocking call on a thread that carries the client's own work would never end",
            hint: "in an interceptor of a blocking call use try await execute(_:)"
        )
    }
}
