// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPTypes

/// The index of all stored responses: a value without I/O, whose methods return the entries that it has removed.
///
/// Eviction is a clock with one bit for each entry: a use sets the bit, and the hand clears it or evicts the entry.
struct ResponseIndex: Sendable {
    /// The bounds of a store.
    struct Limits: Hashable, Sendable {
        var bytes: Int
        var entries: Int
        /// In milliseconds since the response arrived or was validated.
        var age: Int64
    }

    /// The place of a body.
    enum Body: Hashable, Sendable {
        case memory([UInt8])
        /// A file of the folder.
        case file(StoredFile)
    }

    struct Entry: Sendable {
        let id: UInt64
        var head: StoredHead
        let body: Body
        let bodyLength: Int64
        /// The number of bytes that count towards the limit.
        var cost: Int
    }

    private struct Slot: Sendable {
        var entry: Entry
        var isUsed = false
    }

    let limits: Limits
    private var slots: [Slot?] = []
    private var free: [Int] = []
    private var hand = 0
    private var slotsByID: [UInt64: Int] = [:]
    private var idsByURL: [String: [UInt64]] = [:]
    private var lastID: UInt64 = 0
    /// The bytes of all entries.
    private(set) var bytes = 0
    /// The bytes of responses that are being stored.
    private(set) var reserved = 0

    init(_ limits: Limits) { self.limits = limits }

    var count: Int { slotsByID.count }
    var all: [Entry] { slots.compactMap { $0?.entry } }

    /// Returns the newest response that a request may get, and sets its bit.
    /// - Parameters:
    ///   - now: Milliseconds since 1970.
    ///   - removed: Receives the entries that are too old, or too far in the future after the clock was set back.
    mutating func find(
        _ url: String,
        _ partition: String,
        for request: CacheRequest,
        at now: Int64,
        removed: inout [Entry]
    ) -> Entry? {
        guard let ids = idsByURL[url] else { return nil }
        var best: Int?
        for id in ids {
            guard let index = slotsByID[id], let entry = slots[index]?.entry, entry.head.partition == partition else {
                continue
            }
            guard abs(now - entry.head.responseTime) <= limits.age else {
                removed += remove(id).map { [$0] } ?? []
                continue
            }
            guard entry.head.vary.match(request) else { continue }
            if let old = best, let other = slots[old]?.entry,
                Self.rank(other.head, at: now) >= Self.rank(entry.head, at: now)
            {
                continue
            }
            best = index
        }
        guard let best else { return nil }
        slots[best]?.isUsed = true
        return slots[best]?.entry
    }

    /// Returns the number that is larger for a newer response. One from the future is stale, so every other is newer.
    private static func rank(_ head: StoredHead, at now: Int64) -> Int64 {
        head.responseTime <= now ? head.responseTime : .min
    }

    /// Adds a response in place of the one for the same requests, and evicts others until the bounds hold.
    /// - Returns: The entries that were removed, which include the new one when it is longer than the limit.
    mutating func insert(_ head: StoredHead, _ body: Body, bodyLength: Int64, cost: Int) -> [Entry] {
        lastID += 1
        let entry = Entry(id: lastID, head: head, body: body, bodyLength: bodyLength, cost: cost)
        guard cost <= limits.bytes, limits.entries > 0 else { return [entry] }
        var removed: [Entry] = []
        for id in idsByURL[head.url] ?? [] {
            guard let index = slotsByID[id], let other = slots[index]?.entry.head,
                other.partition == head.partition, other.vary == head.vary
            else { continue }
            removed += remove(id).map { [$0] } ?? []
        }
        while count >= limits.entries || bytes + reserved + cost > limits.bytes {
            guard let evicted = evict() else { break }
            removed.append(evicted)
        }
        if let index = free.popLast() {
            slots[index] = Slot(entry: entry)
            slotsByID[entry.id] = index
        } else {
            slotsByID[entry.id] = slots.count
            slots.append(Slot(entry: entry))
        }
        idsByURL[head.url, default: []].append(entry.id)
        bytes += cost
        return removed
    }

    /// Reserves bytes for a response that is being stored, and evicts entries for them.
    /// - Returns: The evicted entries; nil when there is no room even without any entry.
    mutating func reserve(_ count: Int) -> [Entry]? {
        guard reserved + count <= limits.bytes else { return nil }
        var removed: [Entry] = []
        while bytes + reserved + count > limits.bytes, let evicted = evict() { removed.append(evicted) }
        reserved += count
        return removed
    }

    mutating func release(_ count: Int) { reserved -= count }

    /// Replaces the head of an entry.
    /// - Returns: Whether it is still there.
    mutating func update(_ id: UInt64, _ head: StoredHead) -> Bool {
        guard let index = slotsByID[id], slots[index] != nil else { return false }
        slots[index]?.entry.head = head
        return true
    }

    mutating func remove(_ id: UInt64) -> Entry? {
        guard let index = slotsByID.removeValue(forKey: id), let slot = slots[index] else { return nil }
        slots[index] = nil
        free.append(index)
        bytes -= slot.entry.cost
        let url = slot.entry.head.url
        idsByURL[url]?.removeAll { $0 == id }
        if idsByURL[url]?.isEmpty == true { idsByURL[url] = nil }
        return slot.entry
    }

    /// Removes all responses of a URL, of all partitions.
    mutating func removeAll(url: String) -> [Entry] {
        // Without the list in the table, no removal searches it.
        (idsByURL.removeValue(forKey: url) ?? []).compactMap { remove($0) }
    }

    private mutating func evict() -> Entry? {
        guard !slotsByID.isEmpty else { return nil }
        // The first round clears all bits, so the second one finds an entry.
        for _ in 0..<2 * slots.count {
            hand = hand + 1 < slots.count ? hand + 1 : 0
            guard let slot = slots[hand] else { continue }
            guard slot.isUsed else { return remove(slot.entry.id) }
            slots[hand]?.isUsed = false
        }
        return nil
    }
}
