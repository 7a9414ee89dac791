// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// A table of the lookups in flight and their waiters: at most one lookup for a key, shared by all concurrent queries.
///
/// A value without I/O. Its methods return the work that is to be done after the lock around it is released.
struct LookupCoalescer<Key: Hashable & Sendable, Waiter: Sendable, Work: Sendable>: Sendable {
    struct FlightID: Hashable, Sendable { fileprivate var number: UInt64 }
    struct WaiterID: Hashable, Sendable { fileprivate var number: UInt64 }

    /// A waiter's entry in a lookup.
    struct Seat: Hashable, Sendable {
        var flight: FlightID
        var waiter: WaiterID
    }

    /// The remaining work after the end of a lookup.
    struct LookupCompletion: Sendable {
        /// All present waiters, which receive the result.
        var waiters: [Waiter]
        /// Whether the result may be cached: not when the cache was cleared since the lookup began.
        var isCurrent: Bool
    }

    private struct LookupInFlight: Sendable {
        var key: Key
        /// The version of the settings under which the lookup began.
        var epoch: UInt16
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
        var landsAnyway = false
    }

    private var flights: [FlightID: LookupInFlight] = [:]
    private var current: [Key: FlightID] = [:]
    private var lastNumber: UInt64 = 0

    init() {}

    /// The number of lookups in flight.
    var count: Int { flights.count }

    /// Returns whether a lookup for a key is in flight that a new query may share.
    func isUnderWay(_ key: Key) -> Bool { current[key] != nil }

    /// Returns whether the lookup in flight for a key uses newer settings than these. The caller then has to read the newer
    /// settings first.
    func isOutdated(_ key: Key, epoch: UInt16) -> Bool {
        guard let flight = current[key].flatMap({ flights[$0] }) else { return false }
        return ResolvingSettings.isNewer(flight.epoch, than: epoch)
    }

    /// Returns the start of the lookup that a query for a key would share; nil when there is none.
    func startTime(_ key: Key, epoch: UInt16) -> MonotonicTime? {
        guard let flight = current[key].flatMap({ flights[$0] }), flight.epoch == epoch, !flight.isPartial else {
            return nil
        }
        return flight.startedAt
    }

    /// Returns whether a lookup has waiters.
    func hasWaiters(_ flight: FlightID) -> Bool { flights[flight]?.waiters.isEmpty == false }

    /// Adds a waiter to the lookup for a key.
    ///
    /// A lookup that began under older settings keeps its present waiters and gets no new one. The same holds for a lookup on
    /// the runtime's threads when the caller is a blocking call.
    /// - Parameters:
    ///   - onOwnThreads: Whether the caller is a blocking call.
    ///   - epoch: The version of the query's settings; see ``isOutdated(_:epoch:)``.
    ///   - now: The start of a new lookup.
    ///   - mayStart: Called when there is no lookup to share. Returns whether another one may start.
    /// - Returns: The waiter's entry, and whether the caller has to start the lookup; nil when no lookup may start.
    mutating func join(
        _ key: Key,
        _ waiter: Waiter,
        epoch: UInt16 = 0,
        onOwnThreads: Bool = CallWork.executor != nil,
        at now: MonotonicTime,
        mayStart: () -> Bool
    ) -> (seat: Seat, starts: Bool)? {
        lastNumber += 1
        let waiterID = WaiterID(number: lastNumber)
        // The lookup is changed in place: a copy would make each new waiter copy all other waiters.
        let isShared = { (flight: LookupInFlight) in
            flight.epoch == epoch && !flight.isPartial && (flight.isOnOwnThreads || !onOwnThreads)
        }
        if let flight = current[key], flights[flight].map(isShared) == true {
            flights[flight]?.waiters[waiterID] = waiter
            return (Seat(flight: flight, waiter: waiterID), false)
        }
        guard mayStart() else { return nil }
        let flight = FlightID(number: lastNumber)
        if let older = current[key] { flights[older]?.isCurrent = false }
        flights[flight] = LookupInFlight(
            key: key,
            epoch: epoch,
            startedAt: now,
            waiters: [waiterID: waiter],
            isOnOwnThreads: onOwnThreads
        )
        current[key] = flight
        return (Seat(flight: flight, waiter: waiterID), true)
    }

    /// Returns whether a lookup in flight only adds families to the answer for a key.
    func isCompleting(_ key: Key) -> Bool {
        guard let flight = current[key] else { return false }
        return flights[flight]?.isPartial == true
    }

