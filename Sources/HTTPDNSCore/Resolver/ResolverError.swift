// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

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

extension HTTPDNSResolver.Error {
    static func shutDown(host: String) -> HTTPDNSResolver.Error {
        HTTPDNSResolver.Error(
            code: .shutDown,
            host: host,
            message: "the resolver is shut down, so \(host) was not resolved"
        )
    }

    /// Returns the error for a query that itself excludes both families.
    static func noFamily(host: String) -> HTTPDNSResolver.Error {
        HTTPDNSResolver.Error(
            code: .noAddresses,
            host: host,
            message: "\(host) was asked for without a family of addresses",
            hint: "allow IPv4, IPv6 or both, or leave families nil"
        )
    }

    static func overloaded(_ host: String) -> HTTPDNSResolver.Error {
        HTTPDNSResolver.Error(
            code: .overloaded,
            host: host,
            message: "too many names are asked for already, \(host) would be one more",
            hint: "try again; does a stranger choose the names?"
        )
    }

    /// Returns the error for a name that does not exist.
    /// - Parameter source: The name of the provider, or of the system resolver.
    static func noSuchName(_ host: HTTPDNSName, says source: String) -> HTTPDNSResolver.Error {
        HTTPDNSResolver.Error(
            code: .nameNotFound,
            host: host.description,
            message: "\(host) does not exist, says \(source)",
            hint: "check the spelling, or map the name if it is your own"
        )
    }

    /// Returns the error for a name that cannot be in the DNS. Not even the system resolver is queried.
    static func outsideDNS(_ host: HTTPDNSName) -> HTTPDNSResolver.Error {
        HTTPDNSResolver.Error(
            code: .nameNotFound,
            host: host.description,
            message: "\(host) was not looked up: .onion, .invalid and .alt do not exist in DNS",
            hint: "add a mapping, or a route that names it"
        )
    }

    static func noAddresses(_ host: HTTPDNSName, _ families: HTTPDNSAddress.Families, says source: String)
        -> HTTPDNSResolver.Error
    {
        HTTPDNSResolver.Error(
            code: .noAddresses,
            host: host.description,
            message: "\(host) has no \(families) address, says \(source)",
            hint: families == .both ? "add a mapping if it should have one" : "allow the other family, or add a mapping"
        )
    }

    /// Returns the error for a request, URL or mapping that names addresses of the wrong family only.
    static func noneOfFamily(
        _ families: HTTPDNSAddress.Families,
        among endpoints: [HTTPDNSEndpoint],
        _ source: HTTPDNSResolver.Resolution.Source,
        host: String
    ) -> HTTPDNSResolver.Error {
        let given = endpoints.map(\.address.description).joined(separator: ", ")
        return HTTPDNSResolver.Error(
            code: .noAddresses,
            host: host,
            message: "\(host) has no \(families) address: the \(source) names \(given)",
            hint: "allow the other family, or name an address of this one"
        )
    }

    static func policyRefused(
        _ refusal: AddressRefusal.Summary,
        host: String,
        attempts: [HTTPDNSResolver.ProviderAttempt] = []
    ) -> HTTPDNSResolver.Error {
        HTTPDNSResolver.Error(
            code: .policyRefused,
            host: host,
            message: "the address policy refused every address of \(host): \(refusal.text)",
            hint: refusal.remedy,
            attempts: attempts
        )
    }

    static func timedOut(host: HTTPDNSName, limit: Duration, attempts: [HTTPDNSResolver.ProviderAttempt])
        -> HTTPDNSResolver.Error
    {
        let asked = attempts.isEmpty ? "" : ": \(list(attempts))"
        var error = HTTPDNSResolver.Error(
            code: .timedOut,
            host: host.description,
            message: "no answer about \(host) within \(limit.shortText)\(asked)",
            attempts: attempts
        )
        error.limit = limit
        return error
    }

