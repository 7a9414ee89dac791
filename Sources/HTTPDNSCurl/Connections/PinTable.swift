// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The pins of one loop.
///
/// Three numbers are bounded: libcurl's entries (the least recently used are removed by a line in the list of the next
/// transfer), the names, and the pins, which must not long outlive the connections that their names identify.
struct PinTable {
    /// The maximum number of entries.
    ///
    /// libcurl quirk: The host table is walked (7.88.1). libcurl walks its host table at the end of each request: 32 us when
    /// empty, 54 us with 3,000 entries, 160 us with 10,000. Tests: PinTableTests, TransportConnectionTests.
    static let maximumEntries = 256

    private let maximumPins: Int
    private let names: SharedPinNames
    /// The age at which a shared connection gets no new requests; they get another pin.
    private let maximumAge: Int64
    /// The pins by key; of several pins of a key the first one.
    private var pins: [PinKey: Pin] = [:]
    private var slots: [Pin?] = []
    private var freeSlots: [Int] = []
    private var pinsByUse = RecencyOrder()
    private var entriesByUse = RecencyOrder()
    private var lastSerial: UInt64 = 0
    /// The open connections by descriptor.
    private var connections: [Int32: Connection] = [:]
    /// The number of connections that were shut down but not yet closed by libcurl.
    private(set) var shutCount = 0
    /// Lines that remove entries from libcurl's table, for the next transfer to carry.
    private var removals: [String] = []

    init(maximumPins: Int, maximumAge: Duration? = nil, names: SharedPinNames = SharedPinNames()) {
        self.names = names
        self.maximumPins = max(maximumPins, PinTable.maximumEntries)
        self.maximumAge = maximumAge?.wholeNanoseconds ?? .max
    }

    var count: Int { pins.count }
    var entryCount: Int { entriesByUse.count }

    /// Whether connections are open.
    var hasConnections: Bool { !connections.isEmpty }
    /// The number of open connections.
    var connectionCount: Int { connections.count }

    /// Returns the pin for a key, new if necessary; it counts as in use until ``release(_:)``.
    /// - Parameters:
    ///   - scheme: The scheme of a transfer that may use any pin of the key, see ``PinSiblings``; `nil` for the first one.
    ///   - now: The time on the loop's clock, for connections that have become too old.
    mutating func acquire(_ key: PinKey, for scheme: ParsedURL.Scheme? = nil, at now: Int64 = 0) -> Pin {
        var known = pins[key]
        if let old = known, old.connections.multiplexedSince < .max,
            now - old.connections.multiplexedSince >= maximumAge
        {
            retire(old)
            known = nil
        }
        let first = known ?? make(key)
        let pin = if let scheme, first.mayHaveSiblings(for: scheme) { choose(besides: first) } else { first }
        pin.transfersInFlight += 1
        pinsByUse.touch(first.slot)
        entriesByUse.touch(pin.slot)
        evict()
        return pin
    }

    /// Notes that a transfer has ended.
    /// - Returns: Connections that no request will use any more, to be shut down.
    @discardableResult
    mutating func release(_ pin: Pin) -> [Connection] {
        pin.transfersInFlight -= 1
        guard pin.isRetired else {
            pin.siblings?.left(pin)
            dropIfUnusedSibling(pin)
            return []
        }
        guard pin.transfersInFlight == 0 else { return [] }
        removals += pin.removals
        recycleName(of: pin)
        return pin.connections.all
    }

    /// Drops all pins that a condition holds for. Transfers in progress continue; later ones get new pins, and therefore new
    /// connections.
    mutating func retire(where condition: (PinKey) -> Bool) -> [Pin] {
        var retired: [Pin] = []
        for pin in pins.values.filter({ condition($0.key) }) { retired += retire(pin) }
        return retired
    }

    /// Drops one pin with its siblings; without effect if it has been dropped.
    /// - Returns: The dropped pins.
    @discardableResult
    mutating func retire(_ pin: Pin) -> [Pin] {
        guard !pin.isRetired else { return [] }
        let retired = pin.siblings?.end() ?? [pin]
        for pin in retired {
            if pin.transfersInFlight == 0 {
                if entriesByUse.contains(pin.slot) { removeEntry(of: pin) }
            } else {
                // libcurl may still look its transfers' name up; the last of them removes the entry.
                entriesByUse.remove(pin.slot)
            }
            drop(pin)
        }
        return retired
    }

    /// Adds the connection of a new socket under the pin's name.
    /// - Parameter inode: The inode, which distinguishes it from a later socket with the same descriptor, see
    ///   ``socketIdentity(_:)``.
    @discardableResult
    mutating func opened(_ descriptor: Int32, for pin: Pin, inode: UInt64, at now: Int64 = 0) -> Connection {
        let connection = Connection(descriptor, inode: inode, openedAt: now, pin: pin)
        connections[descriptor] = connection
        pin.connections.opened(connection)
        return connection
    }

