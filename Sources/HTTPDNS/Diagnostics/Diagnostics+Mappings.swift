extension HTTPDNSClient.Status {
    /// The mappings.
    public struct Mappings: Codable, Hashable, Sendable {
        /// A rule.
        public struct Rule: Codable, Hashable, Sendable {
            /// Its key: a name or a suffix, and perhaps a port.
            public var key: String
            /// What it does: `addresses`, `via`, `bypass` or `last-resort`.
            public var action: String
            /// Its addresses, or the name that it leads to.
            public var targets: [String]
            /// Where it comes from: `base` for the file, `overlay` for the program's own.
            public var origin: String?
            /// Where it is written: file and line.
            public var location: String?
        }

        /// Grows with every change of one of both.
        public var generation: UInt64
        /// Grows with every change of the file's rules.
        public var baseGeneration: UInt64?
        /// Grows with every change by the program.
        public var overlayGeneration: UInt64?
        /// How many rules there are.
        public var count: Int
        /// Rules, by key.
        public var rules: [Rule]
        /// Whether there are more rules than were asked for.
        public var isTruncated: Bool
    }
}
