extension HTTPDNSMapping {
    /// Which of the two sets of rules a rule is in.
    public enum Origin: String, Hashable, Sendable, CaseIterable {
        /// The set that settings or a file gave, replaced as a whole.
        case base
        /// What ``HTTPDNSMappingStore/apply(_:)`` said on top of it.
        case overlay
    }
}
