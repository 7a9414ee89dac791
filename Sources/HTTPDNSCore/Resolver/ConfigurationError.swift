public import HTTPDNSPrimitives

extension HTTPDNSResolver {
    /// An error in the settings of a resolver.
    public struct ConfigurationError: Swift.Error, Hashable, Sendable, CustomStringConvertible {
        /// The mistake, and the suggested action.
        public var message: String
        /// The position of the setting in its source.
        public var location: HTTPDNSSourceLocation?

        /// One line with location and message.
        public var description: String { (location.map { "\($0): " } ?? "") + message }
    }
}
