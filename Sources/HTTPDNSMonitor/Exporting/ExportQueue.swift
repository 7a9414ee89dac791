// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSPrimitives

/// The records that wait to be exported, and the batch that is being sent. A value, whose methods return the next action.
struct ExportQueue: Sendable {
    typealias Exporter = HTTPDNSTrafficMonitor.Exporter
    typealias Record = HTTPDNSTrafficMonitor.Record

    /// The next action of the task that sends.
    enum Action: Sendable {
        /// Send the batch, and tell its outcome.
        case send(Exporter.Batch)
        /// Ask again at this time, or when a record was added that makes a batch full.
        case wait(until: MonotonicTime)
        /// End: nothing waits.
        case end
    }

    /// The outcome of a sending.
    enum Outcome {
        case accepted
        /// The receiver does not take the batch, now or later.
        case refused
        /// The receiver may take the records in smaller batches.
        case tooLarge
        /// - Parameter wait: The least time until the next attempt; nil without one.
        case failed(wait: Duration?)
    }

    private struct Waiting {
        let record: Record
        let bytes: Int
        let time: MonotonicTime
    }

    /// A batch that has been sent at least once, or is being sent.
    private struct Sending {
        var batch: Exporter.Batch
        /// The bytes of its records.
        let bytes: [Int]
        /// The position of its first record among all that were added.
        let start: Int
        /// Whether it is a part of a batch that failed.
        var isPart = false
        /// The time of its first failure; nil before it.
        var failedAt: MonotonicTime?

        var totalBytes: Int { bytes.reduce(0, +) }

        /// Returns the two halves of its records, as batches.
        func halves(isPart: Bool) -> [Sending] {
            let middle = bytes.count / 2
            return [0..<middle, middle..<bytes.count].map { range in
                Sending(
                    // They are counted from 1 when they are sent.
                    batch: Exporter.Batch(
                        id: ExportQueue.newIdentifier(),
                        records: Array(batch.records[range]),
                        attempt: 0
                    ),
                    bytes: Array(bytes[range]),
                    start: start + range.lowerBound,
                    isPart: isPart
                )
            }
        }
    }

    /// The attempts after which a batch is sent in halves, and after which a part of a batch is.
    private static let attempts = (batch: 8, part: 2)
    /// The time after which a record is dropped that fails alone, when the receiver has taken no other since.
    private static let longestFailure = Duration.seconds(600)

    /// The longest time that a receiver can ask to wait.
    static let longestRequestedWait = Duration.seconds(3600)

    private let limits: Exporter.Limits
    /// The records that wait; those before ``head`` have left.
    private var waiting: [Waiting?] = []
    private var head = 0
    private var waitingBytes = 0
    private var sending: Sending?
    /// The parts of a batch that failed, the next one first.
    private var parts: [Sending] = []
    /// The failures since the last batch that was accepted, and the time of that.
    private var failuresInRow = 0
    private var acceptedAt: MonotonicTime?
    /// The number of records that were added, and of those that no longer wait.
    private(set) var added = 0
    private var taken = 0
    /// Whether the records that wait fill a batch, or have come to the limits.
    private var isFull = false
    private var retryAt: MonotonicTime?
    /// The position before which a flush wants all records to be sent now; nil without a flush.
    private var flushEnd: Int?
    /// Whether nothing is added any more, and what waits is sent without waiting for a full batch.
    private(set) var isClosed = false
    private(set) var counters = Exporter.Counters()

    init(_ limits: Exporter.Limits) {
        var limits = limits
        limits.batchRecords = max(1, limits.batchRecords)
        self.limits = limits
    }

    private var waitingCount: Int { waiting.count - head }
    /// The number of records that wait or are being sent.
    var count: Int { waitingCount + sendingCount }
    private var sendingCount: Int { (sending?.bytes.count ?? 0) + parts.reduce(0) { $0 + $1.bytes.count } }
    private var sendingBytes: Int { (sending?.totalBytes ?? 0) + parts.reduce(0) { $0 + $1.totalBytes } }
    /// Whether a flush has not ended.
    var isFlushing: Bool { flushEnd != nil }

    /// Returns whether the first records that were added have all been sent, refused or dropped.
    /// - Parameter position: Their number.
    func hasSent(_ position: Int) -> Bool {
        taken >= position && (sending.map { $0.start >= position } ?? true) && parts.allSatisfy { $0.start >= position }
    }

    /// Adds a record. Above the limits the oldest waiting ones are dropped. When the queue is closed, the record is.
    /// - Returns: Whether a batch is due now that was not before.
    mutating func add(_ record: Record, bytes: Int, at now: MonotonicTime) -> Bool {
        guard !isClosed else {
            counters.dropped += 1
            return false
        }
        waiting.append(Waiting(record: record, bytes: bytes, time: now))
        (added, waitingBytes) = (added + 1, waitingBytes + bytes)
        let wasFull = isFull
        // Records that are dropped below count too: where one does not fit, the next one may not either.
        isFull = isFull || reachesLimits
        let (records, size) = (sendingCount, sendingBytes)
        while waitingCount > 0,
            waitingCount + records > limits.maximumWaiting || waitingBytes + size > limits.maximumWaitingBytes.bytes
        {
            takeFirst()
            counters.dropped += 1
        }
        isFull = isFull && waitingCount > 0
        return sending == nil && parts.isEmpty && isFull && !wasFull
    }

