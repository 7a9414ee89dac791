extension HTTPDNSResolver {
    /// An error of a host for which no usable address was found.
    public struct Error: Swift.Error, Sendable, CustomStringConvertible {
        /// The kind of failure.
        public struct Code: Hashable, Sendable, CustomStringConvertible {
            /// A short identifier for logs and metric labels.
            public let description: String

            /// The name does not exist.
            public static let nameNotFound = Code(description: "name-not-found")
            /// The name exists, without an address of an allowed family.
            public static let noAddresses = Code(description: "no-addresses")
            /// No address passed the address policy.
            public static let policyRefused = Code(description: "policy-refused")
            /// All providers of the route failed, and there is no fallback.
            public static let providersFailed = Code(description: "providers-failed")
            /// The system resolver failed.
            public static let systemFailed = Code(description: "system-failed")
            /// No answer within the time limit.
            public static let timedOut = Code(description: "timed-out")
            /// Too many lookups are in flight.
            public static let overloaded = Code(description: "overloaded")
            /// The text is no host name.
            public static let invalidName = Code(description: "invalid-name")
            /// The resolver is shut down.
            public static let shutDown = Code(description: "shut-down")

            /// All codes.
            package static let all: [Code] = [
                .nameNotFound, .noAddresses, .policyRefused, .providersFailed, .systemFailed, .timedOut, .overloaded,
                .invalidName, .shutDown,
            ]
        }

        /// The kind of failure.
        public var code: Code
        /// The host of the query.
        public var host: String
        /// A readable message on one line.
        public var message: String
        /// The suggested action.
        public var hint: String?
        /// The providers that were queried.
        public var attempts: [HTTPDNSResolver.ProviderAttempt]
        /// The time limit that was exceeded, for ``Code/timedOut``.
        public var limit: Duration?

        /// Creates an error.
        public init(
            code: Code,
            host: String,
            message: String,
            hint: String? = nil,
            attempts: [HTTPDNSResolver.ProviderAttempt] = []
        ) {
            self.code = code
            self.host = host
            self.message = message
            self.hint = hint
            self.attempts = attempts
        }

        /// Message and hint on one line.
        public var description: String { hint.map { "\(message) (\($0))" } ?? message }
    }
}
