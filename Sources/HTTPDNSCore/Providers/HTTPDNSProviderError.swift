// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// An error of a provider that gave no usable answer.
public struct HTTPDNSProviderError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The kind of failure.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        /// A short identifier for logs and metric labels.
        public let description: String

        /// No answer within the time limit.
        public static let timedOut = Code(description: "timed-out")
        /// The service could not be reached, or its certificate was not valid for its name.
        public static let unreachable = Code(description: "unreachable")
        /// An HTTP status other than 200.
        public static let httpStatus = Code(description: "http-status")
        /// The body does not conform to the protocol.
        public static let badResponse = Code(description: "bad-response")
        /// The provider's server reported a failure (SERVFAIL and the like).
        public static let serverFailure = Code(description: "server-failure")
        /// The provider refused the query (REFUSED).
        public static let refused = Code(description: "refused")
        /// The answer has addresses, and the address policy refuses all of them. The resolver reports this, and no provider.
        public static let policyRefused = Code(description: "policy-refused")
        /// The service asked for fewer queries (HTTP 429), or the budget from the settings is used up.
        public static let rateLimited = Code(description: "rate-limited")
        /// The service refuses the account or its signature.
        ///
        /// The provider sends no queries for 5 minutes, doubled up to an hour while the account stays refused. A reload of its
        /// settings, or a new secret, ends the pause.
        public static let accountRefused = Code(description: "account-refused")
        /// The vendor has disabled the service for the account. The provider sends no queries until it is enabled again.
        public static let serviceDisabled = Code(description: "service-disabled")
        /// A setting that the query needs is missing, such as the file of a secret.
        public static let notConfigured = Code(description: "not-configured")
        /// The provider is shut down.
        public static let shutDown = Code(description: "shut-down")

        /// Whether the provider throws the error without a query, until a setting or a secret changes.
        ///
        /// A back-off by the resolver would only delay the first query after the correction.
        var isLocal: Bool { self == .notConfigured || self == .accountRefused || self == .serviceDisabled }
    }

    /// The kind of failure.
    public var code: Code
    /// A readable message on one line, without secrets.
    public var message: String
    /// The pause that the service asked for (`Retry-After`, RFC 9110 section 10.2.3); nil without one.
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

/// An error in the settings of a provider.
public struct HTTPDNSProviderConfigurationError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The provider's name.
    public var provider: String
    /// The mistake, and the suggested action.
    public var message: String

    package init(provider: String, message: String) {
        self.provider = provider
        self.message = message
    }

    /// One line with name and message.
    public var description: String { "provider \"\(provider)\": \(message)" }
}
