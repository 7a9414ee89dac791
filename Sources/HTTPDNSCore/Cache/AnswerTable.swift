// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The cached answers of one shard, never more than its limits.
///
/// Eviction uses one bit for each answer (S3-FIFO). A new answer enters a short queue. If it was used by the time it reaches
/// the front, it moves to the long queue, in which used answers are appended again. A flood of names that are queried once
/// passes through the short queue alone. Names recently evicted from it are remembered by 16 bits of their hash, and enter
/// the long queue directly when they are queried again.
///
/// The bit is in the answer itself. Answers are found by open addressing with linear probing.
struct AnswerTable: Sendable {
    private struct Slot: Sendable {
        var answer: CachedAnswer?
        var next: UInt32 = .max
        var previous: UInt32 = .max
        var hash: UInt32 = 0
        /// The version of the settings under which it is known to be usable.
        var version: UInt16 = 0
        var isEstablished = false
        /// The version of the settings under which the answer alone decides.
        var directUse = DirectUse.unknown
    }

    /// A queue of slots, linked through them.
    private struct Line: Sendable {
        var first: UInt32 = .max
        var last: UInt32 = .max
        var count = 0
    }

    private let capacity: Int
    private let byteLimit: Int
    /// The share of the queue for new answers: a tenth (Yang et al., SOSP 2023).
    private let newcomerShare: Int
    private var slots: [Slot] = []
    private var freeSlots: [UInt32] = []
    /// Slot numbers by the low bits of the hash; ``none`` for an empty position. The size is a power of two, at most 3/4
    /// full.
    private var index: [UInt32] = Array(repeating: .max, count: 16)
    private var newcomers = Line()
    private var established = Line()
    private var departed: [UInt16]
    /// The memory of all answers, with their share of the tables.
    private(set) var byteCount = 0

    private static let none = UInt32.max
    /// The memory of a slot with its tables: itself, the index at most half empty, 2 bytes for evicted names.
    static let bytesPerSlot = MemoryLayout<Slot>.stride + 8 + 2

    /// - Parameters:
    ///   - capacity: The maximum number of answers, at least 1.
    ///   - byteLimit: The maximum number of bytes; one answer is kept in any case.
    init(capacity: Int, byteLimit: Int) {
        self.capacity = max(capacity, 1)
        self.byteLimit = byteLimit
        newcomerShare = max(self.capacity / 10, 1)
        departed = Array(repeating: 0, count: self.capacity)
    }

    /// The number of answers.
    var count: Int { newcomers.count + established.count }

    /// Returns the answer for a key, marked as used.
    func find(_ key: CacheKey) -> CachedAnswer? {
        guard let answer = occupant(key)?.answer else { return nil }
        answer.noteUse()
        return answer
    }

    /// Returns the answer for a key, marked as used, with the version of the settings under which it is known to be usable.
    func findWithVersion(_ key: CacheKey) -> (answer: CachedAnswer, version: UInt16)? {
        guard let (place, answer) = occupant(key) else { return nil }
        answer.noteUse()
        return (answer, slots[place].version)
    }

    /// Returns the answer for a key, marked as used, if it alone decides under these settings.
    /// - Parameter matches: A function that returns whether an answer with the hash is the one for the key.
    @inline(__always)
    func findForDirectUse(
        hash: UInt64,
        under version: PackedSettingsVersion,
        where matches: (CachedAnswer) -> Bool
    ) -> (answer: CachedAnswer, use: DirectUse)? {
        guard let (place, answer) = occupant(hash: hash, where: matches) else { return nil }
        let use = slots[place].directUse
        guard use.holds(under: version) else { return nil }
        answer.noteUse()
        return (answer, use)
    }

    /// Records the settings under which an answer alone decides, unless another one has replaced it.
    mutating func note(_ use: DirectUse, of answer: CachedAnswer, for key: CacheKey) {
        if let (place, present) = occupant(key), present.isIdentical(to: answer) { slots[place].directUse = use }
    }

    /// Records that the answer for a key is usable under other settings too.
    mutating func confirm(_ key: CacheKey, version: UInt16) {
        if let (place, _) = occupant(key) { slots[place].version = version }
    }

    /// Replaces the data for a key; nil removes it.
    /// - Returns: The number of answers evicted for it.
    @discardableResult
    mutating func set(
        _ answer: CachedAnswer?,
        for key: CacheKey,
        at now: MonotonicTime,
        version: UInt16 = 0
    ) -> Int {
        var evictions = 0
        if let (place, old) = occupant(key) {
            byteCount -= old.byteCount
            guard let answer else {
                byteCount -= Self.bytesPerSlot
                remove(place)
                return 0
            }
            byteCount += answer.byteCount
            if old.wasUsed { answer.noteUse() }
            if old.isToldStale, old.sentAt == answer.sentAt { answer.noteToldStale() }
            slots[place].answer = answer
            slots[place].version = version
            slots[place].directUse = .unknown
        } else if let answer {
            insert(answer, hash: UInt32(truncatingIfNeeded: key.hash), version: version)
        }
        while count > capacity || byteCount > byteLimit && count > 1 {
            evict(at: now)
            evictions += 1
        }
        return evictions
    }

