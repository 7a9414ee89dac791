// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

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

    /// Removes the least recently set entry of a full table.
    mutating func makeRoom() -> (key: Key, value: Value)? {
        guard slots.count >= limit, let oldest = order.oldest, let entry = entries[oldest] else { return nil }
        remove(entry.key)
        return entry
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

/// The order of the last uses of slots, as a doubly linked list over slot numbers: every operation is O(1).
struct RecencyOrder {
    private struct Links {
        var newer = -1
        var older = -1
        var isListed = false
    }

    private var links: [Links] = []
    private var newest = -1
    /// The least recently used slot; `nil` when none is listed.
    var oldest: Int? { end < 0 ? nil : end }
    private var end = -1
    private(set) var count = 0

    func contains(_ slot: Int) -> Bool { slot < links.count && links[slot].isListed }

    /// Makes `slot` the newest, whether or not it was listed.
    mutating func touch(_ slot: Int) {
        if newest == slot { return }
        remove(slot)
        while links.count <= slot { links.append(Links()) }
        links[slot] = Links(newer: -1, older: newest, isListed: true)
        if newest >= 0 { links[newest].newer = slot } else { end = slot }
        newest = slot
        count += 1
    }

    /// Removes `slot`; without effect if it is not listed.
    mutating func remove(_ slot: Int) {
        guard contains(slot) else { return }
        let link = links[slot]
        if link.newer >= 0 { links[link.newer].older = link.older } else { newest = link.older }
        if link.older >= 0 { links[link.older].newer = link.newer } else { end = link.newer }
        links[slot] = Links()
        count -= 1
    }
}