    /// Returns the open connection with a descriptor.
    func connection(_ descriptor: Int32) -> Connection? { connections[descriptor] }

    /// Marks a connection as shut down.
    /// - Returns: Whether it was open before.
    mutating func shut(_ connection: Connection) -> Bool {
        guard !connection.isShut else { return false }
        connection.isShut = true
        shutCount += 1
        return true
    }

    /// Removes a connection whose descriptor libcurl closes.
    /// - Returns: The pin that the connection was made for.
    @discardableResult
    mutating func closed(_ descriptor: Int32) -> Pin? {
        guard let connection = connections.removeValue(forKey: descriptor), let pin = connection.pin else { return nil }
        if connection.isShut { shutCount -= 1 }
        pin.connections.closed(connection)
        if pin.isRetired { recycleName(of: pin) } else { dropIfUnusedSibling(pin) }
        return pin
    }

    /// Removes all records at the end of the loop, including those whose close was not reported.
    mutating func closeAll() {
        for descriptor in Array(connections.keys) { closed(descriptor) }
    }

    /// Returns the pending removals, each only once.
    mutating func takeRemovals() -> [String] {
        if removals.isEmpty { return [] }
        defer { removals = [] }
        return removals
    }

    /// Restores removals whose transfer never began.
    mutating func restoreRemovals(_ lines: [String]) {
        removals += lines
    }

    private mutating func make(_ key: PinKey) -> Pin {
        let pin = make(key, names.take(for: key))
        pins[key] = pin
        return pin
    }

    private mutating func make(_ key: PinKey, _ name: SharedPinNames.Name) -> Pin {
        let slot = freeSlots.popLast() ?? slots.count
        lastSerial += 1
        let pin = Pin(key, slot: slot, number: name.number, serial: lastSerial)
        pin.sessions = name.sessions
        if slot == slots.count { slots.append(pin) } else { slots[slot] = pin }
        return pin
    }

    /// Returns a key's pin for the next transfer over HTTP/1.x: one with a free connection if possible, or a new one when all
    /// have as many connections as they may.
    private mutating func choose(besides first: Pin) -> Pin {
        if first.siblings == nil, first.hasRoom || first.hasFreeConnection { return first }
        if let pin = first.siblings?.next() { return pin }
        let siblings = first.siblings ?? PinSiblings(first)
        let pin = make(first.key, names.takeUnshared())
        siblings.append(pin)
        return pin
    }

    /// Drops a pin other than the first one of its key when it has neither connections nor transfers.
    private mutating func dropIfUnusedSibling(_ pin: Pin) {
        guard let siblings = pin.siblings, pins[pin.key] !== pin else { return }
        guard pin.connections.isEmpty, pin.transfersInFlight == 0 else { return }
        siblings.remove(pin)
        if entriesByUse.contains(pin.slot) { removeEntry(of: pin) }
        free(pin)
    }

    /// Frees the name of a pin. The pool finds connections by name alone, so a name must have none before it may identify
    /// another address. An entry of the old pin in libcurl's table is replaced, since a new pin's first transfer brings its
    /// own.
    ///
    /// libcurl quirk: Names are never forgotten (7.88). libcurl walks a record for each name whose connection it closed because
    /// its pool was full: 300 us a request after 20,000 names. So the number of a dropped pin is given to another pin.
    /// Tests: PinTableTests.
    private mutating func recycleName(of pin: Pin) {
        guard pin.isRetired, pin.connections.isEmpty, pin.transfersInFlight == 0 else { return }
        names.giveBack(pin.number)
    }

    private mutating func evict() {
        // libcurl may still look up a pin that is in use, so it is skipped. Two steps per request bound the work, and also the
        // tables. With one step, a pass over pins in use would add as many as there are, without end. With two, a table of
        // twice that size shrinks.
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
        // Siblings have transfers or connections: there are few.
        guard pin.transfersInFlight == 0, pin.siblings == nil else { return pinsByUse.touch(slot) }
        if entriesByUse.contains(slot) { removeEntry(of: pin) }
        drop(pin)
    }

    private mutating func drop(_ pin: Pin) {
        pinsByUse.remove(pin.slot)
        pins[pin.key] = nil
        free(pin)
    }

    private mutating func free(_ pin: Pin) {
        slots[pin.slot] = nil
        freeSlots.append(pin.slot)
        pin.isRetired = true
        names.dropped(pin.key, pin.number)
        recycleName(of: pin)
    }

    private mutating func removeEntry(of pin: Pin) {
        entriesByUse.remove(pin.slot)
        pin.isEntered = false
        removals += pin.removals
    }
}
