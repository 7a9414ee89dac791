internal import HTTPDNSPrimitives

extension HTTPDNSName {
    /// An error in the text of a host name.
    public struct Error: Swift.Error, Hashable, Sendable, CustomStringConvertible {
        /// The name as it was given, cut to 80 characters, control characters escaped.
        public let text: String
        /// The mistake, and the characters or lengths that are allowed.
        public let reason: String

        /// Creates an error with the beginning of `text`, at most one line: the text may be untrusted.
        package init(text: String, reason: String) {
            self.text = text.escaped(limit: 80)
            self.reason = reason
        }

        /// One line with text and reason.
        public var description: String { "\"\(text)\" is not a host name: \(reason)" }
    }
}
