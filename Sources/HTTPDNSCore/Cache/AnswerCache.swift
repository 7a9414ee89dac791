// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSMessages
package import HTTPDNSPrimitives

/// The cached answers and the lookups in flight, in shards with a lock each.
///
/// Threads that use different names rarely wait for each other. Answers and lookups of one name share a shard: reading the
/// cache, finding no answer and joining a lookup is one step under one lock.
package struct AnswerCache: Sendable {
    typealias Waiter = OneShot<Result<CachedAnswer, WaitFailure>>
    typealias Lookups = LookupCoalescer<CacheKey, Waiter, LookupTask>

    final class Shard: Sendable {
        struct State: Sendable {
            var table: AnswerTable
            var lookups = Lookups()

            /// Returns the cached data for a key, as far as these settings may use it. Unusable data is removed.
            /// - Returns: Nil when the settings are no longer the newest: the query has to be decided again.
            mutating func known(_ key: CacheKey, by settings: ResolvingSettings, at now: MonotonicTime) -> Known? {
                guard let (answer, version) = table.findWithVersion(key) else { return Known() }
                if version == settings.version { return Known(answer: answer) }
                if ResolvingSettings.isNewer(version, than: settings.version) { return nil }
                let kept = settings.adopt(answer)
                if let kept, kept.isIdentical(to: answer) {
                    table.confirm(key, version: settings.version)
                } else {
                    table.set(kept, for: key, at: now, version: settings.version)
                }
                return Known(answer: kept)
            }
        }

        /// The cached data for a key.
        struct Known: Sendable {
            var answer: CachedAnswer?
        }

        let state: Lock<State>

        init(capacity: Int, byteLimit: Int) {
            state = Lock(State(table: AnswerTable(capacity: capacity, byteLimit: byteLimit)))
        }
    }

    let shards: [Shard]
    /// The shift that leaves the high bits of a hash, which select the shard.
    private let shift: UInt64

    /// The maximum number of shards. More would not help: with 16, threads of a machine with 64 cores seldom collide.
    private static let maximumShards = 16
    /// The minimum capacity of a shard. A smaller one would be full long before the cache is.
    private static let placesPerShard = 64

    /// - Parameters:
    ///   - entries: The maximum number of keys, at least 1. Names are distributed over the shards by their hash. So a cache
    ///     with nearly as many names as its capacity keeps a few less.
    ///   - bytes: The maximum number of bytes.
    package init(entries: Int, bytes: Int) {
        var count = Self.maximumShards
        while count > 1, entries / count < Self.placesPerShard { count /= 2 }
        shift = UInt64(64 - count.trailingZeroBitCount)
        // The remainder is distributed, so that the sum is exactly the limit.
        shards = (0..<count).map { number in
            Shard(
                capacity: entries / count + (number < entries % count ? 1 : 0),
                byteLimit: bytes / count
            )
        }
    }

    /// Returns the shard of a key.
    func shard(for key: CacheKey) -> Shard { shard(forHash: key.hash) }

    @inline(__always)
    private func shard(forHash hash: UInt64) -> Shard {
        shards[shards.count == 1 ? 0 : Int(truncatingIfNeeded: hash >> shift)]
    }

    /// Returns the answer for a key, marked as used, if it is known to be usable under the settings with this version.
    package func find(_ key: CacheKey, version: UInt16 = 0) -> CachedAnswer? {
        shard(for: key).state.withLock { state in
            guard let (answer, known) = state.table.findWithVersion(key), known == version else { return nil }
            return answer
        }
    }

    /// Returns the answer for a key without a client subnet, marked as used, if it alone decides under these settings.
    ///
    /// It takes the parts of the key, so that a name is not copied for it.
    @inline(__always)
    func findForDirectUse(
        _ host: HTTPDNSName,
        families: HTTPDNSAddress.Families?,
        isSystemOnly: Bool,
        under version: PackedSettingsVersion
    ) -> (answer: CachedAnswer, use: DirectUse)? {
        let hash = CacheKey.hash(host, families: families, isSystemOnly: isSystemOnly)
        return shard(forHash: hash).state.withLock { state in
            state.table.findForDirectUse(hash: hash, under: version) {
                $0.places.match(host, families: families, isSystemOnly: isSystemOnly, clientSubnet: nil)
            }
        }
    }

    /// Returns the answer for all clients that a query with a client subnet may use; nil for other queries.
    func answerForAllClients(
        _ key: CacheKey,
        by settings: ResolvingSettings,
        at now: MonotonicTime
    ) -> CachedAnswer? {
        guard key.clientSubnet != nil else { return nil }
        let key = key.withoutClientSubnet
        let known = shard(for: key).state.withLock { $0.known(key, by: settings, at: now) }
        guard let answer = known?.answer, answer.header.details?.fields.holdsForAllClients == true else { return nil }
        return answer
    }

    /// Records the settings under which an answer alone decides, unless another one has replaced it.
    func note(_ use: DirectUse, of answer: CachedAnswer, for key: CacheKey) {
        shard(for: key).state.withLock { $0.table.note(use, of: answer, for: key) }
    }

    /// Adds an answer from before a restart, unless a newer one is known. Its lifetime may be over.
    package func restore(_ answer: KnownAnswer, for key: CacheKey, at now: MonotonicTime, version: UInt16 = 0) {
        shard(for: key).state.withLock { state in
            guard state.table.find(key) == nil else { return }
            state.table.set(CachedAnswer(key, answer), for: key, at: now, version: version)
        }
    }

    /// The number of keys in the cache.
    var count: Int { shards.reduce(0) { $0 + $1.state.withLock { $0.table.count } } }

    /// The memory of all answers, with their share of the tables.
    package var byteCount: Int { shards.reduce(0) { $0 + $1.state.withLock { $0.table.byteCount } } }

    /// All answers at about this time, in no order.
    var answers: [CachedAnswer] { shards.flatMap { $0.state.withLock { $0.table.answers } } }

    /// Removes everything. Lookups in flight still answer their waiters.
    func removeAll() {
        for shard in shards {
            shard.state.withLock { state in
                state.table.removeAll()
                state.lookups.supersedeAll()
            }
        }
    }
}

