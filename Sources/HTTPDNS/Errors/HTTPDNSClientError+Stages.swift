internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

extension HTTPDNSClientError {
    /// Creates the error of a failed resolution.
    init(_ error: HTTPDNSResolver.Error) {
        let (code, stage): (Code, Stage) =
            switch error.code {
            case .policyRefused: (.policyRefused, .policy)
            case .timedOut: (.timedOut, .resolve)
            case .invalidName: (.invalidURL, .request)
            case .shutDown: (.shutDown, .resolve)
            default: (.resolveFailed, .resolve)
            }
        self.init(
            code: code,
            stage: stage,
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
            stage: .interceptor,
            message: "an interceptor threw \(type(of: error))",
            hint: "the error itself is in underlying"
        )
        underlying = error
    }

    /// Returns the error for a call whose deadline passed before anything could be sent.
    static func deadlinePassed(host: HTTPDNSHost, port: UInt16) -> HTTPDNSClientError {
        var error = HTTPDNSClientError(
            code: .timedOut,
            stage: .total,
            message: "the call's deadline passed before \(host) port \(port) was resolved",
            host: host.description,
            hint: HTTPDNSClientError.callTimeHint
        )
        error.isCallDeadline = true
        return error
    }

    static let callTimeHint = "options.deadline bounds one call, timeouts.responseHead and timeouts.total all of them"

    /// Returns the error for a call whose time ended while an interceptor or a hook ran.
    static func overdue(_ call: CallTime, mayHaveBeenSent: Bool) -> HTTPDNSClientError {
        var error = HTTPDNSClientError(
            code: .timedOut,
            stage: .interceptor,
            message:
                "the call did not end within \((call.limit ?? .zero).shortText): an interceptor or a hook was still at work",
            hint:
                "options.deadline bounds one call, timeouts.total all of them; both count what interceptors and hooks do"
        )
        (error.limit, error.isCallDeadline, error.requestMayHaveBeenSent) = (call.limit, true, mayHaveBeenSent)
        return error
    }

    /// - Parameter url: The URL of the innermost call.
    static func loop(depth: Int, url: String) -> HTTPDNSClientError {
        let host = (try? HTTPDNSRewriter.Canonicalizer.canonicalize(url))?.host.description
        return HTTPDNSClientError(
            code: .loop,
            stage: .interceptor,
            message:
                "interceptors of this client made calls through it \(depth) deep, and \(CallFrame.maximumDepth) is the limit"
                + (host.map { "; the innermost was to \($0)" } ?? ""),
            host: host,
            hint: "let the interceptor pass its own calls by, or make them through a client without it"
        )
    }

    /// Returns the error for files of trust settings that cannot be used.
    /// - Parameter origin: The file and line of the settings, if known.
    static func unusable(_ failure: TransferFailure, origin: TrustOrigin? = nil) -> HTTPDNSClientError {
        let isCertificate = failure.code == .clientCertificateUnusable
        return configuration(
            (origin?.prefix(failure.code) ?? "") + failure.message,
            hint: isCertificate
                ? "trust.clientCertificate wants PEM files of a certificate and the private key that belongs to it"
                : "trust.roots wants a PEM file; .system takes the machine's own authorities",
            underlying: failure
        )
    }

    static func tooManyTrustSettings(_ limit: Int) -> HTTPDNSClientError {
        HTTPDNSClientError(
            code: .limitReached,
            stage: .configuration,
            message: "the transport has \(limit) different trust settings in use, which is its limit",
            hint:
                "clients whose HTTPDNSTrust values are equal share one: give them the same files in the same order; or shut clients "
                + "down, or raise limits.trustSettings, each of which costs a thread"
        )
    }

    static var transportShutDown: HTTPDNSClientError {
        HTTPDNSClientError(
            code: .shutDown,
            stage: .configuration,
            message: "the transport is shut down",
            hint: "make a new HTTPDNSTransport; one that was shut down stays so"
        )
    }

    static let shutDownHint = "make a new client; one that was shut down stays so"

    static var shutDown: HTTPDNSClientError {
        HTTPDNSClientError(
            code: .shutDown,
            stage: .request,
            message: "the client is shut down",
            hint: shutDownHint
        )
    }

    static func configuration(_ message: String, hint: String? = nil, underlying: (any Error)? = nil)
        -> HTTPDNSClientError
    {
        var error = HTTPDNSClientError(code: .configuration, stage: .configuration, message: message, hint: hint)
        error.underlying = underlying
        return error
    }
}
