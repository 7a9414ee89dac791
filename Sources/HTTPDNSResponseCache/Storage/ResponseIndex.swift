// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
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
        /// The bytes of the responses in memory, where a folder has the others.
        var memory = Int.max
    }

    /// The place of a body.
    enum Body: Hashable, Sendable {
        case memory([UInt8])
        /// A file of the folder.
        case file(StoredFile)
        /// The store of a program.
        case elsewhere
    }

    /// The number of slots whose age an insertion checks.
    static let checkedSlots = 16

    /// The most variants of a URL in one partition. An insertion and a search look at all of them.
    static let maximumVariants = 64

    let limits: Limits
    private var slots: [Entry?] = []
    private var free: [Int] = []
    private var hand = 0
    /// The slot that is checked for its age next.
    private var nextChecked = 0
    private var slotsByID: [UInt64: Int] = [:]
    /// The slots of the variants of a URL by partition, the oldest first.
    private var variants: [String: [String: [Int]]] = [:]
    /// The bytes of all entries.
    private(set) var bytes = 0
    /// The bytes of responses that are being stored.
    private(set) var reserved = 0
    /// The bytes of entries in memory, and those of responses that are being stored there.
    private(set) var (memoryBytes, reservedMemory) = (0, 0)
    /// The invalidations that a folder does not know yet; nil when it is open, or there is none.
    private var unknownInvalidations: Invalidations?

    /// The responses that were invalidated before the folder was opened.
    private enum Invalidations: Sendable {
        case urls(Set<String>)
        case all
    }

    /// - Parameter awaitsFolder: Whether responses of a folder are added later with ``load(_:at:)``.
    init(_ limits: Limits, awaitsFolder: Bool = false) {
        self.limits = limits
        if awaitsFolder { unknownInvalidations = .urls([]) }
    }

    var count: Int { slotsByID.count }
    var all: [Entry] { slots.compactMap(\.self) }

    /// Returns the variants of a URL in a partition.
    /// - Parameters:
    ///   - now: Milliseconds since 1970.
    ///   - removed: Receives the entries that are too old, or too far in the future after the clock was set back.
    mutating func responses(_ url: String, _ partition: String, at now: Int64, removed: inout [Entry])
        -> [HTTPDNSClient.ResponseCache.StoredResponse]
    {
        guard let places = variants[url]?[partition] else { return [] }
        var responses: [HTTPDNSClient.ResponseCache.StoredResponse] = []
        for place in places {
            guard let entry = slots[place] else { continue }
            if !isExpired(entry, at: now) {
                responses.append(HTTPDNSClient.ResponseCache.StoredResponse(entry))
            } else if let entry = remove(entry.id) {
                removed.append(entry)
            }
        }
        return responses
    }

    private func isExpired(_ entry: Entry, at now: Int64) -> Bool { entry.head.isBeyond(limits.age, at: now) }

    /// Removes all entries that are too old.
    mutating func removeExpired(at now: Int64) -> [Entry] {
        all.filter { isExpired($0, at: now) }.compactMap { remove($0.id) }
    }

    /// Removes the entries in the next slots that are too old.
    private mutating func removeSomeExpired(at now: Int64) -> [Entry] {
        var removed: [Entry] = []
        for _ in 0..<min(Self.checkedSlots, slots.count) {
            nextChecked = nextChecked + 1 < slots.count ? nextChecked + 1 : 0
            guard let entry = slots[nextChecked], isExpired(entry, at: now) else { continue }
            removed += remove(entry.id).map { [$0] } ?? []
        }
        return removed
    }

    /// Adds a response in place of the one for the same requests, and evicts others until the bounds hold.
    /// - Parameter now: Milliseconds since 1970.
    /// - Returns: The entries that were removed. They include the new one when it is longer than the limit, and when the
    ///   request of the stored one was sent later.
    mutating func insert(_ entry: Entry, at now: Int64) -> [Entry] {
        let (head, cost) = (entry.head, entry.cost)
        guard cost <= limits.bytes, !entry.isInMemory || cost <= limits.memory, limits.entries > 0 else {
            return [entry]
        }
        var removed = removeSomeExpired(at: now)
        var others = (variants[head.url]?[head.partition] ?? []).compactMap { slots[$0] }
        let isOutdated = others.contains { other in
            let sent = other.head.requestTime
            return other.head.vary == head.vary && sent > head.requestTime && sent <= now
        }
        guard !isOutdated else { return removed + [entry] }
        for other in others where other.head.vary == head.vary { removed += remove(other.id).map { [$0] } ?? [] }
        others.removeAll { $0.head.vary == head.vary }
        if others.count >= Self.maximumVariants, let oldest = others.first {
            removed += remove(oldest.id).map { [$0] } ?? []
        }
        while count >= limits.entries || bytes + reserved + cost > limits.bytes {
            guard let evicted = evict() else { break }
            removed.append(evicted)
        }
        removed += evictFromMemory(for: entry.isInMemory ? cost : 0)
        let place = free.popLast() ?? slots.count
        if place == slots.count { slots.append(nil) }
        slots[place] = entry
        slotsByID[entry.id] = place
        variants[head.url, default: [:]][head.partition, default: []].append(place)
        bytes += cost
        if entry.isInMemory { memoryBytes += cost }
        return removed
    }

    /// Adds a response of a folder that was opened just now, unless it was invalidated before.
    /// - Returns: The entries that were removed, as those of ``insert(_:at:)``.
    mutating func load(_ entry: Entry, at now: Int64) -> [Entry] {
        switch unknownInvalidations {
        case .all: [entry]
        case .urls(let urls) where urls.contains(entry.head.url): [entry]
        default: insert(entry, at: now)
        }
    }

    /// Notes that all responses of the folder are known.
    mutating func endLoading() { unknownInvalidations = nil }

    /// Notes that the responses of a URL, or all, must not be loaded.
    mutating func noteInvalid(_ url: String?) {
        guard case .urls(var urls) = unknownInvalidations else { return }
        unknownInvalidations = .all
        // More would be a leak while the folder stays away.
        guard let url, urls.count < Self.maximumInvalidations else { return }
        urls.insert(url)
        unknownInvalidations = .urls(urls)
    }

    private static let maximumInvalidations = 10_000

    /// Reserves bytes for a response that is being stored, and evicts entries for them.
    /// - Returns: The evicted entries; nil when there is no room even without any entry.
    mutating func reserve(_ count: Int, inMemory: Bool = true) -> [Entry]? {
        guard reserved + count <= limits.bytes, !inMemory || reservedMemory + count <= limits.memory else { return nil }
        var removed: [Entry] = []
        while bytes + reserved + count > limits.bytes, let evicted = evict() { removed.append(evicted) }
        reserved += count
        if inMemory {
            removed += evictFromMemory(for: count)
            reservedMemory += count
        }
        return removed
    }

    mutating func release(_ count: Int, inMemory: Bool = true) {
        reserved -= count
        if inMemory { reservedMemory -= count }
    }

    /// Evicts entries in memory until there is room for bytes.
    private mutating func evictFromMemory(for count: Int) -> [Entry] {
        guard limits.memory < .max else { return [] }
        var removed: [Entry] = []
        while memoryBytes + reservedMemory + count > limits.memory, let evicted = evict(where: \.isInMemory) {
            removed.append(evicted)
        }
        return removed
    }

    /// Replaces the head of an entry, and evicts entries if the new one is longer.
    /// - Parameter replaced: The head that is replaced; nil for any.
    /// - Returns: The evicted entries; nil when the entry is gone, or has another head by now.
    mutating func update(_ id: UInt64, _ head: StoredHead, in replaced: StoredHead? = nil) -> [Entry]? {
        guard let place = slotsByID[id], let entry = slots[place], replaced.map({ $0 == entry.head }) ?? true
        else { return nil }
        let updated = entry.with(head)
        slots[place] = updated
        bytes += updated.cost - entry.cost
        if entry.isInMemory { memoryBytes += updated.cost - entry.cost }
        var removed: [Entry] = []
        while bytes + reserved > limits.bytes, let evicted = evict() { removed.append(evicted) }
        return removed + evictFromMemory(for: 0)
    }

    mutating func remove(_ id: UInt64) -> Entry? {
        guard let place = slotsByID.removeValue(forKey: id), let entry = slots[place] else { return nil }
        slots[place] = nil
        free.append(place)
        bytes -= entry.cost
        if entry.isInMemory { memoryBytes -= entry.cost }
        let (url, partition) = (entry.head.url, entry.head.partition)
        variants[url]?[partition]?.removeAll { $0 == place }
        if variants[url]?[partition]?.isEmpty == true { variants[url]?[partition] = nil }
        if variants[url]?.isEmpty == true { variants[url] = nil }
        return entry
    }

    /// Removes all responses of a URL, of all partitions.
    mutating func removeAll(url: String) -> [Entry] {
        noteInvalid(url)
        let places = variants[url]?.values.flatMap(\.self) ?? []
        return places.compactMap { slots[$0]?.id }.compactMap { remove($0) }
    }

    /// Removes all responses.
    mutating func removeAll() -> [Entry] {
        noteInvalid(nil)
        return all.compactMap { remove($0.id) }
    }

    private mutating func evict(where mayEvict: (Entry) -> Bool = { _ in true }) -> Entry? {
        guard !slotsByID.isEmpty else { return nil }
        // The first round clears all bits, so the second one finds an entry.
        for _ in 0..<2 * slots.count {
            hand = hand + 1 < slots.count ? hand + 1 : 0
            guard let entry = slots[hand], mayEvict(entry) else { continue }
            guard entry.takeUse() else { return remove(entry.id) }
        }
        return nil
    }
}
