internal import HTTPDNSPrimitives

/// The pins of one loop.
///
/// Two numbers are bounded. The entries in libcurl's host table, because libcurl walks the whole table at the end of each
/// request: the least used are taken out again, by a line in the list of the next transfer. And the pins themselves, which
/// must not outlive the connections that could still be found by their names for long.
struct PinTable {
    /// libcurl's table costs 32 us a request when empty, 54 us at 3,000 entries, 160 us and more at 10,000 (7.88.1).
    static let maximumEntries = 256

    private let maximumPins: Int
    private var pins: [PinKey: Pin] = [:]
    private var slots: [Pin?] = []
    private var freeSlots: [Int] = []
    private var pinsByUse = RecencyOrder()
    private var entriesByUse = RecencyOrder()
    private var nextNumber: UInt64 = 1
    /// Lines that take entries out of libcurl's table, for the next transfer to carry.
    private var removals: [String] = []

    init(maximumPins: Int) {
        self.maximumPins = max(maximumPins, PinTable.maximumEntries)
    }

    var count: Int { pins.count }
    var entryCount: Int { entriesByUse.count }

    /// The pin for a key, new if need be; it counts as in flight until ``release(_:)``.
    mutating func acquire(_ key: PinKey) -> Pin {
        let pin = pins[key] ?? make(key)
        pin.transfersInFlight += 1
        pinsByUse.touch(pin.slot)
        entriesByUse.touch(pin.slot)
        evict()
        return pin
    }

    mutating func release(_ pin: Pin) {
        pin.transfersInFlight -= 1
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
        let pin = Pin(key, slot: slot, number: nextNumber)
        nextNumber += 1
        if slot == slots.count { slots.append(pin) } else { slots[slot] = pin }
        pins[key] = pin
        return pin
    }

    private mutating func evict() {
        // A pin in flight may still be looked up, so it is passed over; one step per request bounds the work, and the
        // tables exceed their limits by no more than the transfers in flight.
        if entriesByUse.count > PinTable.maximumEntries, let slot = entriesByUse.oldest, let pin = slots[slot] {
            if pin.transfersInFlight > 0 {
                entriesByUse.touch(slot)
            } else {
                entriesByUse.remove(slot)
                pin.isEntered = false
                removals.append(pin.removal)
            }
        }
        if pins.count > maximumPins, let slot = pinsByUse.oldest, let pin = slots[slot] {
            if pin.transfersInFlight > 0 {
                pinsByUse.touch(slot)
            } else {
                if entriesByUse.contains(slot) {
                    entriesByUse.remove(slot)
                    removals.append(pin.removal)
                }
                pinsByUse.remove(slot)
                pins[pin.key] = nil
                slots[slot] = nil
                freeSlots.append(slot)
            }
        }
    }
}
