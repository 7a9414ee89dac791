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

        /// Whether it cost no query, and is worth another try as soon as somebody has corrected a setting
        /// (``HTTPDNSProviderError/Code/isLocal``).
        var isLocal = false

        /// What ``provider`` says for the system resolver.
        static let systemName = "system"

        /// Creates a record of an attempt.
        public init(provider: String, failure: String, elapsed: Duration) {
            self.provider = provider
            // A provider's text may carry what a stranger's server said.
            self.failure = failure.onOneLine(limit: 200)
            self.elapsed = elapsed
        }

        /// One line, such as `ali: 503 in 12 ms`.
        public var description: String { "\(provider): \(failure) in \(elapsed.shortText)" }
    }
}
