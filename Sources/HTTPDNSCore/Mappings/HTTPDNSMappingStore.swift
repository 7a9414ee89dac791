internal import HTTPDNSPrimitives

/// The mappings in use.
///
/// Reading ``current`` takes one lock while a reference is retained; reading ``generation`` takes none.
///
/// There are two layers. The **base** comes from the settings or their file and is replaced as a whole
/// (``replaceBase(with:)``, `reload`). The **overlay** holds the changes made by ``apply(_:)``, and stays when the base is
/// replaced. For one key the overlay's rule wins over the base's. Among keys, the most specific one decides, in whichever
/// layer it is.
public final class HTTPDNSMappingStore: Sendable {
    private let live: LiveSettingsBox

    init(_ live: LiveSettingsBox) { self.live = live }

    /// The set in use.
    public var current: HTTPDNSMappings { live.current.mappings }

    /// The generation in use.
    ///
    /// It grows with every change of either layer, and with every reload that changes other settings of a resolver. It is one
    /// atomic read, and never runs ahead of ``current``.
    public var generation: UInt64 { live.word.generation }

    /// Changes the overlay: all of the change or nothing.
    ///
    /// The next request uses the change; transfers in flight keep their endpoints. The cost grows with the overlay, not with
    /// the base.
    ///
    /// `change` runs on the caller's thread with no lock held. If another change is published first, it runs again on the
    /// resulting rules, so it must change nothing but its draft. A change without effect counts as a change.
    /// - Returns: The generation from which on the change holds, one more than the previous one.
    /// - Throws: ``HTTPDNSMapping/Error``, the errors of `change`, or ``HTTPDNSResolver/ConfigurationError`` after the
    ///   shutdown of the resolver or its client. Nothing has changed then.
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

    /// Replaces the base; the overlay stays on it.
    /// - Parameter base: The new base. Its rules are already indexed, so that replacing costs little, whatever their number.
    /// - Returns: The generation from which on the base holds, one more than the previous one.
    /// - Throws: ``HTTPDNSMapping/Error`` when base and overlay together have `via` rules in a circle or in a chain of more
    ///   than 8; ``HTTPDNSResolver/ConfigurationError`` after the shutdown of the resolver or its client. Nothing has changed
    ///   then.
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
