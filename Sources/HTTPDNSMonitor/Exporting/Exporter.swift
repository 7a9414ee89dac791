// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCore
public import HTTPDNSPrimitives
public import Logging

extension HTTPDNSTrafficMonitor {
    /// A sender of records, in batches, to a receiver such as the collector of a company.
    ///
    /// ```swift
    /// settings.exporter = try HTTPDNSTrafficMonitor.Exporter(
    ///     to: "https://collector.example/traffic",
    ///     through: client
    /// )
    /// ```
    ///
    /// Records wait in memory until a batch is full or its oldest record has waited for ``Limits/interval``. A batch that fails is
    /// sent again, with the same records and the same ``Batch/id``, after a time that doubles. Meanwhile the others wait, and
    /// above the limits the oldest ones are dropped. After 8 attempts a batch is sent in halves, which are new batches, and so
    /// are they. A record that fails alone 8 times is dropped, once the receiver has taken another record, or after 10 minutes:
    /// one that the receiver never takes holds up no other. A receiver that stores each identifier once gets each record once; without
    /// that, a batch whose response was lost arrives twice. A process that ends loses the records that wait: call ``close(within:)``
    /// before.
    ///
    /// The receiver runs on a thread of the exporter, and no call waits for it. When it fails or blocks, one warning is logged until
    /// it works again.
    public final class Exporter: Sendable {
        /// A function that gives a batch to the receiver. An error means that the batch is to be sent again, except ``Refusal``;
        /// ``Delay`` sets the earliest time.
        public typealias Send = @Sendable (Batch) async throws -> Void

        private struct State {
            var queue: ExportQueue
            var isRunning = false
            var hasWarned = false
            /// The wait of the task that sends; nil while it does not wait.
            var sleeper: Task<Void, Never>?
            /// Whether the task that sends is to look at the queue again.
            var isWoken = false
            var waiters: [Waiter] = []

            /// Removes and returns the waiters that have nothing to wait for.
            mutating func takeEnded() -> [Waiter] {
                guard !waiters.isEmpty else { return [] }
                func hasEnded(_ waiter: Waiter) -> Bool {
                    queue.hasSent(waiter.position) || waiter.endsWithFailure && !queue.isFlushing
                }
                defer { waiters.removeAll(where: hasEnded) }
                return waiters.filter(hasEnded)
            }

            mutating func wake() -> Wake {
                defer { (isRunning, isWoken) = (true, true) }
                return Wake(starts: !isRunning, sleeper: sleeper)
            }
        }

        /// A flush or a closing that waits.
        private struct Waiter {
            /// The number of records that are to have left, of all that were added.
            let position: Int
            /// Whether it also ends with the first failure, as a flush does.
            let endsWithFailure: Bool
            let end = OneShot<Void>()
        }

        /// The way to wake the task that sends.
        private struct Wake {
            /// Whether the task is to be started.
            let starts: Bool
            /// The wait to be ended.
            let sleeper: Task<Void, Never>?
        }

        private let receive: Send
        private let logger: Logger?
        private let time: any TimeSource
        private let random: @Sendable () -> Double
        private let work = SerialWork()
        private let state: Lock<State>

        /// Creates an exporter with a receiver of its own.
        /// - Parameters:
        ///   - limits: The sizes and times.
        ///   - logger: The logger of the warning; nil for none.
        ///   - send: The receiver. It gets one batch at a time, and may block.
        public convenience init(limits: Limits = Limits(), logger: Logger? = nil, send: @escaping Send) {
            self.init(
                limits: limits,
                logger: logger,
                time: SystemTimeSource(),
                random: { .random(in: 0...1) },
                send: send
            )
        }

        /// - Parameters:
        ///   - time: The clock of the waits.
        ///   - random: Numbers from 0 to 1, for the waits after failures.
        init(
            limits: Limits = Limits(),
            logger: Logger? = nil,
            time: any TimeSource,
            random: @escaping @Sendable () -> Double,
            send: @escaping Send
        ) {
            receive = send
            self.logger = logger
            self.time = time
            self.random = random
            state = Lock(State(queue: ExportQueue(limits)))
        }

