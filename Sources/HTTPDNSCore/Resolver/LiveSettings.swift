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
        PackedSettingsVersion(generation: mappings.generation, version: resolving.version)
    }
}

/// The part of ``LiveSettings`` that a cached answer needs, in one atomic read.
struct PackedSettingsVersion: Sendable, Equatable {
    /// The two low bits are zero, see ``DirectUse``.
    private(set) var bits: UInt64

    init(bits: UInt64) { self.bits = bits }

    /// - Parameter generation: The generation, of which 46 bits are kept: enough for a change each microsecond for two years.
    init(generation: UInt64, version: UInt16) {
        bits = generation << 18 | UInt64(version) << 2
    }

    var generation: UInt64 { bits >> 18 }
    var version: UInt16 { UInt16(truncatingIfNeeded: bits >> 2) }
}

/// The version of the settings under which a cached answer alone decides the queries for its key.
///
/// No mapping applies to the name on any port, its route is in use for it, and the address policy allows all addresses. All of
/// that was checked once, under exactly these settings. So later queries need neither settings nor policy.
struct DirectUse: Sendable, Equatable {
    /// The bits of the version. The two lowest bits are the properties below.
    private let bits: UInt64

    /// Nothing is known.
    static let unknown = DirectUse(bits: 0)

    private init(bits: UInt64) { self.bits = bits }

    /// - Parameters:
    ///   - countsRollout: Whether each query counts as one within a rollout.
    ///   - dependsOnKey: Whether it holds only for queries without a rollout key of their own.
    init(under version: PackedSettingsVersion, countsRollout: Bool, dependsOnKey: Bool) {
        bits = version.bits | (countsRollout ? 1 : 0) | (dependsOnKey ? 2 : 0)
    }

    var countsRollout: Bool { bits & 1 != 0 }
    var dependsOnKey: Bool { bits & 2 != 0 }

    /// Returns whether it was recorded under exactly these settings. Generations begin at 1, so nothing known is never equal.
    @inline(__always)
    func holds(under version: PackedSettingsVersion) -> Bool { (bits ^ version.bits) & ~3 == 0 }
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
