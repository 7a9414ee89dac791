public import HTTPDNSPrimitives

extension HTTPDNSMapping {
    /// An error in a mapping, which makes its whole set unusable.
    public struct Error: Swift.Error, Hashable, Sendable, CustomStringConvertible {
        /// The rule's key as it was written, cut to 80 characters, control characters escaped.
        public var key: String
        /// The mistake, and the values that are allowed.
        public var reason: String
        /// The position of the rule in its source.
        public var location: HTTPDNSSourceLocation?

        /// Creates an error for the rule whose key is `key` in its source.
        package init(key: String, reason: String, location: HTTPDNSSourceLocation? = nil) {
            self.key = key.escaped(limit: 80)
            self.reason = reason
            self.location = location
        }

        /// One line with location, key and reason.
        public var description: String { (location.map { "\($0): " } ?? "") + "mapping \"\(key)\": \(reason)" }
    }
}
