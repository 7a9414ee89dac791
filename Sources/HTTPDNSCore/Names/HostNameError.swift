internal import HTTPDNSPrimitives

extension HTTPDNSName {
    /// Why a text is no host name.
    public struct Error: Swift.Error, Hashable, Sendable, CustomStringConvertible {
        /// The name as it was given, cut to 80 characters, control characters escaped.
        public let text: String
        /// What is wrong and what is allowed.
        public let reason: String

        /// Keeps no more of `text` than fits on a line: it may come from a stranger.
        package init(text: String, reason: String) {
            self.text = text.escaped(limit: 80)
            self.reason = reason
        }

        /// One line with both.
        public var description: String { "\"\(text)\" is not a host name: \(reason)" }
    }
}
