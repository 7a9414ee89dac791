// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

@testable import HTTPDNSMonitor

struct ExportQueueTests {
    private typealias Exporter = HTTPDNSTrafficMonitor.Exporter

    private let start = MonotonicTime(nanoseconds: 1_000_000_000_000)

    private func queue(_ change: (inout Exporter.Limits) -> Void = { _ in }) -> ExportQueue {
        var limits = Exporter.Limits()
        limits.batchRecords = 3
        change(&limits)
        return ExportQueue(limits)
    }

    /// The identifiers of the calls of the batch that is due; nil when none is.
    private func batch(_ queue: inout ExportQueue, at time: MonotonicTime) -> Exporter.Batch? {
        guard case .send(let batch) = queue.next(at: time) else { return nil }
        return batch
    }

    @Test("A batch is due when it is full, or when its oldest record has waited")
    func due() {
        var queue = queue()
        let early = [
            queue.add(.call(1), bytes: 10, at: start), queue.add(.call(2), bytes: 10, at: start + .seconds(4)),
        ]
        #expect(early == [false, false])
        guard case .wait(let time) = queue.next(at: start + .seconds(5)) else { return #expect(Bool(false)) }
        #expect(time == start + .seconds(10))
        #expect(batch(&queue, at: start + .seconds(10))?.records.map(\.callID) == [1, 2])
        queue.sent(.accepted, at: start + .seconds(11), chance: 1)
        let isDue = (3...5).map { queue.add(.call(UInt64($0)), bytes: 10, at: start + .seconds(12)) }
        #expect(isDue == [false, false, true], "the task that sends is woken")
        #expect(batch(&queue, at: start + .seconds(12))?.records.map(\.callID) == [3, 4, 5])
        queue.sent(.accepted, at: start + .seconds(13), chance: 1)
        guard case .end = queue.next(at: start + .seconds(13)) else { return #expect(Bool(false)) }
        #expect(queue.counters.exported == 5 && queue.counters.dropped == 0 && queue.count == 0)
    }

    /// With records of 250 KiB, 100 of them never wait within 16 MiB.
    @Test(
        "A batch is due when its bytes or the limits of waiting are reached",
        arguments: [
            ("bytes of a batch", 100, 100, 1_000, 1_000, 60, 2),
            ("records that may wait", 100, 100_000, 5, 1_000_000, 60, 5),
            ("bytes that may wait", 100, 1_000, 1_000, 100, 60, 2), ("few records", 3, 1_000, 1_000, 10_000, 60, 3),
        ]
    )
    func dueBeforeLimits(
        name: String,
        batchRecords: Int,
        batchBytes: Int,
        maximumWaiting: Int,
        maximumBytes: Int,
        size: Int,
        number: Int
    ) throws {
        var queue = queue {
            ($0.batchRecords, $0.batchBytes) = (batchRecords, .bytes(batchBytes))
            ($0.maximumWaiting, $0.maximumWaitingBytes) = (maximumWaiting, .bytes(maximumBytes))
        }
        let isDue = (1...number).map { queue.add(.call(UInt64($0)), bytes: size, at: start) }
        #expect(isDue == (1...number).map { $0 == number })
        let batch = try #require(batch(&queue, at: start), "it is sent without waiting for the interval")
        #expect(batch.records.last?.callID == UInt64(number) || batchBytes < number * size)
        let isDueAgain = queue.add(.call(99), bytes: size, at: start)
        #expect(!isDueAgain, "one batch is sent at a time")
    }

    /// Records that come faster than once in the interval, and fill the memory before they fill a batch, are sent and not dropped.
    @Test("Long records are sent, although a batch is never full by number")
    func longRecords() {
        var queue = ExportQueue(Exporter.Limits())
        var (now, sent) = (start, 0)
        for id in 1...200 {
            now = now + .milliseconds(60)
            if queue.add(.call(UInt64(id)), bytes: 250 << 10, at: now), let batch = batch(&queue, at: now) {
                sent += batch.records.count
                queue.sent(.accepted, at: now, chance: 1)
            }
        }
        #expect(sent >= 196 && queue.counters.dropped == 0 && queue.counters.exported == sent)
    }

    /// Moving all records at each addition took minutes here.
    @Test("An addition to a full queue costs the same as one to an empty queue")
    func fullQueue() {
        var queue = queue { $0.maximumWaiting = 10_000 }
        let record = HTTPDNSTrafficMonitor.Record.call(1)
        let begin = ProcessState.threadTime()
        for _ in 0..<510_000 { _ = queue.add(record, bytes: 10, at: start) }
        let duration = ProcessState.threadTime() - begin
        #expect(queue.count == 10_000 && queue.counters.dropped == 500_000)
        #expect(duration < .seconds(15), "\(duration)")
    }

    @Test("A batch has at most its bytes, and a longer record is a batch of its own")
    func bytes() {
        var queue = queue { $0.batchBytes = .bytes(100) }
        for (id, bytes) in [(1, 60), (2, 60), (3, 500)] {
            _ = queue.add(.call(UInt64(id)), bytes: bytes, at: start)
        }
        var batches: [[UInt64]] = []
        while let batch = batch(&queue, at: start + .seconds(60)) {
            batches.append(batch.records.map(\.callID))
            queue.sent(.accepted, at: start + .seconds(60), chance: 1)
        }
        #expect(batches == [[1], [2], [3]])
    }

    @Test("A failed batch is sent again as it was, after a time that doubles")
    func backoff() throws {
        var queue = queue { $0.longestBackoff = .seconds(6) }
        for id in 1...3 { _ = queue.add(.call(UInt64(id)), bytes: 10, at: start) }
        var now = start
        var waits: [Duration] = []
        let first = try #require(batch(&queue, at: now))
        for attempt in 2...6 {
            // A record that is added meanwhile joins the next batch.
            _ = queue.add(.call(UInt64(10 + attempt)), bytes: 10, at: now)
            queue.sent(.failed(wait: nil), at: now, chance: attempt == 6 ? 0 : 1)
            guard case .wait(let time) = queue.next(at: now) else { return #expect(Bool(false)) }
            waits.append(time - now)
            now = time
            let again = try #require(batch(&queue, at: now))
            #expect(again.id == first.id && again.attempt == attempt && again.records.map(\.callID) == [1, 2, 3])
        }
        #expect(waits == [.seconds(1), .seconds(2), .seconds(4), .seconds(6), .seconds(3)])
        queue.sent(.failed(wait: .seconds(90)), at: now, chance: 1)
        guard case .wait(let time) = queue.next(at: now) else { return #expect(Bool(false)) }
        #expect(time == now + .seconds(90), "the receiver asked for it")
        now = time
        _ = batch(&queue, at: now)
        queue.sent(.failed(wait: .seconds(1_000_000)), at: now, chance: 1)
        guard case .wait(let last) = queue.next(at: now) else { return #expect(Bool(false)) }
        #expect(last == now + .seconds(3600), "and for too much")
        #expect(queue.counters.failures == 7)
    }

    @Test("A refused batch is dropped, and the next one is sent")
    func refused() throws {
        var queue = queue()
        for id in 1...4 { _ = queue.add(.call(UInt64(id)), bytes: 10, at: start) }
        let first = try #require(batch(&queue, at: start))
        queue.sent(.refused, at: start, chance: 1)
        let second = try #require(batch(&queue, at: start + .seconds(10)))
        #expect(second.records.map(\.callID) == [4] && second.id != first.id && first.id.count == 32)
        #expect(queue.counters.dropped == 3)
    }

    /// Sends until nothing is left, with a receiver that fails for some calls.
    private func run(_ queue: inout ExportQueue, fails: (Exporter.Batch) -> ExportQueue.Outcome) -> [UInt64] {
        var (now, taken) = (start, [UInt64]())
        for _ in 0..<1000 {
            switch queue.next(at: now) {
            case .end: return taken
            case .wait(let time): now = time
            case .send(let batch):
                let outcome = fails(batch)
                if case .accepted = outcome { taken += batch.records.map(\.callID) }
                queue.sent(outcome, at: now, chance: 1)
            }
        }
        return taken
    }

    @Test("A record that the receiver never takes is found by halves, and dropped", arguments: [3, 100])
    func poison(size: Int) {
        var queue = queue { $0.batchRecords = size }
        for id in 1...250 { _ = queue.add(.call(UInt64(id)), bytes: 10, at: start) }
        let taken = run(&queue) { $0.records.contains { $0.callID == 7 } ? .failed(wait: nil) : .accepted }
        #expect(taken.sorted() == (1...250).filter { $0 != 7 })
        #expect(queue.counters.dropped == 1 && queue.counters.undeliverable == 1 && queue.count == 0)
        #expect(queue.counters.failures < 40 && queue.hasSent(250))
    }

    @Test("Records wait for a receiver that is away, and a single one for ten minutes")
    func away() {
        var (queue, now) = (queue(), start)
        for id in 1...3 { _ = queue.add(.call(UInt64(id)), bytes: 10, at: start) }
        while now < start + .seconds(1200) {
            switch queue.next(at: now) {
            case .end: return #expect(Bool(false))
            case .wait(let time): now = time
            case .send: queue.sent(.failed(wait: nil), at: now, chance: 1)
            }
        }
        #expect(queue.count == 3 && queue.counters.dropped == 0)
        var single = self.queue { $0.batchRecords = 1 }
        _ = single.add(.call(1), bytes: 10, at: start)
        let taken = run(&single) { _ in .failed(wait: nil) }
        #expect(taken.isEmpty && single.counters.undeliverable == 1 && single.counters.failures > 12)
    }

    @Test("A batch that is too large is sent in halves, a record that is too large dropped")
    func tooLarge() {
        var queue = queue { $0.batchRecords = 8 }
        for id in 1...8 { _ = queue.add(.call(UInt64(id)), bytes: 10, at: start) }
        queue.flush()
        let taken = run(&queue) { batch in
            batch.records.count > 2 || batch.records.contains { $0.callID == 5 } ? .tooLarge : .accepted
        }
        #expect(taken == [1, 2, 3, 4, 6, 7, 8] && queue.counters.failures == 0)
        #expect(queue.counters.dropped == 1 && queue.counters.undeliverable == 1 && !queue.isFlushing)
    }

    @Test(
        "Above the limits the oldest waiting records are dropped, and none in flight",
        arguments: [("records", 5, 1_000), ("bytes", 1_000, 50)]
    )
    func bounds(name: String, records: Int, bytes: Int) throws {
        var queue = queue {
            ($0.maximumWaiting, $0.maximumWaitingBytes) = (records, .bytes(bytes))
        }
        for id in 1...3 { _ = queue.add(.call(UInt64(id)), bytes: 10, at: start) }
        let first = try #require(batch(&queue, at: start))
        for id in 4...10 { _ = queue.add(.call(UInt64(id)), bytes: 10, at: start) }
        #expect(queue.count == 5 && queue.counters.dropped == 5)
        queue.sent(.failed(wait: nil), at: start, chance: 1)
        #expect(batch(&queue, at: start + .seconds(1))?.id == first.id)
        queue.sent(.accepted, at: start, chance: 1)
        #expect(batch(&queue, at: start + .seconds(10))?.records.map(\.callID) == [9, 10])
    }

    @Test("A flush sends what waits at once, and ends with the first failure")
    func flush() throws {
        var queue = queue()
        _ = queue.add(.call(1), bytes: 10, at: start)
        queue.flush()
        #expect(batch(&queue, at: start) != nil)
        queue.sent(.failed(wait: nil), at: start, chance: 1)
        #expect(!queue.isFlushing)
        guard case .wait = queue.next(at: start) else { return #expect(Bool(false)) }
        queue.flush()
        #expect(batch(&queue, at: start)?.attempt == 2)
        queue.sent(.accepted, at: start, chance: 1)
        guard case .end = queue.next(at: start) else { return #expect(Bool(false)) }
        #expect(!queue.isFlushing)
    }

    @Test("A flush ends when the records of its start have left, also under steady traffic")
    func flushUnderTraffic() throws {
        var queue = queue { $0.batchRecords = 10 }
        for id in 1...15 { _ = queue.add(.call(UInt64(id)), bytes: 10, at: start) }
        let first = try #require(batch(&queue, at: start))
        #expect(first.records.count == 10)
        queue.flush()
        var sizes: [Int] = []
        for id in 16...40 {
            _ = queue.add(.call(UInt64(id)), bytes: 10, at: start)
            queue.sent(.accepted, at: start, chance: 1)
            guard let batch = batch(&queue, at: start) else { break }
            sizes.append(batch.records.count)
        }
        // The second batch has the last records of the flush. The next one waits until it is full.
        #expect(sizes == [6] && !queue.isFlushing && queue.hasSent(15) && queue.count == 1)
    }

    @Test("A closed queue sends what waits as always, and drops later records")
    func close() throws {
        var queue = queue()
        _ = queue.add(.call(1), bytes: 10, at: start)
        queue.close()
        #expect(batch(&queue, at: start)?.records.map(\.callID) == [1])
        queue.sent(.failed(wait: nil), at: start, chance: 1)
        guard case .wait(let time) = queue.next(at: start) else { return #expect(Bool(false)) }
        #expect(time == start + .seconds(1))
        let isDue = queue.add(.call(2), bytes: 10, at: start)
        #expect(!isDue && queue.counters.dropped == 1 && queue.count == 1)
        #expect(batch(&queue, at: time)?.attempt == 2)
        queue.sent(.accepted, at: time, chance: 1)
        guard case .end = queue.next(at: time) else { return #expect(Bool(false)) }
        #expect(queue.counters.exported == 1 && queue.hasSent(1))
    }
}

extension HTTPDNSTrafficMonitor.Record {
    static func call(_ id: UInt64) -> Self {
        Self(
            callID: id,
            startTime: 0,
            method: "GET",
            url: "http://one.test/\(id)",
            outcome: "finished",
            duration: .zero,
            redirects: 0,
            retries: 0,
            bodyBytes: 0,
            isBodyComplete: true,
            hops: []
        )
    }
}
