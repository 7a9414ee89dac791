/// A dictionary with a limit: the least recently set entry is evicted.
struct RecentTable<Key: Hashable, Value> {
    private let limit: Int
    private var slots: [Key: Int] = [:]
    private var entries: [(key: Key, value: Value)?] = []
    private var freeSlots: [Int] = []
    private var order = RecencyOrder()

    init(limit: Int) { self.limit = max(1, limit) }

    var count: Int { slots.count }
    var isEmpty: Bool { slots.isEmpty }

    /// All entries, in no particular order.
    var all: [(key: Key, value: Value)] { entries.compactMap { $0 } }

    subscript(key: Key) -> Value? {
        guard let slot = slots[key] else { return nil }
        return entries[slot]?.value
    }

    /// Sets a value, which becomes the newest.
    /// - Returns: The evicted value.
    @discardableResult
    mutating func set(_ value: Value, for key: Key) -> Value? {
        if let slot = slots[key] {
            entries[slot]?.value = value
            order.touch(slot)
            return nil
        }
        var evicted: Value?
        if slots.count >= limit, let oldest = order.oldest, let key = entries[oldest]?.key { evicted = remove(key) }
        let slot = freeSlots.popLast() ?? entries.count
        if slot == entries.count { entries.append((key, value)) } else { entries[slot] = (key, value) }
        slots[key] = slot
        order.touch(slot)
        return evicted
    }

    @discardableResult
    mutating func remove(_ key: Key) -> Value? {
        guard let slot = slots.removeValue(forKey: key) else { return nil }
        order.remove(slot)
        freeSlots.append(slot)
        defer { entries[slot] = nil }
        return entries[slot]?.value
    }
}
