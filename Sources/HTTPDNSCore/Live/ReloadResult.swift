extension HTTPDNSResolver {
    /// What a reload did.
    public struct ReloadResult: Hashable, Sendable {
        /// The generation from which on the new settings hold; the old one when nothing changed.
        public var generation: UInt64
        /// Whether something changed that is live.
        public var isChanged: Bool
        /// Settings that differ and hold from the next start only, by their names in the configuration file or, for those
        /// that it does not have, in ``HTTPDNSResolver/Configuration``; sorted.
        public var needsRestart: [String]

        /// Creates a result.
        public init(generation: UInt64, isChanged: Bool, needsRestart: [String] = []) {
            self.generation = generation
            self.isChanged = isChanged
            self.needsRestart = needsRestart
        }
    }
}
