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
        var waiters: [WaiterID: Waiter] = [:]
        var work: Work?
        var isCurrent = true
    }

    private var flights: [FlightID: Flight] = [:]
    private var current: [Key: FlightID] = [:]
    private var lastNumber: UInt64 = 0

    /// How many flights are under way.
    var count: Int { flights.count }

    /// Takes a place in the flight for a key.
    /// - Returns: The place, and whether the caller has to start the flight.
    mutating func join(_ key: Key, _ waiter: Waiter) -> (seat: Seat, starts: Bool) {
        lastNumber += 1
        let waiterID = WaiterID(number: lastNumber)
        if let flight = current[key] {
            flights[flight]?.waiters[waiterID] = waiter
            return (Seat(flight: flight, waiter: waiterID), false)
        }
        let flight = FlightID(number: lastNumber)
        flights[flight] = Flight(key: key, waiters: [waiterID: waiter])
        current[key] = flight
        return (Seat(flight: flight, waiter: waiterID), true)
    }

    /// Notes the work of a flight that was started.
    /// - Returns: The work when nobody waits for it any more, to be cancelled.
    mutating func attach(_ work: Work, to flight: FlightID) -> Work? {
        guard flights[flight] != nil else { return work }
        flights[flight]?.work = work
        return nil
    }

    /// Gives up a place. The others in the flight notice nothing.
    /// - Returns: The flight's work when this was the last place, to be cancelled.
    mutating func leave(_ seat: Seat) -> Work? {
        guard var flight = flights[seat.flight], flight.waiters.removeValue(forKey: seat.waiter) != nil else {
            return nil
        }
        guard flight.waiters.isEmpty else {
            flights[seat.flight] = flight
            return nil
        }
        remove(seat.flight, flight)
        return flight.work
    }

    /// Ends a flight and frees its key.
    /// - Returns: Nil when nobody waits any more: then its result is not wanted.
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