    /// Adds a waiter to the lookup that only adds families to the answer for a key.
    /// - Parameter onOwnThreads: Whether the caller is a blocking call.
    /// - Returns: Nil when there is no such lookup that the caller may wait for.
    mutating func joinCompletion(_ key: Key, _ waiter: Waiter, onOwnThreads: Bool = CallWork.executor != nil) -> Seat? {
        guard let flight = current[key], flights[flight]?.isPartial == true,
            !onOwnThreads || flights[flight]?.isOnOwnThreads == true
        else { return nil }
        lastNumber += 1
        let waiterID = WaiterID(number: lastNumber)
        flights[flight]?.waiters[waiterID] = waiter
        return Seat(flight: flight, waiter: waiterID)
    }

    /// Opens a lookup without waiters, for later queries.
    /// - Parameters:
    ///   - onOwnThreads: Whether its task runs on the threads of a blocking call.
    ///   - inBatch: Whether its answer is expected from a batch of names, and not from its own query.
    ///   - isPartial: Whether its result only adds families to a cached answer within its lifetime.
    /// - Returns: Nil when there is one for the key already, or no further one may start.
    mutating func open(
        _ key: Key,
        epoch: UInt16 = 0,
        onOwnThreads: Bool = false,
        inBatch: Bool = false,
        isPartial: Bool = false,
        at now: MonotonicTime,
        mayStart: () -> Bool
    ) -> FlightID? {
        guard current[key] == nil, mayStart() else { return nil }
        lastNumber += 1
        let flight = FlightID(number: lastNumber)
        flights[flight] = LookupInFlight(
            key: key,
            epoch: epoch,
            startedAt: now,
            isPartial: isPartial,
            isOnOwnThreads: onOwnThreads,
            isBegun: !inBatch,
            landsAnyway: true
        )
        current[key] = flight
        return flight
    }

    /// Returns whether the lookup's own query was started, or the lookup has ended.
    func isBegun(_ flight: FlightID) -> Bool { flights[flight]?.isBegun ?? true }

    /// Records that a batched lookup gets its own query.
    /// - Returns: Whether the caller has to start it; false when it was started before, or the lookup has ended.
    mutating func begin(_ flight: FlightID) -> Bool {
        guard flights[flight]?.isBegun == false else { return false }
        flights[flight]?.isBegun = true
        return true
    }

    /// Returns the task of a started lookup.
    func work(of flight: FlightID) -> Work? { flights[flight]?.work }

    /// Returns all waiters of lookups with matching keys. They stay in the table.
    func waiters(where isMeant: (Key) -> Bool) -> [Waiter] {
        flights.values.filter { !$0.waiters.isEmpty && isMeant($0.key) }.flatMap { $0.waiters.values }
    }

    /// Stores the task of a started lookup.
    /// - Returns: The task, to be canceled, when the lookup has no waiters any more.
    mutating func attach(_ work: Work, to flight: FlightID) -> Work? {
        guard flights[flight] != nil else { return work }
        flights[flight]?.work = work
        return nil
    }

    /// Removes a waiter. The lookup's other waiters are not affected.
    /// - Parameter letsItLand: Whether the lookup continues for later queries when this was the last waiter.
    /// - Returns: Whether that ended the lookup, and its task, to be canceled.
    mutating func leave(_ seat: Seat, letsItLand: Bool = false) -> (ended: Bool, work: Work?) {
        // The lookup is changed in place: a copy would make each waiter that leaves copy all other waiters.
        guard flights[seat.flight]?.waiters.removeValue(forKey: seat.waiter) != nil else { return (false, nil) }
        if letsItLand { flights[seat.flight]?.landsAnyway = true }
        guard let flight = flights[seat.flight], flight.waiters.isEmpty, !flight.landsAnyway else {
            return (false, nil)
        }
        remove(seat.flight, flight)
        return (true, flight.work)
    }

    /// Ends a lookup and frees its key.
    /// - Returns: Nil when the lookup was already removed.
    mutating func land(_ id: FlightID) -> LookupCompletion? {
        guard let flight = flights[id] else { return nil }
        remove(id, flight)
        return LookupCompletion(waiters: Array(flight.waiters.values), isCurrent: flight.isCurrent)
    }

    /// Detaches all lookups: they continue for their present waiters, and the next query starts a new one.
    mutating func supersedeAll() {
        for id in flights.keys { flights[id]?.isCurrent = false }
        current.removeAll()
    }

    /// Removes the lookups with matching keys.
    /// - Returns: Their number, their waiters, and their tasks to be canceled.
    mutating func removeAll(where isMeant: (Key) -> Bool = { _ in true }) -> (
        count: Int, waiters: [Waiter], work: [Work]
    ) {
        let ended = flights.filter { isMeant($0.value.key) }
        for (id, flight) in ended { remove(id, flight) }
        return (ended.count, ended.values.flatMap { $0.waiters.values }, ended.values.compactMap(\.work))
    }

    private mutating func remove(_ id: FlightID, _ flight: LookupInFlight) {
        flights[id] = nil
        if current[flight.key] == id { current[flight.key] = nil }
    }
}
