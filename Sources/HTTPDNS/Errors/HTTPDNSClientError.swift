// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSPrimitives

/// The error of a failed call. It is the only error that public calls throw, besides `CancellationError`.
///
/// It prints as one line. It contains no secret, no header value and no pin name.
///
/// The codes, by what a program can do:
///
/// ```
/// the program is wrong: nothing was sent
/// ├─ configuration                        correct the settings or their files
/// ├─ invalidURL, invalidRequest           correct the request
/// ├─ blockingRefused, unmatchedRequest    call from another thread; add a stub
/// └─ shutDown                             make a new client
/// a rule of the program forbids it
/// ├─ policyRefused                        allow the address
/// ├─ redirectRefused, tooManyRedirects, redirectLoop, loop
/// ├─ unexpectedStatus, unexpectedType, checksumMismatch, responseTooLarge
/// └─ limitReached, offline                wait, or raise the limit; switch the cache
/// no connection to the server, which received nothing
/// ├─ resolveFailed                        the name
/// ├─ connectFailed, certificateRefused    the server
/// ├─ proxyUnreachable, proxyRefused, proxyLoginRefused
/// └─ localSourceUnusable                  this machine
/// the exchange broke: see requestMayHaveBeenSent
/// ├─ timedOut                             see phase, limit and isCallDeadline
/// ├─ connectionLost, transportFailed
/// ├─ protocolViolation, decodingFailed    the response
/// └─ authenticationFailed
/// code or a file of the program failed: see underlying
/// └─ interceptorFailed, requestBodyFailed, bodyConsumedTwice, fileFailed
/// ```
public struct HTTPDNSClientError: Error, Sendable, CustomStringConvertible {
    /// The kind of a failure. Compare with `==`; new versions may add codes.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// A short text from a bounded set, suitable for a metric label.
        public let description: String