        /// The counters since the exporter was created.
        public var counters: Counters { state.withLock { $0.queue.counters } }
        /// The number of records that wait or are being sent.
        public var waitingCount: Int { state.withLock { $0.queue.count } }

        /// Sends the records that wait, now, and returns when they have arrived or a batch has failed. A batch that failed is sent
        /// again later. It does not wait for records that are added meanwhile. In a canceled task it returns at once.
        public func flush() async {
            let begun = state.withLock { state -> (Waiter, Wake)? in
                guard state.queue.count > 0 else { return nil }
                let waiter = Waiter(position: state.queue.added, endsWithFailure: true)
                state.queue.flush()
                state.waiters.append(waiter)
                return (waiter, state.wake())
            }
            guard let (waiter, wake) = begun else { return }
            run(wake)
            await withTaskCancellationHandler {
                await waiter.end.value()
            } onCancel: {
                waiter.end.deliver(())
            }
        }

        /// Sends the records that wait, and ends the exporter. Later records are dropped. A batch that fails is sent again while
        /// there is time, and records that have not arrived in time are dropped. A second close does nothing.
        /// - Parameter limit: The time for the sending.
        public func close(within limit: Duration = .seconds(5)) async {
            let deadline = time.now() + limit
            let begun = state.withLock { state -> (Waiter, Wake)? in
                guard !state.queue.isClosed else { return nil }
                state.queue.close()
                guard state.queue.count > 0 else { return nil }
                let waiter = Waiter(position: state.queue.added, endsWithFailure: false)
                state.waiters.append(waiter)
                return (waiter, state.wake())
            }
            guard let (waiter, wake) = begun else { return }
            run(wake)
            let timer = Task.detached { [time] in
                try? await time.sleep(until: deadline)
                waiter.end.deliver(())
            }
            await waiter.end.value()
            timer.cancel()
            let (waiters, lastWake) = state.withLock { state in
                state.queue.dropAll()
                defer { state.waiters = [] }
                return (state.waiters, state.wake())
            }
            run(lastWake)
            for waiter in waiters { waiter.end.deliver(()) }
        }

        // MARK: records

        /// Adds a record to those that wait.
        func append(_ record: Record, bytes: Int) {
            let now = time.now()
            let wake = state.withLock { state -> Wake? in
                let isDue = state.queue.add(record, bytes: bytes, at: now)
                guard !state.queue.isClosed else { return nil }
                return isDue || !state.isRunning ? state.wake() : nil
            }
            if let wake { run(wake) }
        }

        private func run(_ wake: Wake) {
            wake.sleeper?.cancel()
            if wake.starts { Task.detached { [self] in await sendAll() } }
        }

        /// Sends until nothing waits.
        private func sendAll() async {
            while true {
                let now = time.now()
                let (action, ended) = state.withLock { state -> (ExportQueue.Action, [Waiter]) in
                    state.isWoken = false
                    let action = state.queue.next(at: now)
                    if case .end = action { state.isRunning = false }
                    return (action, state.takeEnded())
                }
                for waiter in ended { waiter.end.deliver(()) }
                switch action {
                case .end: return
                case .wait(let deadline): await sleep(until: deadline)
                case .send(let batch): await send(batch)
                }
            }
        }

        /// Waits, unless it is woken.
        private func sleep(until deadline: MonotonicTime) async {
            let sleeper = Task.detached { [time] in
                // It is canceled to be woken.
                _ = try? await time.sleep(until: deadline)
            }
            let isWoken = state.withLock { state in
                state.sleeper = sleeper
                return state.isWoken
            }
            if isWoken { sleeper.cancel() }
            await sleeper.value
            state.withLock { $0.sleeper = nil }
        }

        private func send(_ batch: Batch) async {
            var outcome = ExportQueue.Outcome.accepted
            do {
                try await work.perform { [receive] in try await receive(batch) }
            } catch let refusal as Refusal {
                outcome = refusal.isTooLarge ? .tooLarge : .refused
                warn(refusal.reason)
            } catch {
                outcome = .failed(wait: (error as? Delay)?.retryAfter)
                warn("\(error)")
            }
            let (now, chance) = (time.now(), random())
            state.withLock { state in
                if case .accepted = outcome { state.hasWarned = false }
                state.queue.sent(outcome, at: now, chance: chance)
            }
        }

