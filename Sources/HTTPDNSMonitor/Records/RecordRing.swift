// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSPrimitives

/// The newest records, bounded by their number, bytes and age. A value.
struct RecordRing: Sendable {
    /// A record, or a call of which one is made when it is read: most records are not.
    enum Content: Sendable {
        case record(HTTPDNSTrafficMonitor.Record)
        case call(EndedCall)
    }

    struct Limits: Hashable, Sendable {
        var records: Int
        var bytes: Int
        var age: Duration
    }

    /// A record is long, and an object is not copied with it.
    final class Entry: Sendable {
        let content: Content
        let bytes: Int
        let time: MonotonicTime

        init(_ content: consuming Content, bytes: Int, time: MonotonicTime) {
            (self.content, self.bytes, self.time) = (content, bytes, time)
        }
    }

    private let limits: Limits
    /// The entries; those before ``head`` have been removed.
    private var entries: [Entry?] = []
    private var head = 0
    /// The bytes of all records.
    private(set) var bytes = 0

    init(_ limits: Limits) { self.limits = limits }

    /// The number of records.
    var count: Int { entries.count - head }

    /// The records and calls, the oldest first.
    var contents: [Content] { entries[head...].compactMap { $0?.content } }

    /// Adds a record, and removes the oldest ones above the limits. A record that is longer than the limit is not added.
    /// - Returns: Those that it removes. A call refers to objects of its client, which are not released under a lock.
    mutating func append(_ entry: Entry) -> [Entry?] {
        guard limits.records > 0, entry.bytes <= limits.bytes else { return [] }
        var removed = removeOld(at: entry.time)
        while count > 0, count >= limits.records || bytes > limits.bytes - entry.bytes { removed.append(removeFirst()) }
        entries.append(entry)
        bytes += entry.bytes
        return removed
    }

    /// Removes the records that are too old.
    /// - Returns: They.
    mutating func removeOld(at now: MonotonicTime) -> [Entry?] {
        var removed: [Entry?] = []
        while count > 0, let first = entries[head], now - first.time > limits.age { removed.append(removeFirst()) }
        return removed
    }

    /// - Returns: The removed records.
    mutating func removeAll() -> [Entry?] {
        defer { (entries, head, bytes) = ([], 0, 0) }
        return entries
    }

    private mutating func removeFirst() -> Entry? {
        let first = entries[head]
        bytes -= first?.bytes ?? 0
        entries[head] = nil
        head += 1
        // Each removal moves two entries at most, on average.
        if head >= 64, head * 2 >= entries.count {
            entries.removeFirst(head)
            head = 0
        }
        return first
    }
}