    /// Returns the error for a name that the system resolver, its only source, does not know.
    static func unknownToSystem(_ lookup: UpstreamLookup) -> HTTPDNSResolver.Error {
        let host = lookup.host
        let unknown = "the system resolver does not know \(host)"
        let (message, hint): (String, String) =
            switch lookup.systemOnlyReason {
            case .internalName where host.isSingleLabel:
                ("not asked: single-label names go to no provider; \(unknown)", "add a mapping or route")
            case .internalName:
                ("not asked: internal names go to no provider; \(unknown)", "add a mapping, or a route that names it")
            case .noRoute:
                (unknown, "no route covers the name, so no provider was asked: add a route or a mapping")
            case .route:
                (unknown, "its route says system, so no provider was asked")
            case .mapping:
                (unknown, "its mapping says system, so no provider was asked")
            case .request:
                (unknown, "the request asked for the system resolver")
            case .switchedOff:
                (unknown, "it is switched off, so mappings and providers were passed over")
            case .outsideRollout:
                (unknown, "it is outside its route's rollout, so no provider was asked")
            case .shadow:
                (unknown, "its route is in shadow mode, so providers' answers are not used")
            case nil:
                (unknown, "check the spelling, or add a mapping")
            }
        return HTTPDNSResolver.Error(code: .nameNotFound, host: host.description, message: message, hint: hint)
    }

    /// Returns the error after every queried source failed: `policyRefused` if one of them had addresses.
    static func allFailed(_ lookup: UpstreamLookup, _ attempts: [HTTPDNSResolver.ProviderAttempt])
        -> HTTPDNSResolver.Error
    {
        let host = lookup.host
        let refusals = attempts.compactMap(\.refusal)
        if !refusals.isEmpty { return .policyRefused(.joined(refusals), host: host.description, attempts: attempts) }
        if attempts.allSatisfy({ $0.provider == HTTPDNSResolver.ProviderAttempt.systemName }) {
            let failure = attempts.last?.failure ?? "no answer"
            return HTTPDNSResolver.Error(
                code: .systemFailed,
                host: host.description,
                message: "the system resolver failed for \(host): \(failure)",
                attempts: attempts
            )
        }
        let hasFallback = attempts.contains { $0.provider == HTTPDNSResolver.ProviderAttempt.systemName }
        return HTTPDNSResolver.Error(
            code: .providersFailed,
            host: host.description,
            message: "no provider answered about \(host): \(list(attempts))",
            hint: hasFallback ? nil : "its route has no fallback; fallback: system would ask the system resolver",
            attempts: attempts
        )
    }

    private static func list(_ attempts: [HTTPDNSResolver.ProviderAttempt]) -> String {
        attempts.map(\.description).joined(separator: "; ")
    }

    /// Returns the error for a query whose name led here through `via` rules.
    func seen(from question: HTTPDNSResolver.Query, through mappingTrace: MappingTrace?) -> HTTPDNSResolver.Error {
        guard let mapping = mappingTrace?.mapping, !mapping.via.isEmpty else { return self }
        var error = self
        error.host = question.host.description
        error.message = "\(question.host) via \(mapping.via.map(\.description).joined(separator: " > ")): \(message)"
        return error
    }
}

extension HTTPDNSResolver {
    /// A failed query to a provider.
    public struct ProviderAttempt: Hashable, Sendable, CustomStringConvertible {
        /// The provider's name, or `system`.
        public var provider: String
        /// The failure, in short, on one line.
        public var failure: String
        /// The duration of the attempt.
        public var elapsed: Duration

        /// Whether it sent no query, and may be repeated as soon as a setting is corrected
        /// (``HTTPDNSProviderError/Code/isLocal``).
        var isLocal = false
        /// The refusal of the answer, if it had addresses and the address policy refused all of them.
        var refusal: AddressRefusal.Summary?

        /// The value of ``provider`` for the system resolver.
        static let systemName = "system"

        /// Creates a record of an attempt.
        public init(provider: String, failure: String, elapsed: Duration) {
            self.provider = provider
            // A provider's text may contain text from an untrusted server.
            self.failure = failure.onOneLine(limit: 200)
            self.elapsed = elapsed
        }

        /// One line, such as `ali: 503 in 12 ms`.
        public var description: String { "\(provider): \(failure) in \(elapsed.shortText)" }
    }
}
