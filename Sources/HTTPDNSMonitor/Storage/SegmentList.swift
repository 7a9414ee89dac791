// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The files of a folder of records, which are only appended to: which one gets the next record, and which ones are removed.
///
/// A value: its methods return the required actions. A file is removed as a whole, so each has at most an eighth of the limits.
struct SegmentList: Sendable {
    /// The parts of the limits that one file may have.
    private static let share = 8

    struct Limits: Hashable, Sendable {
        var bytes: Int64
        var records: Int
        /// In milliseconds.
        var age: Int64
    }

    struct Segment: Hashable, Sendable {
        let number: UInt64
        var bytes: Int64
        var records: Int
        /// The times of its first and its last record, in milliseconds since 1970.
        var firstTime: Int64
        var lastTime: Int64
    }

    /// The place of a new record.
    struct Placement: Hashable, Sendable {
        /// The number of its file.
        let segment: UInt64
        /// The bytes that the file has.
        let offset: Int64
        /// The numbers of the files to remove before.
        let removed: [UInt64]
    }

    private let limits: Limits
    /// The files, the oldest first.
    private(set) var segments: [Segment]
    private var lastNumber: UInt64

    init(_ limits: Limits, _ segments: [Segment]) {
        self.limits = limits
        self.segments = segments.sorted { $0.number < $1.number }
        lastNumber = self.segments.last?.number ?? 0
    }

    /// The bytes of all files.
    var bytes: Int64 { segments.reduce(0) { $0 + $1.bytes } }
    /// The number of all records.
    var records: Int { segments.reduce(0) { $0 + $1.records } }

    /// Places a record. A failure to write it is noted with ``withdraw(_:from:)``.
    /// - Parameters:
    ///   - size: The bytes of the record.
    ///   - now: Milliseconds since 1970.
    /// - Returns: Nil for a record that is longer than the limit.
    mutating func place(_ size: Int64, at now: Int64) -> Placement? {
        guard size <= limits.bytes, limits.records > 0 else { return nil }
        var removed = removeOld(at: now)
        if !hasRoom(size, at: now) {
            lastNumber += 1
            segments.append(Segment(number: lastNumber, bytes: 0, records: 0, firstTime: now, lastTime: now))
        }
        while segments.count > 1, bytes > limits.bytes - size || records >= limits.records {
            removed.append(segments.removeFirst().number)
        }
        let index = segments.count - 1
        let placement = Placement(segment: segments[index].number, offset: segments[index].bytes, removed: removed)
        segments[index].bytes += size
        segments[index].records += 1
        segments[index].lastTime = now
        return placement
    }

    /// Whether the last file can have a record.
    private func hasRoom(_ size: Int64, at now: Int64) -> Bool {
        guard let last = segments.last else { return false }
        let share = Int64(Self.share)
        return last.bytes <= limits.bytes / share - size && last.records < max(1, limits.records / Self.share)
            && now - last.firstTime <= limits.age / share
    }

    /// Removes a record that was not written.
    mutating func withdraw(_ size: Int64, from placement: Placement) {
        guard let index = segments.firstIndex(where: { $0.number == placement.segment }) else { return }
        segments[index].bytes -= size
        segments[index].records -= 1
    }

    /// Removes the files whose last record is too old.
    /// - Returns: Their numbers.
    mutating func removeOld(at now: Int64) -> [UInt64] {
        var removed: [UInt64] = []
        while let first = segments.first, now - first.lastTime > limits.age {
            removed.append(segments.removeFirst().number)
        }
        return removed
    }
}
