/// Why a provider gave no usable answer.
public struct HTTPDNSProviderError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of failure it was.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// A short word for logs and metric labels.
        public let description: String

        /// No answer within the time limit.
        public static let timedOut = Code(description: "timed-out")
        /// The service could not be reached, or its certificate did not prove its name.
        public static let unreachable = Code(description: "unreachable")
        /// An HTTP status other than 200.
        public static let httpStatus = Code(description: "http-status")
        /// The body is not what the protocol says.
        public static let badResponse = Code(description: "bad-response")
        /// The provider's server said that it failed (SERVFAIL and the like).
        public static let serverFailure = Code(description: "server-failure")
        /// The provider refused the question (REFUSED).
        public static let refused = Code(description: "refused")
        /// The service wants fewer queries (HTTP 429), or the budget that the settings give it is used up.
        public static let rateLimited = Code(description: "rate-limited")
        /// The service refuses the account or its signature. The provider sends nothing more for 5 minutes, doubled up to an
        /// hour while the account stays refused. A reload of its settings, or a new secret, ends the pause.
        public static let accountRefused = Code(description: "account-refused")
        /// The vendor has switched the service off for the account. The provider sends no queries until that is taken back.
        public static let serviceDisabled = Code(description: "service-disabled")
        /// A setting that the query needs is gone, such as the file of a secret.
        public static let notConfigured = Code(description: "not-configured")
        /// The provider is shut down.
        public static let shutDown = Code(description: "shut-down")

        /// Whether the provider says so by itself, without a query, until a setting or a secret is another. A pause of the
        /// resolver would only delay the first query after the correction.
        var isLocal: Bool { self == .notConfigured || self == .accountRefused || self == .serviceDisabled }
    }

    /// The kind of failure.
    public var code: Code
    /// One line for people, without secrets.
    public var message: String
    /// How long the service wants to be left alone (`Retry-After`, RFC 9110 section 10.2.3); nil when it did not say.
    public var retryAfter: Duration?

    /// Creates an error.
    public init(code: Code, message: String, retryAfter: Duration? = nil) {
        self.code = code
        self.message = message
        self.retryAfter = retryAfter
    }

    /// The message.
    public var description: String { message }
}
