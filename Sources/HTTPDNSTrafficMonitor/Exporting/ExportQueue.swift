// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSPrimitives

/// The records that wait to be exported, and the batch that is being sent. A value, whose methods return the next action.
struct ExportQueue: Sendable {
    typealias Exporter = HTTPDNSClient.TrafficMonitor.Exporter
    typealias Record = HTTPDNSClient.TrafficMonitor.Record

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
        /// - Parameter wait: The least time until the next attempt; nil without one.
        case failed(wait: Duration?)
    }

    private struct Waiting {
        let record: Record
        let bytes: Int
        let time: MonotonicTime
    }

    private var limits: Exporter.Limits
    private var waiting: [Waiting] = []
    private var waitingBytes = 0
    /// The batch that has been sent at least once, or is being sent, and the bytes of its records.
    private var batch: (batch: Exporter.Batch, bytes: Int)?
    private var retryAt: MonotonicTime?
    /// Whether a flush wants all records to be sent now.
    var isFlushing = false
    private(set) var counters = Exporter.Counters()

    init(_ limits: Exporter.Limits) {
        self.limits = limits
        self.limits.batchRecords = max(1, limits.batchRecords)
    }

    /// The number of records that wait or are being sent.
    var count: Int { waiting.count + (batch?.batch.records.count ?? 0) }

    /// Adds a record. Above the limits the oldest waiting ones are dropped.
    /// - Returns: Whether a batch is due now that was not before.
    mutating func add(_ record: Record, bytes: Int, at now: MonotonicTime) -> Bool {
        waiting.append(Waiting(record: record, bytes: bytes, time: now))
        waitingBytes += bytes
        let sending = (count: batch?.batch.records.count ?? 0, bytes: batch?.bytes ?? 0)
        var excess = 0
        while excess < waiting.count,
            waiting.count - excess + sending.count > limits.maximumWaiting
                || waitingBytes + sending.bytes > limits.maximumWaitingBytes.bytes
        {
            waitingBytes -= waiting[excess].bytes
            excess += 1
        }
        waiting.removeFirst(excess)
        counters.dropped += excess
        return batch == nil && waiting.count == limits.batchRecords
    }

    /// Returns the next action. An unsent batch is sent again with the same records and identifier.
    mutating func next(at now: MonotonicTime) -> Action {
        if let retryAt, retryAt > now, !isFlushing { return .wait(until: retryAt) }
        retryAt = nil
        if batch != nil {
            batch?.batch.attempt += 1
        } else {
            guard let first = waiting.first else {
                isFlushing = false
                return .end
            }
            let due = first.time + limits.interval
            guard isFlushing || waiting.count >= limits.batchRecords || due <= now else { return .wait(until: due) }
            batch = takeBatch()
        }
        guard let batch else { return .end }
        return .send(batch.batch)
    }

    private mutating func takeBatch() -> (batch: Exporter.Batch, bytes: Int) {
        // A single record may have more bytes than a batch.
        var (count, bytes) = (0, 0)
        while count < waiting.count, count < limits.batchRecords,
            count == 0 || bytes + waiting[count].bytes <= limits.batchBytes.bytes
        {
            bytes += waiting[count].bytes
            count += 1
        }
        let records = waiting.prefix(count).map(\.record)
        waiting.removeFirst(count)
        waitingBytes -= bytes
        return (Exporter.Batch(id: Self.newIdentifier(), records: records, attempt: 1), bytes)
    }

    /// Notes the outcome of the batch that was sent.
    /// - Parameter chance: A number from 0 to 1.
    mutating func sent(_ outcome: Outcome, at now: MonotonicTime, chance: Double) {
        guard let current = batch?.batch else { return }
        switch outcome {
        case .accepted:
            counters.exported += current.records.count
            batch = nil
        case .refused:
            counters.dropped += current.records.count
            batch = nil
        case .failed(let wait):
            counters.failures += 1
            // A flush is one attempt.
            isFlushing = false
            retryAt = now + max(wait ?? .zero, backoff(current.attempt, chance))
        }
    }

    /// Drops everything that waits.
    mutating func dropAll() {
        counters.dropped += count
        (waiting, waitingBytes, batch, retryAt, isFlushing) = ([], 0, nil, nil, false)
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
