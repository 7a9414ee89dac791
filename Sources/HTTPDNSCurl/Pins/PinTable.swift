internal import HTTPDNSPrimitives

/// The pins of one loop.
///
/// Three numbers are bounded. The entries in libcurl's host table, because libcurl walks the whole table at the end of each
/// request: the least used are taken out again, by a line in the list of the next transfer. And the pins themselves, which
/// must not outlive the connections that could still be found by their names for long. And the names: libcurl 7.88 keeps a
/// record for each name whose connection it closed because its pool was full, and walks all records at the end of each
/// request (300 us a request after 20,000 names). So a name is given to another pin once no connection has it any more.
struct PinTable {
    /// libcurl's table costs 32 us a request when empty, 54 us at 3,000 entries, 160 us and more at 10,000 (7.88.1).
    static let maximumEntries = 256

    private let maximumPins: Int
    /// The age at which a connection that requests share is left for new requests, which get another pin.
    private let maximumAge: Int64
    private var pins: [PinKey: Pin] = [:]
    private var slots: [Pin?] = []
    private var freeSlots: [Int] = []
    private var pinsByUse = RecencyOrder()
    private var entriesByUse = RecencyOrder()
    private var nextNumber: UInt64 = 1
    private var lastSerial: UInt64 = 0
    /// Numbers of retired pins that no connection is known by any more.
    private var freeNumbers: [UInt64] = []
    /// The open connections by descriptor.
    private var connections: [Int32: Connection] = [:]
    /// Connections that were shut down and that libcurl has yet to close.
    private(set) var shutCount = 0
    /// Lines that take entries out of libcurl's table, for the next transfer to carry.
    private var removals: [String] = []

    init(maximumPins: Int, maximumAge: Duration? = nil) {
        self.maximumPins = max(maximumPins, PinTable.maximumEntries)
        self.maximumAge = maximumAge?.wholeNanoseconds ?? .max
    }

    var count: Int { pins.count }
    var entryCount: Int { entriesByUse.count }

    /// Whether connections are open.
    var hasConnections: Bool { !connections.isEmpty }

    /// The pin for a key, new if need be; it counts as in flight until ``release(_:)``.
    /// - Parameter now: The moment on the loop's clock, for connections that have become too old.
    mutating func acquire(_ key: PinKey, at now: Int64 = 0) -> Pin {
        if let old = pins[key], old.connections.multiplexedSince < .max,
            now - old.connections.multiplexedSince >= maximumAge
        {
            retire(old)
        }
        let pin = pins[key] ?? make(key)
        pin.transfersInFlight += 1
        pinsByUse.touch(pin.slot)
        entriesByUse.touch(pin.slot)
        evict()
        return pin
    }

    /// A transfer is over.
    /// - Returns: Connections that no request will use any more, to be shut down.
    @discardableResult
    mutating func release(_ pin: Pin) -> [Connection] {
        pin.transfersInFlight -= 1
        guard pin.isRetired, pin.transfersInFlight == 0 else { return [] }
        removals += pin.removals
        recycleName(of: pin)
        return pin.connections.all
    }

    /// Drops all pins that a condition holds for: transfers in flight end as they began, later ones get new pins, and so new
    /// connections.
    mutating func retire(where condition: (PinKey) -> Bool) -> [Pin] {
        let retired = pins.values.filter { condition($0.key) }
        for pin in retired { retire(pin) }
        return retired
    }

    /// Drops one pin; nothing happens when it has been dropped.
    mutating func retire(_ pin: Pin) {
        guard pins[pin.key] === pin else { return }
        if pin.transfersInFlight == 0 {
            if entriesByUse.contains(pin.slot) { removeEntry(of: pin) }
        } else {
            // Its transfers may still be looked up; the last of them takes the entry out.
            entriesByUse.remove(pin.slot)
        }
        drop(pin)
    }

