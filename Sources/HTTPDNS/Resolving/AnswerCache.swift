internal import HTTPDNSPrimitives

/// The answers that are remembered, never more than a fixed number.
///
/// A name that is used gets a mark; when room is needed, a hand goes round and takes the first entry that is expired or
/// without a mark, wiping marks on its way (the "clock" algorithm). A hit writes one bit, and a flood of names that are
/// asked for once cannot push out those in use.
struct AnswerCache: Sendable {
    private struct Slot: Sendable {
        var key: AnswerKey
        var entry: CacheEntry
        var wasUsed = false
    }

    private let capacity: Int
    private var slots: [Slot] = []
    private var places: [AnswerKey: Int] = [:]
    private var hand = 0

    /// - Parameter capacity: How many keys are kept, at least 1.
    init(capacity: Int) {
        self.capacity = max(capacity, 1)
    }

    /// How many keys are kept now.
    var count: Int { slots.count }

    /// What is known about a key.
    mutating func find(_ key: AnswerKey, at now: MonotonicTime) -> CacheEntry.Finding {
        guard let place = places[key] else { return .nothing }
        slots[place].wasUsed = true
        return slots[place].entry.find(at: now)
    }

    /// Changes what is known about a key, from nothing if need be. An entry that ends up empty takes no place.
    mutating func update(_ key: AnswerKey, at now: MonotonicTime, _ change: (inout CacheEntry) -> Void) {
        if let place = places[key] {
            change(&slots[place].entry)
            if slots[place].entry.isEmpty { remove(at: place) }
            return
        }
        var entry = CacheEntry()
        change(&entry)
        guard !entry.isEmpty else { return }
        if slots.count < capacity {
            places[key] = slots.count
            slots.append(Slot(key: key, entry: entry))
        } else {
            let place = freedPlace(at: now)
            places[slots[place].key] = nil
            places[key] = place
            slots[place] = Slot(key: key, entry: entry)
        }
    }

    /// Forgets everything.
    mutating func removeAll() {
        slots.removeAll()
        places.removeAll()
        hand = 0
    }

    /// The place of the entry to give up. It ends within two rounds, because the first wipes every mark.
    private mutating func freedPlace(at now: MonotonicTime) -> Int {
        while true {
            hand = (hand + 1) % slots.count
            if !slots[hand].wasUsed || slots[hand].entry.isExpired(at: now) { return hand }
            slots[hand].wasUsed = false
        }
    }

    private mutating func remove(at place: Int) {
        places[slots[place].key] = nil
        let last = slots.removeLast()
        guard place < slots.count else { return }
        slots[place] = last
        places[last.key] = place
    }
}
