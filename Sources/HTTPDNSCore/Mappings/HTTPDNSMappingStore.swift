internal import HTTPDNSPrimitives

/// The mappings in use. Reading takes one lock for the time of a reference count; the generation alone takes none.
///
/// There are two layers. The **base** comes from the settings or their file and is replaced as a whole
/// (``replaceBase(with:)``, `reload`). The **overlay** is what ``apply(_:)`` changed since, and outlives every base. For one
/// key the overlay's rule counts, else the base's; then the closest key decides, wherever its rule comes from.
public final class HTTPDNSMappingStore: Sendable {
    private let live: LiveCell

    init(_ live: LiveCell) { self.live = live }

    /// The set in use.
    public var current: HTTPDNSMappings { live.current.mappings }

    /// The generation in use: it grows with every change of either layer, and with every reload that changes other settings
    /// of a resolver. It is one atomic read, and never runs ahead of ``current``.
    public var generation: UInt64 { live.word.generation }

    /// Changes the overlay: all of the change or nothing. The next request sees it; transfers in flight finish where they
    /// are. The work grows with the overlay, not with the base.
    ///
    /// `change` runs on the caller's thread with no lock held. When another change got in first, it runs again on the rules
    /// that resulted, so it must do nothing but change its draft. A change that changes nothing counts as a change.
    /// - Returns: The generation from which on it holds, one more than the one before.
    /// - Throws: ``HTTPDNSMapping/Error``, what `change` throws, or ``HTTPDNSResolver/ConfigurationError`` after the shutdown
    ///   of the resolver or its client; then nothing has changed.
    @discardableResult
    public func apply(_ change: (inout HTTPDNSMappings.Draft) throws -> Void) throws -> UInt64 {
        while true {
            if live.isClosed { throw HTTPDNSResolver.ConfigurationError.shutDown }
            let present = live.current
            var draft = HTTPDNSMappings.Draft(present.mappings)
            try change(&draft)
            if let error = draft.errors.first { throw error }
            let changed = try present.mappings.overlaid(with: draft)
            if let generation = install(changed, after: present) { return generation }
        }
    }

    /// Puts another base in place of the present one; the overlay stays on it.
    /// - Parameter base: The new base. Its rules are arranged already, so this costs little, whatever their number.
    /// - Returns: The generation from which on it holds, one more than the one before.
    /// - Throws: ``HTTPDNSMapping/Error`` when base and overlay together have `via` rules in a circle or in a chain of more
    ///   than 8; ``HTTPDNSResolver/ConfigurationError`` after the shutdown of the resolver or its client. Then nothing has
    ///   changed.
    @discardableResult
    public func replaceBase(with base: HTTPDNSMappings) throws -> UInt64 {
        while true {
            if live.isClosed { throw HTTPDNSResolver.ConfigurationError.shutDown }
            let present = live.current
            let changed = try present.mappings.rebased(on: base)
            if let generation = install(changed, after: present) { return generation }
        }
    }

    private func install(_ mappings: HTTPDNSMappings, after present: LiveSettings) -> UInt64? {
        live.install(mappings: mappings, resolving: present.resolving, after: present)?.mappings.generation
    }
}
