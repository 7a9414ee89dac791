public import HTTPDNSPrimitives

extension HTTPDNSResolver {
    /// Why a resolver cannot be made from its settings.
    public struct ConfigurationError: Swift.Error, Hashable, Sendable, CustomStringConvertible {
        /// What is wrong and what to do.
        public var message: String
        /// Where it was written.
        public var location: HTTPDNSSourceLocation?

        /// One line with both.
        public var description: String { (location.map { "\($0): " } ?? "") + message }
    }
}