/// The key of a cached answer.
///
/// Ports share addresses, so the port is not part of it. Neither is the route: it follows from the name, and each answer has
/// its own route.
package struct CacheKey: Hashable, Sendable {
    let host: HTTPDNSName
    /// The families that the query itself names; nil means those of the name's route.
    let families: HTTPDNSAddress.Families?
    /// Whether the answer comes from the system resolver, regardless of the routes.
    let isSystemOnly: Bool
    /// The client network that the query itself names; nil means that of the name's route.
    let clientSubnet: HTTPDNSAddressBlock?
    let hash: UInt64

    package init(
        _ host: HTTPDNSName,
        families: HTTPDNSAddress.Families? = nil,
        isSystemOnly: Bool = false,
        clientSubnet: HTTPDNSAddressBlock? = nil
    ) {
        self.host = host
        self.families = families
        self.isSystemOnly = isSystemOnly
        // Cut as it is sent: all clients of one network share an answer.
        let clientSubnet = clientSubnet.map { DNSClientSubnet($0).network }
        self.clientSubnet = clientSubnet
        var salt: UInt64 = 0
        if let clientSubnet {
            salt =
                clientSubnet.address.low &* 0x9e37_79b9_7f4a_7c15 &+ clientSubnet.address.high << 8
                &+ UInt64(truncatingIfNeeded: clientSubnet.prefixLength) << 56
        }
        hash = CacheKey.hash(host, families: families, isSystemOnly: isSystemOnly, subnet: salt)
    }

    /// Returns the hash of a key with these parts.
    /// - Parameter subnet: The bits of the client subnet; 0 without one.
    @inline(__always)
    static func hash(
        _ host: HTTPDNSName,
        families: HTTPDNSAddress.Families?,
        isSystemOnly: Bool,
        subnet: UInt64 = 0
    ) -> UInt64 {
        let salt = UInt64(families?.rawValue ?? 0) << 1 | (isSystemOnly ? 1 : 0) | (host.isAbsolute ? 1 << 9 : 0)
        return NameHash.hash(host, salt: salt | subnet)
    }

    /// The key of an answer for any client.
    var withoutClientSubnet: CacheKey { CacheKey(host, families: families, isSystemOnly: isSystemOnly) }

    package static func == (left: CacheKey, right: CacheKey) -> Bool {
        left.hash == right.hash && left.families == right.families && left.isSystemOnly == right.isSystemOnly
            && left.host == right.host && left.host.isAbsolute == right.host.isAbsolute
            && left.clientSubnet == right.clientSubnet
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}
