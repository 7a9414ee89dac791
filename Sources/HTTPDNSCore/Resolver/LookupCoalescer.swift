// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// A table of the lookups in flight and their waiters: at most one lookup for a key, shared by all concurrent queries.
///
/// A value without I/O. Its methods return the work that is to be done after the lock around it is released.
struct LookupCoalescer<Key: Hashable & Sendable, Waiter: Sendable, Work: Sendable>: Sendable {
    struct LookupID: Hashable, Sendable { fileprivate var number: UInt64 }
    struct WaiterID: Hashable, Sendable { fileprivate var number: UInt64 }

    /// A waiter's entry in a lookup.
    struct WaiterEntry: Hashable, Sendable {
        var lookupID: LookupID
        var waiter: WaiterID
    }

    private struct LookupInFlight: Sendable {
        var key: Key
        /// The version of the settings under which the lookup began.
        var version: UInt16
        var startedAt: MonotonicTime
        /// Whether the result only adds families to a cached answer within its lifetime. Other queries cannot use it then.
        var isPartial = false
        var waiters: [WaiterID: Waiter] = [:]
        var work: Work?
        var isCurrent = true
        /// Whether its task continues when all threads of the runtime are blocked.
        var isOnOwnThreads = false
        /// Whether its own query was started. False while the answer is expected from a batch of names.
        var isBegun = true
        /// Whether the lookup continues without waiters.
        var isDetached = false
    }

    private var lookups: [LookupID: LookupInFlight] = [:]
    private var current: [Key: LookupID] = [:]
    private var lastNumber: UInt64 = 0

    init() {}

    /// The number of lookups in flight.
    var count: Int { lookups.count }

    /// Returns whether the lookup in flight for a key uses newer settings than these. The caller then has to read the newer
    /// settings first.
    func isOutdated(_ key: Key, version: UInt16) -> Bool {
        guard let lookup = current[key].flatMap({ lookups[$0] }) else { return false }
        return ResolvingSettings.isNewer(lookup.version, than: version)
    }

    /// Returns the start of the lookup that a query for a key would share; nil when there is none.
    func startTime(_ key: Key, version: UInt16) -> MonotonicTime? {
        guard let lookup = current[key].flatMap({ lookups[$0] }), lookup.version == version, !lookup.isPartial else {
            return nil
        }
        return lookup.startedAt
    }

    /// Returns whether a lookup has waiters.
    func contains(_ lookupID: LookupID) -> Bool { lookups[lookupID] != nil }

    func hasWaiters(_ lookupID: LookupID) -> Bool { lookups[lookupID]?.waiters.isEmpty == false }

    /// Adds a waiter to the lookup for a key.
    ///
    /// A lookup that began under older settings keeps its present waiters and gets no new one. The same holds for a lookup on
    /// the runtime's threads when the caller is a blocking call.
    /// - Parameters:
    ///   - onOwnThreads: Whether the caller is a blocking call.
    ///   - version: The version of the query's settings; see ``isOutdated(_:version:)``.
    ///   - now: The start of a new lookup.
    ///   - mayStart: Called when there is no lookup to share. Returns whether another one may start.
    /// - Returns: The waiter's entry, and whether the caller has to start the lookup; nil when no lookup may start.
    mutating func join(
        _ key: Key,
        _ waiter: Waiter,
        version: UInt16 = 0,
        onOwnThreads: Bool = CallWork.executor != nil,
        at now: MonotonicTime,
        mayStart: () -> Bool
    ) -> (entry: WaiterEntry, starts: Bool)? {
        lastNumber += 1
        let waiterID = WaiterID(number: lastNumber)
        // The lookup is changed in place: a copy would make each new waiter copy all other waiters.
        let isShared = { (lookup: LookupInFlight) in
            lookup.version == version && !lookup.isPartial && (lookup.isOnOwnThreads || !onOwnThreads)
        }
        if let lookupID = current[key], lookups[lookupID].map(isShared) == true {
            lookups[lookupID]?.waiters[waiterID] = waiter
            return (WaiterEntry(lookupID: lookupID, waiter: waiterID), false)
        }
        guard mayStart() else { return nil }
        let lookupID = LookupID(number: lastNumber)
        if let older = current[key] { lookups[older]?.isCurrent = false }
        lookups[lookupID] = LookupInFlight(
            key: key,
            version: version,
            startedAt: now,
            waiters: [waiterID: waiter],
            isOnOwnThreads: onOwnThreads
        )
        current[key] = lookupID
        return (WaiterEntry(lookupID: lookupID, waiter: waiterID), true)
    }

    /// Returns whether a lookup in flight only adds families to the answer for a key.
    func isCompleting(_ key: Key) -> Bool {
        guard let lookupID = current[key] else { return false }
        return lookups[lookupID]?.isPartial == true
    }

