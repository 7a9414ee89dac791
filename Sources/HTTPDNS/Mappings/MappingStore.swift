internal import HTTPDNSPrimitives
internal import Synchronization

/// The mappings in use. Reading takes one lock for the time of a reference count; the generation alone takes none.
///
/// There are two layers. The **base** comes from the settings or their file and is replaced as a whole
/// (``replaceBase(with:)``, `reload`). The **overlay** is what ``apply(_:)`` changed since, and outlives every base. For one
/// key the overlay's rule counts, else the base's; then the closest key decides, wherever its rule comes from.
public final class MappingStore: Sendable {
    private let mappings: Lock<HostMappings>
    /// Twice the generation of `mappings`, and one more when there are rules; written under its lock and read without.
    private let published: Atomic<UInt64>

    package init(_ mappings: HostMappings) {
        published = Atomic(MappingStore.word(mappings))
        self.mappings = Lock(mappings)
    }

    /// The set in use.
    public var current: HostMappings { mappings.withLock { $0 } }

    /// The generation in use: it grows with every change of either layer, and with every reload that changes other settings
    /// of a resolver. It is one atomic read, and never runs ahead of ``current``.
    public var generation: UInt64 { published.load(ordering: .acquiring) >> 1 }

    /// The generation in use if it has no rules: many clients have none, and their requests then take no lock here.
    var generationWithoutRules: UInt64? {
        let word = published.load(ordering: .acquiring)
        return word & 1 == 0 ? word >> 1 : nil
    }

    private static func word(_ mappings: HostMappings) -> UInt64 {
        mappings.generation << 1 | (mappings.index.isEmpty ? 0 : 1)
    }

    /// Changes the overlay: all of the change or nothing. The next request sees it; transfers in flight finish where they
    /// are. The work grows with the overlay, not with the base.
    ///
    /// `change` runs on the caller's thread with no lock held. When another change got in first, it runs again on the rules
    /// that resulted, so it must do nothing but change its draft. A change that changes nothing counts as a change.
    /// - Returns: The generation from which on it holds, one more than the one before.
    /// - Throws: ``MappingError``, or what `change` throws; then nothing has changed.
    @discardableResult
    public func apply(_ change: (inout HostMappings.Draft) throws -> Void) throws -> UInt64 {
        while true {
            let present = current
            var draft = HostMappings.Draft(present)
            try change(&draft)
            if let error = draft.errors.first { throw error }
            let changed = try present.overlaid(with: draft)
            if let generation = install(changed, after: present.generation) { return generation }
        }
    }

    /// Puts another base in place of the present one; the overlay stays on it.
    /// - Parameter base: The new base. Its rules are arranged already, so this costs little, whatever their number.
    /// - Returns: The generation from which on it holds, one more than the one before.
    /// - Throws: ``MappingError`` when base and overlay together have `via` rules in a circle or in a chain of more than 8;
    ///   then nothing has changed.
    @discardableResult
    public func replaceBase(with base: HostMappings) throws(MappingError) -> UInt64 {
        while true {
            let present = current
            let changed = try present.rebased(on: base)
            if let generation = install(changed, after: present.generation) { return generation }
        }
    }

    /// Puts a set in place under the next number, unless the present one is no longer `base`.
    private func install(_ set: HostMappings, after base: UInt64) -> UInt64? {
        mappings.withLock { current in
            guard current.generation == base else { return nil }
            current = set
            current.generation = base + 1
            published.store(MappingStore.word(current), ordering: .releasing)
            return base + 1
        }
    }
}
