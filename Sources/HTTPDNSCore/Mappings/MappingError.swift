public import HTTPDNSPrimitives

extension HTTPDNSMapping {
    /// Why a set of mappings cannot be used.
    public struct Error: Swift.Error, Hashable, Sendable, CustomStringConvertible {
        /// The rule's key as it was written, cut to 80 characters, control characters escaped.
        public var key: String
        /// What is wrong and what is allowed.
        public var reason: String
        /// Where it was written.
        public var location: HTTPDNSSourceLocation?

        /// Creates an error about the rule that was written as `key`.
        package init(key: String, reason: String, location: HTTPDNSSourceLocation? = nil) {
            self.key = key.escaped(limit: 80)
            self.reason = reason
            self.location = location
        }

        /// One line with all of it.
        public var description: String { (location.map { "\($0): " } ?? "") + "mapping \"\(key)\": \(reason)" }
    }
}
