extension HTTPDNSMapping {
    /// The layer that holds a rule.
    public enum Origin: String, Hashable, Sendable, CaseIterable {
        /// The layer from settings or a file, replaced as a whole.
        case base
        /// The layer above it, changed by ``HTTPDNSMappingStore/apply(_:)``.
        case overlay
    }
}
