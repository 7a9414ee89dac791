internal import HTTPDNSPrimitives

/// Who waits for which question in flight: at most one flight for a key, shared by all who ask while it lasts.
///
/// A value without I/O; its methods return what is to be done once the lock round it is let go.
struct FlightTable<Key: Hashable & Sendable, Waiter: Sendable, Work: Sendable>: Sendable {
    struct FlightID: Hashable, Sendable { fileprivate var number: UInt64 }
    struct WaiterID: Hashable, Sendable { fileprivate var number: UInt64 }

    /// A place in a flight.
    struct Seat: Hashable, Sendable {
        var flight: FlightID
        var waiter: WaiterID
    }

    /// What a flight that has ended leaves to do.
    struct Landing: Sendable {
        /// All who still wait, to be given the result.
        var waiters: [Waiter]
        /// Whether the result may be cached: not when everything cached was removed since the flight began.
        var isCurrent: Bool
    }

    private struct Flight: Sendable {
        var key: Key
        /// Under which settings it began.
        var epoch: UInt16
        var startedAt: MonotonicTime
        /// Whether its result only completes an answer within its life: then nobody else can use it.
        var isPartial = false
        var waiters: [WaiterID: Waiter] = [:]
        var work: Work?
        var isCurrent = true
        /// Whether its work goes on when all threads of the runtime are blocked.
        var isOnOwnThreads = false
        /// Whether a lookup of its own was begun. Not so while the answer is to come with a batch of names.
        var isBegun = true
        /// Whether it goes on when nobody waits.
        var landsAnyway = false
    }

    private var flights: [FlightID: Flight] = [:]
    private var current: [Key: FlightID] = [:]
    private var lastNumber: UInt64 = 0

    /// How many flights are under way.
    var count: Int { flights.count }

    /// Whether a question about a key is under way that a new one may share.
    func isUnderWay(_ key: Key) -> Bool { current[key] != nil }

    /// Whether the question about a key that is under way goes by newer settings than these: then theirs must be had first.
    func isOutdated(_ key: Key, epoch: UInt16) -> Bool {
        guard let flight = current[key].flatMap({ flights[$0] }) else { return false }
        return ResolvingSettings.isNewer(flight.epoch, than: epoch)
    }

    /// The start of the flight that a question about a key would share; nil when there is none.
    func startTime(_ key: Key, epoch: UInt16) -> MonotonicTime? {
        guard let flight = current[key].flatMap({ flights[$0] }), flight.epoch == epoch, !flight.isPartial else {
            return nil
        }
        return flight.startedAt
    }

    /// Whether somebody waits for a flight.
    func hasWaiters(_ flight: FlightID) -> Bool { flights[flight]?.waiters.isEmpty == false }

