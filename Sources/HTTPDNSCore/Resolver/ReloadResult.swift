extension HTTPDNSResolver {
    /// The result of a reload.
    public struct ReloadResult: Hashable, Sendable {
        /// The generation from which on the new settings hold; the previous one when nothing changed.
        public var generation: UInt64
        /// Whether a live setting changed.
        public var isChanged: Bool
        /// The changed settings that take effect only at the next start, sorted.
        ///
        /// They are named as in the configuration file, or as in ``HTTPDNSResolver/Configuration`` where the file has no key
        /// for them.
        public var needsRestart: [String]

        /// Creates a result.
        public init(generation: UInt64, isChanged: Bool, needsRestart: [String] = []) {
            self.generation = generation
            self.isChanged = isChanged
            self.needsRestart = needsRestart
        }
    }
}