    private var reachesLimits: Bool {
        waitingCount >= min(limits.batchRecords, limits.maximumWaiting)
            || waitingBytes >= min(limits.batchBytes, limits.maximumWaitingBytes).bytes
    }

    /// Removes the first record that waits.
    private mutating func takeFirst() {
        waitingBytes -= waiting[head]?.bytes ?? 0
        waiting[head] = nil
        (head, taken) = (head + 1, taken + 1)
        // Each removal moves two records at most, on average.
        if head >= 64, head * 2 >= waiting.count {
            waiting.removeFirst(head)
            head = 0
        }
    }

    /// Begins a flush: all records up to now are sent now. It ends when they have left, or with the first failure.
    mutating func flush() { flushEnd = added }

    /// Closes the queue: later records are dropped, and what waits is sent, the first time now and after a failure as always.
    mutating func close() { (isClosed, retryAt) = (true, nil) }

    /// Returns the next action. An unsent batch is sent again with the same records and identifier, and after some failures in
    /// halves, so that a record that the receiver never takes holds up no other.
    mutating func next(at now: MonotonicTime) -> Action {
        if let end = flushEnd, hasSent(end) { flushEnd = nil }
        if let retryAt, retryAt > now, !isFlushing { return .wait(until: retryAt) }
        retryAt = nil
        if sending == nil, !parts.isEmpty { sending = parts.removeFirst() }
        if sending != nil {
            sending?.batch.attempt += 1
        } else {
            guard waitingCount > 0, let first = waiting[head] else { return .end }
            let due = first.time + limits.interval
            guard isFlushing || isClosed || isFull || due <= now else { return .wait(until: due) }
            sending = takeBatch()
        }
        guard let sending else { return .end }
        return .send(sending.batch)
    }

    private mutating func takeBatch() -> Sending {
        let start = taken
        var (records, sizes, bytes) = ([Record](), [Int](), 0)
        // A single record may have more bytes than a batch.
        while records.count < limits.batchRecords, waitingCount > 0, let first = waiting[head],
            records.isEmpty || bytes + first.bytes <= limits.batchBytes.bytes
        {
            records.append(first.record)
            sizes.append(first.bytes)
            bytes += first.bytes
            takeFirst()
        }
        isFull = waitingCount > 0 && reachesLimits
        let batch = Exporter.Batch(id: Self.newIdentifier(), records: records)
        return Sending(batch: batch, bytes: sizes, start: start)
    }

    /// Notes the outcome of the batch that was sent.
    /// - Parameter chance: A number from 0 to 1.
    mutating func sent(_ outcome: Outcome, at now: MonotonicTime, chance: Double) {
        guard var current = sending else { return }
        let records = current.batch.records.count
        switch outcome {
        case .accepted:
            counters.exported += records
            (sending, failuresInRow, acceptedAt) = (nil, 0, now)
        case .refused:
            counters.dropped += records
            sending = nil
        case .tooLarge where records > 1:
            parts = current.halves(isPart: current.isPart) + parts
            sending = nil
        case .tooLarge: dropAlone()
        case .failed(let wait):
            counters.failures += 1
            failuresInRow += 1
            // A flush is one attempt.
            flushEnd = nil
            retryAt = now + max(min(wait ?? .zero, Self.longestRequestedWait), backoff(failuresInRow, chance))
            let since = current.failedAt ?? now
            current.failedAt = since
            sending = current
            if records > 1, current.batch.attempt >= (current.isPart ? Self.attempts.part : Self.attempts.batch) {
                parts += current.halves(isPart: true)
                sending = nil
            } else if records == 1, current.batch.attempt >= Self.attempts.batch,
                acceptedAt.map({ $0 > since }) ?? false || now - since >= Self.longestFailure
            {
                dropAlone()
            } else if current.isPart {
                // The others have their turn first.
                parts.append(current)
                sending = nil
            }
        }
    }

    /// Drops the record that is being sent.
    private mutating func dropAlone() {
        counters.dropped += 1
        counters.undeliverable += 1
        sending = nil
    }

    /// Drops everything that waits.
    mutating func dropAll() {
        counters.dropped += count
        taken = added
        (waiting, head, waitingBytes, isFull) = ([], 0, 0, false)
        (sending, parts, retryAt, flushEnd) = (nil, [], nil, nil)
    }

    /// The wait after an attempt: a random part, at least a half, of a time that doubles with each attempt.
    private func backoff(_ attempt: Int, _ chance: Double) -> Duration {
        let doubled = limits.firstBackoff * (1 << min(attempt - 1, 20))
        return min(doubled, limits.longestBackoff) * (0.5 + chance / 2)
    }

    private static func newIdentifier() -> String {
        (0..<2).map { _ in
            let digits = String(UInt64.random(in: .min ... .max), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }.joined()
    }
}