    /// Takes a place in the flight for a key. One that began under older settings is left to those who wait for it already, and so is
    /// one on the runtime's threads when a blocking call asks.
    /// - Parameters:
    ///   - onOwnThreads: Whether a blocking call asks.
    ///   - epoch: The settings that the question goes by; see ``isOutdated(_:epoch:)``.
    ///   - now: The start of a new flight.
    ///   - mayStart: Asked when there is no flight to share: whether there may be one more.
    /// - Returns: The place, and whether the caller has to start the flight; nil when it may not.
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
        // In place: with a copy of the flight at hand, each who joins would copy all its waiters.
        let isShared = { (flight: Flight) in
            flight.epoch == epoch && !flight.isPartial && (flight.isOnOwnThreads || !onOwnThreads)
        }
        if let flight = current[key], flights[flight].map(isShared) == true {
            flights[flight]?.waiters[waiterID] = waiter
            return (Seat(flight: flight, waiter: waiterID), false)
        }
        guard mayStart() else { return nil }
        let flight = FlightID(number: lastNumber)
        if let older = current[key] { flights[older]?.isCurrent = false }
        flights[flight] = Flight(
            key: key,
            epoch: epoch,
            startedAt: now,
            waiters: [waiterID: waiter],
            isOnOwnThreads: onOwnThreads
        )
        current[key] = flight
        return (Seat(flight: flight, waiter: waiterID), true)
    }

    /// Opens a flight without waiters, for questions that come later.
    /// - Parameters:
    ///   - inBatch: Whether its answer is to come with a batch of names, and not with a lookup of its own.
    ///   - isPartial: Whether its result only completes an answer within its life.
    /// - Returns: Nil when there is one for the key already, or may be no more.
    mutating func open(
        _ key: Key,
        epoch: UInt16 = 0,
        inBatch: Bool = false,
        isPartial: Bool = false,
        at now: MonotonicTime,
        mayStart: () -> Bool
    ) -> FlightID? {
        guard current[key] == nil, mayStart() else { return nil }
        lastNumber += 1
        let flight = FlightID(number: lastNumber)
        flights[flight] = Flight(
            key: key,
            epoch: epoch,
            startedAt: now,
            isPartial: isPartial,
            isBegun: !inBatch,
            landsAnyway: true
        )
        current[key] = flight
        return flight
    }

    /// Whether a lookup of its own was begun for a flight, or the flight has ended.
    func isBegun(_ flight: FlightID) -> Bool { flights[flight]?.isBegun ?? true }

    /// Notes that a lookup of its own is begun for a flight of a batch.
    /// - Returns: Whether the caller has to start it; not when it was begun before, or the flight has ended.
    mutating func begin(_ flight: FlightID) -> Bool {
        guard flights[flight]?.isBegun == false else { return false }
        flights[flight]?.isBegun = true
        return true
    }

    /// The work of a flight that was started.
    func work(of flight: FlightID) -> Work? { flights[flight]?.work }

    /// All who wait in flights for such keys. They stay in their places.
    func waiters(where isMeant: (Key) -> Bool) -> [Waiter] {
        flights.values.filter { !$0.waiters.isEmpty && isMeant($0.key) }.flatMap { $0.waiters.values }
    }

    /// Notes the work of a flight that was started.
    /// - Returns: The work when nobody waits for it any more, to be cancelled.
    mutating func attach(_ work: Work, to flight: FlightID) -> Work? {
        guard flights[flight] != nil else { return work }
        flights[flight]?.work = work
        return nil
    }

    /// Gives up a place. The others in the flight notice nothing.
    /// - Parameter letsItLand: Whether the flight goes on when this was the last place, for those who ask later.
    /// - Returns: Whether that ended the flight, and its work, to be cancelled.
    mutating func leave(_ seat: Seat, letsItLand: Bool = false) -> (ended: Bool, work: Work?) {
        // In place: a copy of the flight would copy all its waiters, for each of them that leaves.
        guard flights[seat.flight]?.waiters.removeValue(forKey: seat.waiter) != nil else { return (false, nil) }
        if letsItLand { flights[seat.flight]?.landsAnyway = true }
        guard let flight = flights[seat.flight], flight.waiters.isEmpty, !flight.landsAnyway else {
            return (false, nil)
        }
        remove(seat.flight, flight)
        return (true, flight.work)
    }

    /// Ends a flight and frees its key.
    /// - Returns: Nil when nobody wants its result any more.
    mutating func land(_ id: FlightID) -> Landing? {
        guard let flight = flights[id] else { return nil }
        remove(id, flight)
        return Landing(waiters: Array(flight.waiters.values), isCurrent: flight.isCurrent)
    }

    /// Lets all flights go on for those who wait, and nobody else: the next who asks starts a new one.
    mutating func supersedeAll() {
        for id in flights.keys { flights[id]?.isCurrent = false }
        current.removeAll()
    }

    /// Ends everything.
    /// - Returns: All who waited, and all work to be cancelled.
    mutating func removeAll() -> (waiters: [Waiter], work: [Work]) {
        defer {
            flights.removeAll()
            current.removeAll()
        }
        return (flights.values.flatMap { $0.waiters.values }, flights.values.compactMap(\.work))
    }

    private mutating func remove(_ id: FlightID, _ flight: Flight) {
        flights[id] = nil
        if current[flight.key] == id { current[flight.key] = nil }
    }
}
