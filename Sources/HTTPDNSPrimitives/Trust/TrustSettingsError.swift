extension HTTPDNSTrust {
    /// A trust setting that cannot be one: told where it is written, before anything is sent.
    public struct Error: Swift.Error, Hashable, Sendable, CustomStringConvertible {
        /// What kind of mistake it is. Compare with `==`; new codes may come with new versions.
        public struct Code: Hashable, Sendable, CustomStringConvertible {
            /// A short word, bounded in number: fit for a metric label.
            public let description: String

            /// A public-key pin that is not `sha256//` and 32 octets in base64.
            public static let publicKeyPin = Code(description: "public-key-pin")
            /// A host pattern that is neither a name nor `*.` and a name, or that has no pin.
            public static let hostPattern = Code(description: "host-pattern")
        }

        /// The kind of mistake.
        public let code: Code
        /// What was found, what is allowed, and how to get it.
        public let message: String

        package init(_ code: Code, _ message: String) {
            self.code = code
            self.message = message
        }

        /// The message.
        public var description: String { message }
    }
}
