extension HTTPDNSClient.Status {
    /// The mappings.
    public struct Mappings: Codable, Hashable, Sendable {
        /// A rule.
        public struct Rule: Codable, Hashable, Sendable {
            /// The key: a name or a suffix, with an optional port.
            public var key: String
            /// The action: `addresses`, `via`, `bypass` or `last-resort`.
            public var action: String
            /// The addresses, or the name of the target.
            public var targets: [String]
            /// The origin: `base` for the file, `overlay` for rules of the program.
            public var origin: String?
            /// The file and line of the rule.
            public var location: String?
        }

        /// A number that grows with every change of the base or the overlay.
        public var generation: UInt64
        /// A number that grows with every change of the file's rules.
        public var baseGeneration: UInt64?
        /// A number that grows with every change by the program.
        public var overlayGeneration: UInt64?
        /// The number of rules.
        public var count: Int
        /// The rules, by key.
        public var rules: [Rule]
        /// Whether there are more rules than the limit.
        public var isTruncated: Bool
    }
}