        private func warn(_ reason: String) {
            let isFirst = state.withLock { state in
                defer { state.hasWarned = true }
                return !state.hasWarned
            }
            guard isFirst else { return }
            logger?.warning(
                "traffic records cannot be exported",
                metadata: ["error": "\(reason.onOneLine(limit: 500))"]
            )
        }
    }
}

extension HTTPDNSTrafficMonitor.Exporter {
    /// The records of one sending.
    public struct Batch: Sendable {
        /// A random identifier. It stays the same when the batch is sent again.
        public let id: String
        /// The records, the oldest first.
        public let records: [HTTPDNSTrafficMonitor.Record]
        /// The number of the attempt, from 1.
        public internal(set) var attempt: Int

        /// Creates a batch, for tests of a receiver.
        public init(id: String, records: [HTTPDNSTrafficMonitor.Record], attempt: Int = 1) {
            self.id = id
            self.records = records
            self.attempt = attempt
        }

        /// The records as text, one JSON object for each line.
        public var lines: [UInt8] {
            records.reduce(into: []) { lines, record in
                // Only numbers that JSON does not have cannot be encoded: a record has none.
                guard let line = try? RecordJSON.bytes(record) else { return }
                lines += line
                lines.append(UInt8(ascii: "\n"))
            }
        }
    }

    /// An error of a receiver that does not take a batch, now or later. The batch is dropped, or sent in halves.
    public struct Refusal: Error, CustomStringConvertible {
        /// The reason, for the log.
        public let reason: String
        /// Whether the receiver may take the records in smaller batches: the batch is sent in halves. A single record is dropped.
        public let isTooLarge: Bool
        /// The reason.
        public var description: String { reason }

        /// Creates an error.
        public init(_ reason: String, isTooLarge: Bool = false) {
            self.reason = reason
            self.isTooLarge = isTooLarge
        }
    }

    /// An error of a receiver that does not take a batch now. The batch is sent again, as after any other error.
    public struct Delay: Error, CustomStringConvertible {
        /// The reason, for the log.
        public let reason: String
        /// The least time until the next attempt, at most an hour; nil for that of the exporter's limits.
        public let retryAfter: Duration?
        /// The reason.
        public var description: String { reason }

        /// Creates an error.
        public init(_ reason: String, retryAfter: Duration? = nil) {
            self.reason = reason
            self.retryAfter = retryAfter
        }
    }

    /// The sizes and times of an exporter.
    public struct Limits: Hashable, Sendable {
        /// The most records of a batch; less than 1 counts as 1. A batch is sent when it has them, or ``batchBytes``, or when no
        /// more records may wait.
        public var batchRecords = 100
        /// The most bytes of the records of a batch, estimated. A longer record is a batch of its own.
        public var batchBytes = HTTPDNSByteCount.mebibytes(1)
        /// The longest time that a record waits for a batch to become full.
        public var interval = Duration.seconds(10)
        /// The most records that wait or are being sent.
        public var maximumWaiting = 10_000
        /// The most bytes of these records, estimated.
        public var maximumWaitingBytes = HTTPDNSByteCount.mebibytes(16)
        /// The time between a first failure and the next attempt. It doubles with each further one. The wait is random, and at
        /// least a half of it.
        public var firstBackoff = Duration.seconds(1)
        /// The longest time between two attempts.
        public var longestBackoff = Duration.seconds(60)

        /// Creates the defaults.
        public init() {}
    }

    /// The counters of an exporter.
    public struct Counters: Hashable, Sendable {
        /// The records that the receiver took.
        public var exported = 0
        /// The records that were dropped: too many waited, or the receiver refused their batch, or the exporter was closed.
        public var dropped = 0
        /// The records of ``dropped`` that failed alone again and again, or were too large alone.
        public var undeliverable = 0
        /// The sendings that failed.
        public var failures = 0

        /// Creates counters of no records.
        public init() {}
    }
}