        /// The URL cannot be requested.
        public static let invalidURL = Code(description: "invalid-url")
        /// A method, header field or option cannot be sent.
        public static let invalidRequest = Code(description: "invalid-request")
        /// The settings contradict each other, or a file that they name is missing.
        public static let configuration = Code(description: "configuration")
        /// The name has no address.
        public static let resolveFailed = Code(description: "resolve-failed")
        /// The address policy refused every address.
        public static let policyRefused = Code(description: "policy-refused")
        /// A proxy refuses the connection, fails the TLS handshake or disconnects; ``HTTPDNSClientError/proxy`` names
        /// it. Nothing was sent.
        public static let proxyUnreachable = Code(description: "proxy-unreachable")
        /// A proxy refuses to open the requested connection. Nothing was sent.
        public static let proxyRefused = Code(description: "proxy-refused")
        /// A proxy requires a credential, or another one (407). The proxy has received the request, unless it was for a
        /// tunnel.
        public static let proxyLoginRefused = Code(description: "proxy-login-refused")
        /// The configured network interface or local address cannot be used.
        public static let localSourceUnusable = Code(description: "local-source-unusable")
        /// No address accepted a connection, TLS included.
        public static let connectFailed = Code(description: "connect-failed")
        /// The server's certificate is not valid for the name.
        public static let certificateRefused = Code(description: "certificate-refused")
        /// A deadline passed during ``HTTPDNSClientError/phase``.
        public static let timedOut = Code(description: "timed-out")
        /// The connection broke after sending had begun.
        public static let connectionLost = Code(description: "connection-lost")
        /// The transport failed without a more specific code; the message has libcurl's text.
        public static let transportFailed = Code(description: "transport-failed")
        /// The response violates HTTP.
        public static let protocolViolation = Code(description: "protocol-violation")
        /// The response is longer than allowed.
        public static let responseTooLarge = Code(description: "response-too-large")
        /// The body cannot be decoded: its content coding is unknown, corrupt or incomplete, or it is not the requested JSON,
        /// or a text in an unknown charset.
        public static let decodingFailed = Code(description: "decoding-failed")
        /// A body cannot be saved to its file.
        public static let fileFailed = Code(description: "file-failed")
        /// The status of a response is not expected: that of a download is no success and nothing was saved, or
        /// ``HTTPDNSClient/Response/validated(statuses:types:)`` refuses it.
        public static let unexpectedStatus = Code(description: "unexpected-status")
        /// The media type of a response is not one of those that ``HTTPDNSClient/Response/validated(statuses:types:)`` expects.
        public static let unexpectedType = Code(description: "unexpected-type")
        /// The bytes of a download do not have the checksum that the caller expects; nothing was saved.
        public static let checksumMismatch = Code(description: "checksum-mismatch")
        /// The stream or file of the request body failed. The error of a stream is in
        /// ``HTTPDNSClientError/underlying``.
        public static let requestBodyFailed = Code(description: "request-body-failed")
        /// The body of a response was read a second time.
        public static let bodyConsumedTwice = Code(description: "body-consumed-twice")
        /// Interceptors nested calls too deeply, or a forwarded request came back (``HTTPDNSClient/CDNLoop``).
        public static let loop = Code(description: "loop")
        /// An interceptor threw an error of its own; see ``HTTPDNSClientError/underlying``.
        public static let interceptorFailed = Code(description: "interceptor-failed")
        /// There is no usable password or token for a credential, it would be sent over `http`
        /// (``HTTPDNSClient/Options/allowsCleartextCredentials``), or the server's own proof is wrong (Digest). A server
        /// that refuses a credential gives no error, but a 401 response.
        public static let authenticationFailed = Code(description: "authentication-failed")
        /// A redirect leads from https to http, to another scheme, or to something that is not a URL; the client does
        /// not follow it.
        public static let redirectRefused = Code(description: "redirect-refused")
        /// A call was redirected more often than ``HTTPDNSClient/RedirectPolicy/limit``.
        public static let tooManyRedirects = Code(description: "too-many-redirects")
        /// A redirect leads to a request that the call has sent before, and no cookie was set since.
        public static let redirectLoop = Code(description: "redirect-loop")
        /// A limit of the client or of its transport has been reached; nothing was sent.
        public static let limitReached = Code(description: "limit-reached")
        /// A blocking call was made on a thread that carries the client's own work, where it would never end.
        public static let blockingRefused = Code(description: "blocking-refused")
        /// A client with stubs has none for a request, which must not reach a server. Nothing was resolved or sent. See
        /// `HTTPDNSStubs` of the module HTTPDNSTesting.
        public static let unmatchedRequest = Code(description: "unmatched-request")
        /// The response cache is switched to offline and has no response to the request. Nothing was sent.
        public static let offline = Code(description: "offline")
        /// The client is shut down.
        public static let shutDown = Code(description: "shut-down")
    }

    /// The phase of a request in which it failed.
    public struct Phase: Hashable, Sendable, CustomStringConvertible {
        /// A short text from a bounded set.
        public let description: String

        /// Reading the request and its URL, and preparing its body: opening files, compressing bytes in memory.
        public static let request = Phase(description: "request")
        /// Reading the settings.
        public static let configuration = Phase(description: "configuration")
        /// Finding addresses.
        public static let resolve = Phase(description: "resolve")
        /// Checking the address policy.
        public static let policy = Phase(description: "policy")
        /// Waiting for a connection.
        public static let queue = Phase(description: "queue")
        /// Connecting (TCP).
        public static let connect = Phase(description: "connect")
        /// The TLS handshake.
        public static let tls = Phase(description: "tls")
        /// Sending the request.
        public static let send = Phase(description: "send")
        /// Waiting for the first byte of the response.
        public static let firstByte = Phase(description: "first-byte")
        /// Reading the response.
        public static let body = Phase(description: "body")
        /// The whole call.
        public static let total = Phase(description: "total")
        /// Following a redirect.
        public static let redirect = Phase(description: "redirect")
        /// Getting the password or the token of a credential, and checking its connection and the proof of a server.
        public static let authentication = Phase(description: "authentication")
        /// Running an interceptor.
        public static let interceptor = Phase(description: "interceptor")
    }

    /// A record of one address that was tried.
    public struct Attempt: Hashable, Sendable, CustomStringConvertible {
        /// The address and port.
        public var endpoint: HTTPDNSEndpoint
        /// The phase that it reached.
        public var phase: Phase
        /// The reason for its end, in short.
        public var failure: String
        /// The time that it took.
        public var elapsed: Duration

        /// Creates a record of an attempt.
        public init(endpoint: HTTPDNSEndpoint, phase: Phase, failure: String, elapsed: Duration) {
            self.endpoint = endpoint
            self.phase = phase
            self.failure = failure
            self.elapsed = elapsed
        }

        /// The text of the attempt, such as `203.0.113.7:443 tls: certificate is for other.test (12 ms)`.
        public var description: String { "\(endpoint) \(phase): \(failure) (\(elapsed.shortText))" }
    }

    /// The kind of failure.
    public var code: Code
    /// The phase in which it happened.
    public var phase: Phase
    /// The message, with the host and the addresses tried.
    public var message: String
    /// The host of the request, if it could be read.
    public var host: String?
    /// The proxy of the request, such as `http://proxy.test:3128`, without its credential; nil without one.
    public var proxy: String?
    /// The addresses tried, in order. After retries (``retries``), the addresses of earlier tries are included. Of more than
    /// 128 attempts, the first 64 and the last 64 are kept (``attemptsLeftOut``).
    public var attempts: [Attempt] = []
    /// The number of attempts that are left out after the first 64 of ``attempts``.
    public var attemptsLeftOut = 0
    /// Whether the server may have seen the request. When false, sending it again is safe for any method.
    public var requestMayHaveBeenSent = false
    /// The number of times that ``HTTPDNSClient/RetryPolicy`` repeated the request before this error.
    public var retries = 0
    /// The types of the interceptors that the error has passed, outermost first: the last one threw it, or had called `next`.
    /// Empty for a call that passed none.
    public var interceptors: [String] = []
    /// Whether the addresses of the system resolver were tried as well.
    public var usedSystemFallback = false
    /// The time since the start of the call.
    public var elapsed: Duration = .zero
    /// The limit that passed, for ``Code/timedOut``.
    public var limit: Duration?
    /// Whether the limit was the call's own, ``HTTPDNSClient/Timeouts/total`` or
    /// ``HTTPDNSClient/Timeouts/responseHead``; ``phase`` is where the call was at that time.
    public var isCallDeadline = false
    /// A suggestion for solving the problem.
    public var hint: String?
    /// The error of a lower layer, such as an `HTTPDNSResolver.Error` of the module HTTPDNSCore, which lists the
    /// queried providers.
    public var underlying: (any Error)?

    /// Creates an error.
    public init(code: Code, phase: Phase, message: String, host: String? = nil, hint: String? = nil) {
        self.code = code
        self.phase = phase
        self.message = message
        self.host = host
        self.hint = hint
    }

    /// Creates an error of a request that the server may have seen.
    init(
        code: Code,
        phase: Phase,
        message: String,
        host: String? = nil,
        hint: String? = nil,
        mayHaveBeenSent: Bool,
        underlying: (any Error)? = nil
    ) {
        self.init(code: code, phase: phase, message: message, host: host, hint: hint)
        requestMayHaveBeenSent = mayHaveBeenSent
        self.underlying = underlying
    }

    /// Returns the error of a call whose own limit has passed.
    package static func callOverdue(
        _ phase: Phase,
        _ message: String,
        host: String? = nil,
        hint: String? = nil,
        limit: Duration? = nil,
        mayHaveBeenSent: Bool = false
    ) -> HTTPDNSClientError {
        var error = HTTPDNSClientError(
            code: .timedOut,
            phase: phase,
            message: message,
            host: host,
            hint: hint ?? callTimeHint
        )
        (error.limit, error.isCallDeadline, error.requestMayHaveBeenSent) = (limit, true, mayHaveBeenSent)
        return error
    }

    static let callTimeHint = "timeouts.responseHead and timeouts.total bound it, for one call or for all"

    /// The message and the hint, on one line.
    public var description: String {
        let chain = code == .interceptorFailed && !interceptors.isEmpty ? interceptors.joined(separator: " > ") : nil
        let text = chain.map { "\(message), in \($0)" } ?? message
        return hint.map { "\(text) (\($0))" } ?? text
    }

    /// The code and the phase only, from a bounded set: suitable for a metric label.
    public var shortDescription: String { "\(code)/\(phase)" }
}
