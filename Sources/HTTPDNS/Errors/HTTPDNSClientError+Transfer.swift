// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

extension HTTPDNSClientError {
    /// Creates the error of a failed transfer.
    init(_ failure: TransferFailure, on hop: HopRecord) {
        let phase = Phase(failure)
        // The transport counts from its own start; the caller counts from the start of the call.
        let isTotal = failure.code == .timedOut && (failure.phase == .total || failure.phase == .head)
        let own = failure.phase == .head ? hop.time.headLimit : hop.time.limit
        let limit = isTotal ? own ?? failure.limit : failure.limit
        let missing = failure.phase == .head && phase == .firstByte ? "no response head" : phase.unfinished
        let text =
            if isTotal, let limit {
                "\(missing) within the call's limit of \(limit.shortText)"
            } else {
                failure.message
            }
        var attempts = failure.attempts.map { attempt in
            var attempt = Attempt(attempt)
            // The transport knows the rest of the call's time alone.
            if isTotal, attempt.phase == .total { (attempt.phase, attempt.failure) = (phase, text) }
            return attempt
        }
        var reason = text
        if let endpoint = failure.endpoint {
            let decisive = Attempt(endpoint: endpoint, phase: phase, failure: text, elapsed: failure.elapsed)
            if attempts.isEmpty { attempts = [decisive] }
            // The failure counts from the start of all attempts, and each attempt from its own start.
            reason = (isTotal ? nil : attempts.last { $0.endpoint == endpoint })?.description ?? decisive.description
            reason += HTTPDNSClientError.listing(attempts, besides: endpoint)
        }
        let through = failure.proxy.map { " through \($0)" } ?? ""
        self.init(
            code: Code(failure),
            phase: phase,
            message: "the request to \(hop.origin)\(through) failed: \(reason)",
            host: hop.host,
            hint: HTTPDNSClientError.hint(for: failure)
        )
        if let cause = failure.cause { message += ": \(cause.text.onOneLine(limit: 200))" }
        proxy = failure.proxy
        trail = AttemptTrail(attempts)
        requestMayHaveBeenSent = failure.requestMayHaveBeenSent
        elapsed = hop.time.elapsed
        if failure.code == .timedOut { self.limit = limit }
        isCallDeadline = isTotal
        // An error that the caller's own code threw is the one that the caller needs.
        underlying = failure.cause?.error ?? failure
    }

    /// The number of addresses that a text lists. More would fill a log line; ``attempts`` has them all.
    private static let addressesListed = 8

    /// Returns the failed addresses besides the one that the text is about.
    private static func listing(_ attempts: [Attempt], besides endpoint: HTTPDNSEndpoint) -> String {
        var others: [HTTPDNSEndpoint] = []
        for attempt in attempts where attempt.endpoint != endpoint && !others.contains(attempt.endpoint) {
            others.append(attempt.endpoint)
        }
        guard !others.isEmpty else { return "" }
        let listed = others.prefix(addressesListed).map(\.description).joined(separator: ", ")
        let more = others.count > addressesListed ? " and \(others.count - addressesListed) more" : ""
        return "; failed too: \(listed)\(more)"
    }

    /// Returns the error for the reader of a body.
    static func bodyError(_ error: any Error, on hop: HopRecord?) -> any Error {
        switch error {
        case let failure as TransferFailure:
            guard let hop else { return HTTPDNSClientError(answeredInProcess: failure) }
            var error = HTTPDNSClientError(failure, on: hop)
            // The response head has arrived, whatever the transfer reports.
            error.requestMayHaveBeenSent = true
            return error
        case is HTTPDNSClientError, is CancellationError:
            return error
        default:
            return HTTPDNSClientError(interceptorError: error)
        }
    }

    /// Creates the error of a body that was made in this process, and that cannot be decoded.
    private init(answeredInProcess failure: TransferFailure) {
        self.init(
            code: Code(failure),
            phase: Phase(failure),
            message: "the body of a response without a server failed: \(failure.message)",
            hint: HTTPDNSClientError.hint(for: failure),
            mayHaveBeenSent: false,
            underlying: failure
        )
    }

    static let readOnceHint = "a body can be read once; keep its bytes if they are needed again"

    /// CURLE_SSL_PINNEDPUBKEYNOTMATCH.
    private static let publicKeyMismatch: Int32 = 90

    private static func hint(for failure: TransferFailure) -> String? {
        switch failure.code {
        case .proxyUnreachable: "check client.proxy and its port; a proxy's certificate must end at the client's roots"
        case .proxyRefused:
            "the proxy's own rules and log tell why; many allow CONNECT to port 443 only, and some to names only"
        case .proxyLoginRefused: "give the proxy's credential, or another one"
        case .localSourceUnusable: "ip address shows the interfaces and addresses of this machine"
        case .connectFailed, .wrongPeer:
            "check that the address serves this port: resolve-test explain shows its source"
        case .certificateRefused where failure.curlCode == publicKeyMismatch:
            "if the server's key was changed on purpose, add the new key's pin to trust.pins; if not, somebody else answers"
        case .certificateRefused: certificateHint(failure.message)
        case .tlsFailed
        where failure.message.contains("handshake failure") || failure.message.contains("protocol version"):
            negotiationHint
        case .tlsFailed where failure.requestMayHaveBeenSent: "the server's log has its reason"
        case .tlsFailed: "check that the port speaks TLS"
        case .clientCertificateRefused:
            "the server's log has its reason; trust.clientCertificate must be valid and issued by an authority that it accepts"
        case .timedOut: timeoutHint(failure.phase)
        case .connectionLost:
            failure.requestMayHaveBeenSent ? "send it again only if doing it twice does no harm" : "send it again"
        case .responseTooLarge: "set a higher maximumResponseBody if the server is trusted with that much"
        case .bodyConsumedTwice: readOnceHint
        case .limitReached: "wait for answers before sending more, or raise maximumRequestsInFlight"
        case .trustUnsupported: TLSBackend.hint
        case .clientCertificateUnusable: "trust.clientCertificate wants PEM files that belong together"
        case .tlsSettingsRefused: unknownAlgorithmsHint
        case .shutDown: shutDownHint
        // A transfer coding, which no option removes.
        case .undecodable where failure.phase == .firstByte: nil
        case .undecodable: "options.decodesBody = false asks for no content coding, and gives the body as it is sent"
        case .requestBodyFailed: "the stream that feeds the body must end well, with the length that was declared"
        case .trustRootsMissing, .invalidRequest, .lookupDenied, .protocolViolation, .connectOnly, .transport: nil
        }
    }