    /// libcurl got a socket for a connection under the pin's name.
    /// - Parameter inode: Tells it from a later socket with the same number, see ``socketIdentity(_:)``.
    @discardableResult
    mutating func opened(_ descriptor: Int32, for pin: Pin, inode: UInt64, at now: Int64 = 0) -> Connection {
        let connection = Connection(descriptor, inode: inode, openedAt: now, pin: pin)
        connections[descriptor] = connection
        pin.connections.opened(connection)
        return connection
    }

    /// The open connection with a descriptor.
    func connection(_ descriptor: Int32) -> Connection? { connections[descriptor] }

    /// A connection was shut down.
    /// - Returns: Whether it was open before.
    mutating func shut(_ connection: Connection) -> Bool {
        guard !connection.isShut else { return false }
        connection.isShut = true
        shutCount += 1
        return true
    }

    /// libcurl closes a descriptor; its connection is no longer in the pool.
    /// - Returns: The pin that the connection was made for.
    @discardableResult
    mutating func closed(_ descriptor: Int32) -> Pin? {
        guard let connection = connections.removeValue(forKey: descriptor), let pin = connection.pin else { return nil }
        if connection.isShut { shutCount -= 1 }
        pin.connections.closed(connection)
        recycleName(of: pin)
        return pin
    }

    /// The loop ends: records that no close was reported for go, too.
    mutating func closeAll() {
        for descriptor in Array(connections.keys) { closed(descriptor) }
    }

    /// The pending removals; they are handed out once.
    mutating func takeRemovals() -> [String] {
        if removals.isEmpty { return [] }
        defer { removals = [] }
        return removals
    }

    /// Puts removals back whose transfer never began.
    mutating func restoreRemovals(_ lines: [String]) {
        removals += lines
    }

    private mutating func make(_ key: PinKey) -> Pin {
        let slot = freeSlots.popLast() ?? slots.count
        lastSerial += 1
        let pin = Pin(key, slot: slot, number: takeNumber(), serial: lastSerial)
        if slot == slots.count { slots.append(pin) } else { slots[slot] = pin }
        pins[key] = pin
        return pin
    }

    private mutating func takeNumber() -> UInt64 {
        if let number = freeNumbers.popLast() { return number }
        defer { nextNumber += 1 }
        return nextNumber
    }

    /// The pool finds connections by name alone, so a name must have none before it may stand for another address. An entry
    /// of the old pin that is still in libcurl's table is replaced, for a new pin's first transfer brings its own.
    private mutating func recycleName(of pin: Pin) {
        if pin.isRetired, pin.connections.isEmpty, pin.transfersInFlight == 0 { freeNumbers.append(pin.number) }
    }

    private mutating func evict() {
        // A pin in flight may still be looked up, so it is passed over. Two steps per request bound the work, and the
        // tables too: with one step each pass over pins in flight would add as many as there are, for ever; with two a
        // table that has twice as many shrinks.
        for _ in 0..<2 {
            if entriesByUse.count > PinTable.maximumEntries { evictEntry() }
            if pins.count > maximumPins { evictPin() }
        }
    }

    private mutating func evictEntry() {
        guard let slot = entriesByUse.oldest, let pin = slots[slot] else { return }
        guard pin.transfersInFlight == 0 else { return entriesByUse.touch(slot) }
        removeEntry(of: pin)
    }

    private mutating func evictPin() {
        guard let slot = pinsByUse.oldest, let pin = slots[slot] else { return }
        guard pin.transfersInFlight == 0 else { return pinsByUse.touch(slot) }
        if entriesByUse.contains(slot) { removeEntry(of: pin) }
        drop(pin)
    }

    private mutating func drop(_ pin: Pin) {
        pinsByUse.remove(pin.slot)
        pins[pin.key] = nil
        slots[pin.slot] = nil
        freeSlots.append(pin.slot)
        pin.isRetired = true
        recycleName(of: pin)
    }

    private mutating func removeEntry(of pin: Pin) {
        entriesByUse.remove(pin.slot)
        pin.isEntered = false
        removals += pin.removals
    }
}
