public import HTTPDNSPrimitives

/// The key of a rule: a name or suffix, for one port or for all.
public struct MappingKey: Hashable, Sendable, CustomStringConvertible {
    /// The names; never ``HostPattern/any``.
    public var pattern: HostPattern
    /// The URL's port that the rule is for; nil means all.
    public var port: UInt16?

    /// Creates a key.
    public init(_ pattern: HostPattern, port: UInt16? = nil) {
        self.pattern = pattern
        self.port = port
    }

    /// Reads `name`, `*.suffix`, either with `:port`.
    /// - Throws: ``MappingError``.
    public init(_ text: String) throws(MappingError) { fatalError("seam") }

    /// The text form.
    public var description: String { port.map { "\(pattern):\($0)" } ?? pattern.description }
}

/// The whole immutable set of rules, numbered by generation.
public struct HostMappings: Sendable {
    /// Grows with every change; 1 is the first set.
    public let generation: UInt64
    /// All rules.
    public let rules: [MappingKey: HostMapping]

    /// A set of rules. `generation` is set by the store that holds it.
    /// - Throws: ``MappingError`` for a rule that holds text which could not be read, `*` as a pattern, no address, a
    ///   weight below 1, or `via` rules in a circle.
    public init(_ rules: [MappingKey: HostMapping] = [:]) throws(MappingError) { fatalError("seam") }

    /// The rule for a name on a port: exact with port, exact, then the longest suffix (with port before without).
    public func rule(for host: HostName, port: UInt16) -> (key: MappingKey, mapping: HostMapping)? {
        fatalError("seam")
    }

    /// A set being changed, see ``MappingStore/apply(_:)``.
    public struct Draft: Sendable {
        package var rules: [MappingKey: HostMapping]
        package var errors: [MappingError]

        /// The rule for a key such as `img.shop.example`, `*.shop.example` or `img.shop.example:8443`; nil removes it.
        public subscript(key: String) -> HostMapping? {
            get { fatalError("seam") }
            set { fatalError("seam") }
        }

        /// Removes every rule.
        public mutating func removeAll() { rules = [:] }
    }
}

/// Why a set of mappings cannot be used.
public struct MappingError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The rule's key as it was written.
    public var key: String
    /// What is wrong and what is allowed.
    public var reason: String
    /// Where it was written.
    public var location: SourceLocation?

    /// One line with all of it.
    public var description: String { (location.map { "\($0): " } ?? "") + "mapping \"\(key)\": \(reason)" }
}

/// The mappings in use. Reading takes one lock for the time of a reference count.
public final class MappingStore: Sendable {
    package init(_ mappings: HostMappings) { fatalError("seam") }

    /// The set in use.
    public var current: HostMappings { fatalError("seam") }

    /// The generation in use.
    public var generation: UInt64 { fatalError("seam") }

    /// Changes the rules: all of the change or nothing. The next request sees it; transfers in flight finish where they are.
    /// - Returns: The generation from which on it holds.
    /// - Throws: ``MappingError``, or what `change` throws; then nothing has changed.
    @discardableResult
    public func apply(_ change: (inout HostMappings.Draft) throws -> Void) throws -> UInt64 { fatalError("seam") }

    /// Puts a whole set in place of the present one.
    @discardableResult
    public func replace(with mappings: HostMappings) -> UInt64 { fatalError("seam") }
}