    /// Changes the data for a key, or adds it.
    /// - Returns: The number of answers evicted for it.
    @discardableResult
    mutating func update(
        _ key: CacheKey,
        at now: MonotonicTime,
        version: UInt16 = 0,
        _ body: (inout KnownAnswer) -> Void
    ) -> Int {
        var known = occupant(key).map { KnownAnswer($0.answer) } ?? KnownAnswer()
        body(&known)
        return set(known.isEmpty ? nil : CachedAnswer(key, known), for: key, at: now, version: version)
    }

    /// All answers, in no order.
    var answers: [CachedAnswer] { slots.compactMap(\.answer) }

    /// Removes everything.
    mutating func removeAll() {
        self = AnswerTable(capacity: capacity, byteLimit: byteLimit)
    }

    // MARK: The index

    /// Returns the slot of a key, and its content.
    @inline(__always)
    private func occupant(_ key: CacheKey) -> (place: Int, answer: CachedAnswer)? {
        occupant(hash: key.hash) { $0.matches(key) }
    }

    @inline(__always)
    private func occupant(
        hash: UInt64,
        where matches: (CachedAnswer) -> Bool
    ) -> (place: Int, answer: CachedAnswer)? {
        let hash = UInt32(truncatingIfNeeded: hash)
        let mask = index.count - 1
        var bucket = Int(hash) & mask
        while index[bucket] != Self.none {
            let place = Int(index[bucket])
            if slots[place].hash == hash, let answer = slots[place].answer, matches(answer) {
                return (place, answer)
            }
            bucket = (bucket + 1) & mask
        }
        return nil
    }

    private mutating func enter(_ place: UInt32) {
        let mask = index.count - 1
        var bucket = Int(slots[Int(place)].hash) & mask
        while index[bucket] != Self.none { bucket = (bucket + 1) & mask }
        index[bucket] = place
    }

    /// Removes a slot from the index, and moves the following ones forward, so that no probe ends too early.
    private mutating func leave(_ place: Int) {
        let mask = index.count - 1
        var hole = Int(slots[place].hash) & mask
        while index[hole] != UInt32(place) { hole = (hole + 1) & mask }
        var bucket = (hole + 1) & mask
        while index[bucket] != Self.none {
            let home = Int(slots[Int(index[bucket])].hash) & mask
            if (bucket - home) & mask >= (bucket - hole) & mask {
                index[hole] = index[bucket]
                hole = bucket
            }
            bucket = (bucket + 1) & mask
        }
        index[hole] = Self.none
    }

    private mutating func growIndex() {
        index = Array(repeating: Self.none, count: index.count * 2)
        for place in slots.indices where slots[place].answer != nil { enter(UInt32(place)) }
    }

    // MARK: The queues

    private mutating func insert(_ answer: CachedAnswer, hash: UInt32, version: UInt16) {
        let place = freeSlots.popLast() ?? UInt32(slots.count)
        let mark = hash >> 16 | 1
        let wasHere = departed[Int(hash) % departed.count] == UInt16(truncatingIfNeeded: mark)
        let slot = Slot(answer: answer, hash: hash, version: version, isEstablished: wasHere)
        if Int(place) == slots.count {
            reserveSlots()
            slots.append(slot)
        } else {
            slots[Int(place)] = slot
        }
        byteCount += answer.byteCount + Self.bytesPerSlot
        append(place)
        if count * 4 > index.count * 3 { growIndex() } else { enter(place) }
    }

    /// Grows the table by a quarter: doubling would leave half of it empty for long.
    private mutating func reserveSlots() {
        guard slots.count == slots.capacity else { return }
        slots.reserveCapacity(min(capacity + 1, max(16, slots.count + slots.count / 4)))
    }

    private mutating func append(_ place: UInt32) {
        var line = slots[Int(place)].isEstablished ? established : newcomers
        slots[Int(place)].previous = line.last
        slots[Int(place)].next = Self.none
        if line.last == Self.none { line.first = place } else { slots[Int(line.last)].next = place }
        line.last = place
        line.count += 1
        if slots[Int(place)].isEstablished { established = line } else { newcomers = line }
    }

    private mutating func unlink(_ place: Int) {
        let slot = slots[place]
        var line = slot.isEstablished ? established : newcomers
        if slot.previous == Self.none { line.first = slot.next } else { slots[Int(slot.previous)].next = slot.next }
        if slot.next == Self.none { line.last = slot.previous } else { slots[Int(slot.next)].previous = slot.previous }
        line.count -= 1
        if slot.isEstablished { established = line } else { newcomers = line }
    }

    private mutating func remove(_ place: Int) {
        leave(place)
        unlink(place)
        slots[place] = Slot()
        freeSlots.append(UInt32(place))
    }

    /// Evicts one answer. The loop ends, because each step moves a new answer to the long queue, clears a mark or removes an
    /// answer.
    private mutating func evict(at now: MonotonicTime) {
        while true {
            let fromNewcomers = newcomers.count > newcomerShare || established.count == 0
            let place = Int(fromNewcomers ? newcomers.first : established.first)
            guard let answer = slots[place].answer else { return }
            if answer.wasUsed, !answer.isSpent(at: now) {
                unlink(place)
                answer.forgetUse()
                slots[place].isEstablished = true
                append(UInt32(place))
                continue
            }
            if fromNewcomers {
                let hash = slots[place].hash
                departed[Int(hash) % departed.count] = UInt16(truncatingIfNeeded: hash >> 16 | 1)
            }
            byteCount -= answer.byteCount + Self.bytesPerSlot
            remove(place)
            return
        }
    }
}
