// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
internal import Synchronization

/// The settings of a query that may change while a resolver runs: immutable, and replaced as a whole.
///
/// So no query ever sees parts of two sets.
final class LiveSettings: Sendable {
    let mappings: HTTPDNSMappings
    let resolving: ResolvingSettings

    init(mappings: HTTPDNSMappings, resolving: ResolvingSettings) {
        self.mappings = mappings
        self.resolving = resolving
    }

    var word: PackedSettingsVersion {
        PackedSettingsVersion(
            generation: mappings.generation,
            epoch: resolving.epoch,
            isPlain: mappings.index.isEmpty && !resolving.routes.hasAddressRules && !resolving.routes.hasModes
        )
    }
}

/// The part of ``LiveSettings`` that a cached answer needs, in one atomic read.
struct PackedSettingsVersion: Sendable, Equatable {
    private(set) var bits: UInt64

    init(bits: UInt64) { self.bits = bits }

    /// - Parameters:
    ///   - generation: The generation, of which 47 bits are kept: enough for a change each microsecond for four years.
    ///   - isPlain: Whether a cached name is decided by its answer alone: there are no mappings, address rules of routes,
    ///     rollouts or shadow modes.
    init(generation: UInt64, epoch: UInt16, isPlain: Bool) {
        bits = generation << 17 | UInt64(epoch) << 1 | (isPlain ? 1 : 0)
    }

    var generation: UInt64 { bits >> 17 }
    var epoch: UInt16 { UInt16(truncatingIfNeeded: bits >> 1) }
    var isPlain: Bool { bits & 1 != 0 }
}

/// The version of the settings in use, separate from the settings: holding it keeps no provider alive.
package final class LiveGeneration: Sendable {
    private let bits: Atomic<UInt64>

    init(_ word: PackedSettingsVersion) { bits = Atomic(word.bits) }

    /// The generation in use.
    package var number: UInt64 { word.generation }

    var word: PackedSettingsVersion { PackedSettingsVersion(bits: bits.load(ordering: .acquiring)) }

    fileprivate func publish(_ word: PackedSettingsVersion) { bits.store(word.bits, ordering: .releasing) }
}

/// The holder of the settings in use.
final class LiveSettingsBox: Sendable {
    private let settings: Lock<LiveSettings>
    /// Whether the resolver is shut down, and accepts no other settings.
    private let closed = Atomic(false)
    let generation: LiveGeneration

    init(_ settings: LiveSettings) {
        generation = LiveGeneration(settings.word)
        self.settings = Lock(settings)
    }

    /// The settings in use. Reading takes one lock while a reference is retained.
    var current: LiveSettings { settings.withLock { $0 } }

    var isClosed: Bool { closed.load(ordering: .sequentiallyConsistent) }

    func close() { closed.store(true, ordering: .sequentiallyConsistent) }

    /// The version of the settings, read without a lock. It never runs ahead of ``current``.
    var word: PackedSettingsVersion { generation.word }

    /// Puts settings in use under the next generation, unless the present ones differ from those that they were created from.
    ///
    /// Their content was prepared before: under the lock only a reference changes.
    /// - Returns: The settings in use now; nil when others were put in use first.
    func install(
        mappings: HTTPDNSMappings,
        resolving: ResolvingSettings,
        after present: LiveSettings
    ) -> LiveSettings? {
        var mappings = mappings
        mappings.generation = present.mappings.generation + 1
        let next = LiveSettings(mappings: mappings, resolving: resolving)
        // The caller still holds the old settings, so that ten thousand rules are not freed under the lock.
        return settings.withLock { current in
            guard current === present else { return nil }
            current = next
            generation.publish(next.word)
            return next
        }
    }
}
