extension HTTPDNSClient.Status {
    /// The state of the kill switch.
    public struct Switch: Codable, Hashable, Sendable {
        /// A part that is switched off.
        public struct Off: Codable, Hashable, Sendable {
            /// The pattern of the route that is off; nil for everything.
            public var route: String?
            /// The origin of the change: `file`, `environment`, `api` or `socket`.
            public var origin: String
            /// The time since the change.
            public var seconds: Double
        }

        /// Whether the resolver as a whole is on. Single routes may be off nevertheless.
        public var isOn: Bool
        /// The parts that are off; empty when everything is on.
        public var offs: [Off]
        /// A number that grows with each change.
        public var generation: UInt64
    }
}
