internal import HTTPDNSPrimitives
internal import Synchronization

/// Everything that a question goes by and that may change while a resolver runs: immutable, and replaced as a whole, so that
/// no question ever sees half of two sets.
final class LiveSettings: Sendable {
    let mappings: HTTPDNSMappings
    let resolving: ResolvingSettings

    init(mappings: HTTPDNSMappings, resolving: ResolvingSettings) {
        self.mappings = mappings
        self.resolving = resolving
    }

    var word: LiveWord {
        LiveWord(
            generation: mappings.generation,
            epoch: resolving.epoch,
            isPlain: mappings.index.isEmpty && !resolving.routes.hasAddressRules && !resolving.routes.hasModes
        )
    }
}

/// What the way of a cached answer has to know of ``LiveSettings``, in one atomic read.
struct LiveWord: Sendable, Equatable {
    private(set) var bits: UInt64

    init(bits: UInt64) { self.bits = bits }

    /// - Parameters:
    ///   - generation: 47 bits of it: enough for a change each microsecond for four years.
    ///   - isPlain: Whether a name in the cache is decided by nothing but its answer: there are no mappings, no addresses
    ///     that a route allows or forbids, no rollouts and no shadows.
    init(generation: UInt64, epoch: UInt16, isPlain: Bool) {
        bits = generation << 17 | UInt64(epoch) << 1 | (isPlain ? 1 : 0)
    }

    var generation: UInt64 { bits >> 17 }
    var epoch: UInt16 { UInt16(truncatingIfNeeded: bits >> 1) }
    var isPlain: Bool { bits & 1 != 0 }
}

/// The number of the settings in use, apart from these: who holds it keeps no provider alive.
package final class LiveGeneration: Sendable {
    private let bits: Atomic<UInt64>

    init(_ word: LiveWord) { bits = Atomic(word.bits) }

    /// The generation in use.
    package var number: UInt64 { word.generation }

    var word: LiveWord { LiveWord(bits: bits.load(ordering: .acquiring)) }

    fileprivate func publish(_ word: LiveWord) { bits.store(word.bits, ordering: .releasing) }
}

/// The one place where the settings in use stand.
final class LiveCell: Sendable {
    private let settings: Lock<LiveSettings>
    /// Whether the resolver is shut down, and takes no other settings.
    private let closed = Atomic(false)
    let generation: LiveGeneration

    init(_ settings: LiveSettings) {
        generation = LiveGeneration(settings.word)
        self.settings = Lock(settings)
    }

    /// The settings in use: one lock for the time of a reference count.
    var current: LiveSettings { settings.withLock { $0 } }

    var isClosed: Bool { closed.load(ordering: .sequentiallyConsistent) }

    func close() { closed.store(true, ordering: .sequentiallyConsistent) }

    /// What is known of them without a lock. It never runs ahead of ``current``.
    var word: LiveWord { generation.word }

    /// Puts settings in place under the next generation, unless the present ones are no longer those that they were made
    /// from. What they hold was arranged before: under the lock there is a reference to be changed, and nothing to be built.
    /// - Returns: The settings as they are in use now; nil when others got in first.
    func install(
        mappings: HTTPDNSMappings,
        resolving: ResolvingSettings,
        after present: LiveSettings
    ) -> LiveSettings? {
        var mappings = mappings
        mappings.generation = present.mappings.generation + 1
        let next = LiveSettings(mappings: mappings, resolving: resolving)
        // The caller still holds the old ones, so that ten thousand rules are not freed under the lock.
        return settings.withLock { current in
            guard current === present else { return nil }
            current = next
            generation.publish(next.word)
            return next
        }
    }
}
