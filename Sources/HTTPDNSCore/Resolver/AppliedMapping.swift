public import HTTPDNSPrimitives

extension HTTPDNSResolver {
    /// The mapping rule behind a resolution.
    public struct AppliedMapping: Hashable, Sendable {
        /// The rule's key.
        public var key: HTTPDNSMapping.Key
        /// The layer of the rule: the base (the file) or the overlay (``HTTPDNSMappingStore/apply(_:)``).
        public var origin: HTTPDNSMapping.Origin
        /// The position of the rule in its source.
        public var location: HTTPDNSSourceLocation?
        /// All targets of the rule, or of the rule that `via` led to, with their weights.
        ///
        /// Empty for `bypass`, for `via` to a name without addresses of its own, and for last resorts that are not needed.
        public var targets: [HTTPDNSMapping.Target]
        /// The names that `via` rules led through, in order.
        public var via: [HTTPDNSName]

        /// Creates a record of a rule.
        public init(
            key: HTTPDNSMapping.Key,
            origin: HTTPDNSMapping.Origin = .base,
            location: HTTPDNSSourceLocation?,
            targets: [HTTPDNSMapping.Target] = [],
            via: [HTTPDNSName] = []
        ) {
            self.key = key
            self.origin = origin
            self.location = location
            self.targets = targets
            self.via = via
        }
    }
}
