internal import HTTPDNSPrimitives

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
