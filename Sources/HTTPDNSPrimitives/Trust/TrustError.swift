extension HTTPDNSTrust {
    /// An error in a trust setting, thrown when the setting is made, before anything is sent.
    public struct Error: Swift.Error, Hashable, Sendable, CustomStringConvertible {
        /// The kind of mistake. Compare with `==`; new versions may add codes.
        public struct Code: Hashable, Sendable, CustomStringConvertible {
            /// A short identifier from a bounded set, fit for a metric label.
            public let description: String

            /// A public-key pin that is not `sha256//` and 32 bytes in base64.
            public static let publicKeyPin = Code(description: "public-key-pin")
            /// A host pattern that is neither a name nor `*.` and a name, or that has no pin.
            public static let hostPattern = Code(description: "host-pattern")
        }

        /// The kind of mistake.
        public let code: Code
        /// The value that was found, the allowed values, and how to get one.
        public let message: String

        package init(_ code: Code, _ message: String) {
            self.code = code
            self.message = message
        }

        /// The message.
        public var description: String { message }
    }
}
