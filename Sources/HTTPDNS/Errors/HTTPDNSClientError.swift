public import HTTPDNSPrimitives

/// Why a call failed. It is the only error that public calls throw, besides `CancellationError`.
///
/// Printed, it is one line. It carries no secret, no header value and no pin name.
public struct HTTPDNSClientError: Error, Sendable, CustomStringConvertible {
    /// What kind of failure it was. Compare with `==`; new codes may come with new versions.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// A short word, bounded in number: fit for a metric label.
        public let description: String

        /// The URL cannot be requested.
        public static let invalidURL = Code(description: "invalid-url")
        /// A method, header field or option cannot be sent.
        public static let invalidRequest = Code(description: "invalid-request")
        /// The settings contradict themselves, or a file that they name is missing.
        public static let configuration = Code(description: "configuration")
        /// The name has no address.
        public static let resolveFailed = Code(description: "resolve-failed")
        /// The address policy refused every address.
        public static let policyRefused = Code(description: "policy-refused")
        /// A proxy cannot be connected to, TLS with it included, or breaks off; ``HTTPDNSClientError/proxy`` names it.
        /// Nothing was sent.
        public static let proxyUnreachable = Code(description: "proxy-unreachable")
        /// A proxy does not make the connection that it was asked for. Nothing was sent.
        public static let proxyRefused = Code(description: "proxy-refused")
        /// A proxy wants a login, or another one (407). The proxy has the request, as far as it was not for a tunnel.
        public static let proxyLoginRefused = Code(description: "proxy-login-refused")
        /// The network interface or local address that connections are to begin at cannot be used.
        public static let localSourceUnusable = Code(description: "local-source-unusable")
        /// No address could be connected to, TLS included.
        public static let connectFailed = Code(description: "connect-failed")
        /// The server's certificate does not prove the name.
        public static let certificateRefused = Code(description: "certificate-refused")
        /// A deadline passed; ``HTTPDNSClientError/stage`` says in which phase.
        public static let timedOut = Code(description: "timed-out")
        /// The connection broke after the request was on its way.
        public static let connectionLost = Code(description: "connection-lost")
        /// The transport failed in a way that has no code of its own; the message has libcurl's words.
        public static let transportFailed = Code(description: "transport-failed")
        /// The answer breaks HTTP's rules.
        public static let protocolViolation = Code(description: "protocol-violation")
        /// The answer is longer than allowed.
        public static let responseTooLarge = Code(description: "response-too-large")
        /// The body cannot be decoded: its content coding is unknown or broken, or it is not the JSON that was asked for.
        public static let decodingFailed = Code(description: "decoding-failed")
        /// A body cannot be saved to its file.
        public static let fileFailed = Code(description: "file-failed")
        /// A download was answered with a status that is no success; nothing was saved.
        public static let unexpectedStatus = Code(description: "unexpected-status")
        /// The stream or file that feeds the request body failed. What a stream threw is in
        /// ``HTTPDNSClientError/underlying``.
        public static let requestBodyFailed = Code(description: "request-body-failed")
        /// The body of a response was read a second time.
        public static let bodyConsumedTwice = Code(description: "body-consumed-twice")
        /// Interceptors made calls inside calls too deeply.
        public static let loop = Code(description: "loop")
        /// An interceptor threw an error of its own; see ``HTTPDNSClientError/underlying``.
        public static let interceptorFailed = Code(description: "interceptor-failed")
        /// A redirect leads where the client does not follow: from https to http, to another scheme, to no URL at all.
        public static let redirectRefused = Code(description: "redirect-refused")
        /// A call was redirected more often than ``HTTPDNSClient/RedirectPolicy/limit``.
        public static let tooManyRedirects = Code(description: "too-many-redirects")
        /// A redirect leads to a request that the call has sent before.
        public static let redirectLoop = Code(description: "redirect-loop")
        /// A limit of the client or of its transport is reached; nothing was sent.
        public static let limitReached = Code(description: "limit-reached")
        /// A blocking call was made on a thread that carries the client's own work, where it would never end.
        public static let blockingRefused = Code(description: "blocking-refused")
        /// The client is shut down.
        public static let shutDown = Code(description: "shut-down")
    }

    /// The part of a request's way in which it failed.
    public struct Stage: Hashable, Sendable, CustomStringConvertible {
        /// A short word, bounded in number.
        public let description: String

        /// Reading the request and its URL, and making its body ready: opening its files, compressing what is in memory.
        public static let request = Stage(description: "request")
        /// Reading the settings.
        public static let configuration = Stage(description: "configuration")
        /// Finding addresses.
        public static let resolve = Stage(description: "resolve")
        /// The address policy.
        public static let policy = Stage(description: "policy")
        /// Waiting for a place.
        public static let queue = Stage(description: "queue")
        /// Connecting (TCP).
        public static let connect = Stage(description: "connect")
        /// The TLS handshake.
        public static let tls = Stage(description: "tls")
        /// Sending the request.
        public static let send = Stage(description: "send")
        /// Waiting for the first byte of the answer.
        public static let firstByte = Stage(description: "first-byte")
        /// Reading the answer.
        public static let body = Stage(description: "body")
        /// The whole call.
        public static let total = Stage(description: "total")
        /// Following a redirect.
        public static let redirect = Stage(description: "redirect")
        /// An interceptor.
        public static let interceptor = Stage(description: "interceptor")
    }

    /// One address that was tried.
    public struct Attempt: Hashable, Sendable, CustomStringConvertible {
        /// The address and port.
        public var endpoint: HTTPDNSEndpoint
        /// How far it came.
        public var stage: Stage
        /// Why it ended, in short.
        public var failure: String
        /// How long it took.
        public var elapsed: Duration

        /// Creates a record of an attempt.
        public init(endpoint: HTTPDNSEndpoint, stage: Stage, failure: String, elapsed: Duration) {
            self.endpoint = endpoint
            self.stage = stage
            self.failure = failure
            self.elapsed = elapsed
        }

        /// `203.0.113.7:443 tls: certificate is for other.test (12 ms)`.
        public var description: String { "\(endpoint) \(stage): \(failure) (\(elapsed.shortText))" }
    }

    /// The kind of failure.
    public var code: Code
    /// Where it happened.
    public var stage: Stage
    /// What happened, with the host and the addresses tried.
    public var message: String
    /// The host of the request, as far as it was read.
    public var host: String?
    /// The proxy on the way, such as `http://proxy.test:3128`, without its credential; nil without one.
    public var proxy: String?
    /// The addresses tried, in order, those of earlier tries included where the request was sent again (``retries``).
    public var attempts: [Attempt] = []
    /// Whether the server may have seen the request. When false, sending it again is safe for any method.
    public var requestMayHaveBeenSent = false
    /// How often the request was sent again by ``HTTPDNSClient/RetryPolicy`` before this error.
    public var retries = 0
    /// Whether the addresses of the system resolver were tried as well.
    public var fellBack = false
    /// How long the call had taken.
    public var elapsed: Duration = .zero
    /// The limit that passed, for ``Code/timedOut``.
    public var limit: Duration?
    /// Whether the limit was the call's own, ``HTTPDNSClient/Request/Options/deadline`` or
    /// ``HTTPDNSClient/Configuration/Timeouts/total``; ``stage`` says where the call stood then.
    public var isCallDeadline = false
    /// What to do about it.
    public var hint: String?
    /// The error of a lower part, such as an `HTTPDNSResolver.Error` of the module HTTPDNSCore, which says which providers
    /// were asked.
    public var underlying: (any Error)?

    /// Creates an error.
    public init(code: Code, stage: Stage, message: String, host: String? = nil, hint: String? = nil) {
        self.code = code
        self.stage = stage
        self.message = message
        self.host = host
        self.hint = hint
    }

    /// One line: message and hint.
    public var description: String { hint.map { "\(message) (\($0))" } ?? message }

    /// Code and stage only, bounded in number: fit for a metric label.
    public var shortDescription: String { "\(code)/\(stage)" }
}