    /// Adds a waiter to the lookup that only adds families to the answer for a key.
    /// - Parameter onOwnThreads: Whether the caller is a blocking call.
    /// - Returns: Nil when there is no such lookup that the caller may wait for.
    mutating func joinCompletion(_ key: Key, _ waiter: Waiter, onOwnThreads: Bool = CallWork.executor != nil)
        -> WaiterEntry?
    {
        guard let lookupID = current[key], lookups[lookupID]?.isPartial == true,
            !onOwnThreads || lookups[lookupID]?.isOnOwnThreads == true
        else { return nil }
        lastNumber += 1
        let waiterID = WaiterID(number: lastNumber)
        lookups[lookupID]?.waiters[waiterID] = waiter
        return WaiterEntry(lookupID: lookupID, waiter: waiterID)
    }

    /// Opens a lookup without waiters, for later queries.
    /// - Parameters:
    ///   - onOwnThreads: Whether its task runs on the threads of a blocking call.
    ///   - inBatch: Whether its answer is expected from a batch of names, and not from its own query.
    ///   - isPartial: Whether its result only adds families to a cached answer within its lifetime.
    /// - Returns: Nil when there is one for the key already, or no further one may start.
    mutating func open(
        _ key: Key,
        version: UInt16 = 0,
        onOwnThreads: Bool = false,
        inBatch: Bool = false,
        isPartial: Bool = false,
        at now: MonotonicTime,
        mayStart: () -> Bool
    ) -> LookupID? {
        guard current[key] == nil, mayStart() else { return nil }
        lastNumber += 1
        let lookupID = LookupID(number: lastNumber)
        lookups[lookupID] = LookupInFlight(
            key: key,
            version: version,
            startedAt: now,
            isPartial: isPartial,
            isOnOwnThreads: onOwnThreads,
            isBegun: !inBatch,
            isDetached: true
        )
        current[key] = lookupID
        return lookupID
    }

    /// Returns whether the lookup's own query was started, or the lookup has ended.
    func isBegun(_ lookupID: LookupID) -> Bool { lookups[lookupID]?.isBegun ?? true }

    /// Records that a batched lookup gets its own query.
    /// - Returns: Whether the caller has to start it; false when it was started before, or the lookup has ended.
    mutating func begin(_ lookupID: LookupID) -> Bool {
        guard lookups[lookupID]?.isBegun == false else { return false }
        lookups[lookupID]?.isBegun = true
        return true
    }

    /// Returns the task of a started lookup.
    func work(of lookupID: LookupID) -> Work? { lookups[lookupID]?.work }

    /// Returns all waiters of lookups with matching keys. They stay in the table.
    func waiters(where isMeant: (Key) -> Bool) -> [Waiter] {
        lookups.values.filter { !$0.waiters.isEmpty && isMeant($0.key) }.flatMap { $0.waiters.values }
    }

    /// Stores the task of a started lookup.
    /// - Returns: The task, to be canceled, when the lookup has no waiters any more.
    mutating func attach(_ work: Work, to lookupID: LookupID) -> Work? {
        guard lookups[lookupID] != nil else { return work }
        lookups[lookupID]?.work = work
        return nil
    }

    /// Removes a waiter. The lookup's other waiters are not affected.
    /// - Parameter continues: Whether the lookup continues for later queries when this was the last waiter.
    /// - Returns: Whether that ended the lookup, and its task, to be canceled.
    mutating func leave(_ entry: WaiterEntry, continues: Bool = false) -> (ended: Bool, work: Work?) {
        // The lookup is changed in place: a copy would make each waiter that leaves copy all other waiters.
        guard lookups[entry.lookupID]?.waiters.removeValue(forKey: entry.waiter) != nil else { return (false, nil) }
        if continues { lookups[entry.lookupID]?.isDetached = true }
        guard let lookup = lookups[entry.lookupID], lookup.waiters.isEmpty, !lookup.isDetached else {
            return (false, nil)
        }
        remove(entry.lookupID, lookup)
        return (true, lookup.work)
    }

    /// Ends a lookup and frees its key.
    /// - Returns: All present waiters, which receive the result, and whether it may be cached: not when the cache was cleared since
    ///   the lookup began. Nil when the lookup was already removed.
    mutating func complete(_ id: LookupID) -> (waiters: [Waiter], isCurrent: Bool)? {
        guard let lookup = lookups[id] else { return nil }
        remove(id, lookup)
        return (Array(lookup.waiters.values), lookup.isCurrent)
    }

    /// Detaches all lookups: they continue for their present waiters, and the next query starts a new one.
    mutating func supersedeAll() {
        for id in lookups.keys { lookups[id]?.isCurrent = false }
        current.removeAll()
    }

    /// Removes the lookups with matching keys.
    /// - Returns: Their number, their waiters, and their tasks to be canceled.
    mutating func removeAll(where isMeant: (Key) -> Bool = { _ in true }) -> (
        count: Int, waiters: [Waiter], work: [Work]
    ) {
        let ended = lookups.filter { isMeant($0.value.key) }
        for (id, lookup) in ended { remove(id, lookup) }
        return (ended.count, ended.values.flatMap { $0.waiters.values }, ended.values.compactMap(\.work))
    }

    private mutating func remove(_ id: LookupID, _ lookup: LookupInFlight) {
        lookups[id] = nil
        if current[lookup.key] == id { current[lookup.key] = nil }
    }
}