    /// The hint for cipher suites and curves that the TLS library does not have.
    static let unknownAlgorithmsHint =
        "openssl ciphers -s and openssl list -key-exchange-algorithms show what OpenSSL has; leave the others out of "
        + "trust.ciphers, ciphersTLS13 and curves"

    /// The hint for the alerts handshake_failure and protocol_version (RFC 8446 section 6.2).
    private static let negotiationHint =
        "server and client have no TLS version, cipher suite or curve in common: see trust.minimumVersion, "
        + "maximumVersion, ciphers, ciphersTLS13 and curves"

    /// The hint for a chain that does not end at a trusted authority.
    package static let missingAuthorityHint = "if the server is the right one, name its authority in trust.roots"

    /// Returns a hint for OpenSSL's text of the cause (X509_verify_cert_error_string(3)), or for the transport's own
    /// text about another name.
    private static func certificateHint(_ message: String) -> String {
        if message.contains("expired") { return "the server has to renew it; or the clock of this machine is wrong" }
        if message.contains("not yet valid") { return "the clock of this machine is wrong, or the server's was" }
        if message.contains("unable to get") || message.contains("self-signed") || message.contains("self signed") {
            return missingAuthorityHint
        }
        return "the address belongs to another server: resolve-test explain shows its source"
    }

    private static func timeoutHint(_ phase: TransferFailure.Phase) -> String {
        switch phase {
        case .connect: "timeouts.connect bounds it"
        case .tls: "timeouts.tls bounds it"
        case .firstByte: "timeouts.firstByte bounds it"
        case .send, .body: "timeouts.idle bounds it"
        case .head:
            "timeouts.responseHead bounds it, for one call or for all"
        case .queue, .total: "timeouts.total bounds it, for one call or for all"
        }
    }
}

extension HTTPDNSClientError.Attempt {
    init(_ attempt: TransferAttempt) {
        var failure = TransferFailure(code: attempt.code, phase: attempt.phase, message: attempt.message)
        failure.endpoint = attempt.endpoint
        self.init(
            endpoint: attempt.endpoint,
            phase: HTTPDNSClientError.Phase(failure),
            failure: attempt.message,
            elapsed: attempt.elapsed
        )
    }
}

extension HTTPDNSClientError.Code {
    fileprivate init(_ failure: TransferFailure) {
        switch failure.code {
        case .invalidRequest: self = .invalidRequest
        case .trustRootsMissing, .trustUnsupported, .clientCertificateUnusable, .tlsSettingsRefused:
            self = .configuration
        case .limitReached: self = .limitReached
        case .connectFailed, .tlsFailed, .clientCertificateRefused, .wrongPeer, .lookupDenied: self = .connectFailed
        case .proxyUnreachable: self = .proxyUnreachable
        case .proxyRefused: self = .proxyRefused
        case .proxyLoginRefused: self = .proxyLoginRefused
        case .localSourceUnusable: self = .localSourceUnusable
        case .certificateRefused: self = .certificateRefused
        case .timedOut: self = .timedOut
        case .connectionLost: self = .connectionLost
        case .protocolViolation: self = .protocolViolation
        case .responseTooLarge: self = .responseTooLarge
        case .undecodable: self = .decodingFailed
        case .requestBodyFailed: self = .requestBodyFailed
        case .bodyConsumedTwice: self = .bodyConsumedTwice
        case .shutDown: self = .shutDown
        case .connectOnly, .transport: self = .transportFailed
        }
    }
}

extension HTTPDNSClientError.Phase {
    /// The result that a time limit in this phase prevents.
    fileprivate var unfinished: String {
        switch self {
        case .connect: "no connection"
        case .tls: "the TLS handshake was not done"
        case .send: "the request was not sent"
        case .body: "the response was not complete"
        default: "no response"
        }
    }

    fileprivate init(_ failure: TransferFailure) {
        switch failure.code {
        case .invalidRequest: self = .request
        case .trustRootsMissing, .trustUnsupported, .clientCertificateUnusable, .tlsSettingsRefused:
            self = .configuration
        default:
            switch failure.reached ?? failure.phase {
            case .queue: self = .queue
            case .connect: self = .connect
            case .tls: self = .tls
            case .send: self = .send
            case .firstByte: self = .firstByte
            case .body: self = .body
            case .head, .total: self = .total
            }
        }
    }
}

extension HTTPDNSClientError {
    static func notKept(_ url: String) -> HTTPDNSClientError {
        let text = URLText.forErrors(url)
        return HTTPDNSClientError(
            code: .transportFailed,
            phase: .connect,
            message: "the connection to \(text) could not be kept"
        )
    }

    /// The endpoint of a connection that was made, and on which no request was sent as wanted; nil for failures.
    var endpointOfConnection: HTTPDNSEndpoint? {
        guard let failure = underlying as? TransferFailure, failure.code == .connectOnly else { return nil }
        return failure.endpoint
    }
}
