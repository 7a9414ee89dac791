extension HTTPDNSClient.Status {
    /// What the kill switch has off.
    public struct Switch: Codable, Hashable, Sendable {
        /// Something that is off.
        public struct Off: Codable, Hashable, Sendable {
            /// The pattern of the route that is off; nil for everything.
            public var route: String?
            /// Who turned it off: `file`, `environment`, `api` or `socket`.
            public var origin: String
            /// How long ago.
            public var seconds: Double
        }

        /// Whether nobody has everything off. Single routes may be off nevertheless.
        public var isOn: Bool
        /// All that is off; empty when all is on.
        public var offs: [Off]
        /// Grows with each turn.
        public var generation: UInt64
    }
}
