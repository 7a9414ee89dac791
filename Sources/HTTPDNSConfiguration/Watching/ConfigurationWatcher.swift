// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSCore
package import HTTPDNSPrimitives

/// A watcher that reads a file again whenever it has changed, and applies all of it or nothing.
///
/// ``WatchState`` decides when it is read. Checking, reading and applying run on the watcher's thread, which exists only
/// meanwhile. Reading pauses again and again, so that requests get the processor (``WorkPace``).
package final class ConfigurationWatcher<Applied: Sendable>: Sendable {
    /// A report of a watcher. Reports are sent one after the other, outside of all locks.
    package enum Report: Sendable {
        case applied(Applied)
        /// The file has the same content as when it was applied last.
        case unchanged
        /// The content of the file could not be applied; sent each time.
        case failed(any Error)
        /// The same, sent once for each cause.
        case warning(any Error)
        /// After warnings: the file is in use again.
        case recovered
        /// There are no change events, or no longer: only the checks show a change.
        case polling
    }

    /// New content that is ready to be applied.
    package struct Prepared: Sendable {
        let apply: @Sendable () async throws -> Applied
        let release: @Sendable () -> Void

        /// - Parameters:
        ///   - apply: A function that applies the content, or throws and changes nothing. It runs on the watcher's thread.
        ///   - release: A function that frees the content that was replaced.
        package init(
            apply: @escaping @Sendable () async throws -> Applied,
            release: @escaping @Sendable () -> Void = {}
        ) {
            self.apply = apply
            self.release = release
        }
    }

    /// The watcher has ended.
    package struct Ended: Error {}

    private let file: any WatchedFile
    private let events: any FileEvents
    private let clock: any TimeSource
    private let pace: WatchTiming
    private let isOnDemandOnly: Bool
    private let prepare: @Sendable ([UInt8]) throws -> Prepared
    private let report: @Sendable (Report) -> Void
    private let work = SerialWork()
    private let makePace: @Sendable () -> WorkPace
    private let inbox = WatcherInbox<Applied>()
    private let running = Lock<Task<Void, Never>?>(nil)
    private let firstSight: FileStatus?
    /// The file's content when it was applied last.
    private let applied: Lock<ContentDigest?>

    /// - Parameters:
    ///   - reading: The file as it was when the settings in use were read; nil when that is not known.
    ///   - isOnDemandOnly: Whether the file is read only by ``renew()`` or ``requestRenewal()``.
    ///   - makePace: A function that returns the pace at which content is read and prepared, or released.
    ///   - prepare: A function that reads the bytes and changes nothing.
    package init(
        _ file: any WatchedFile,
        events: any FileEvents,
        clock: any TimeSource = SystemTimeSource(),
        pace: WatchTiming = WatchTiming(),
        reading: WatchedFileReading?,
        isOnDemandOnly: Bool = false,
        makePace: @escaping @Sendable () -> WorkPace = { WorkPace() },
        prepare: @escaping @Sendable ([UInt8]) throws -> Prepared,
        report: @escaping @Sendable (Report) -> Void
    ) {
        self.file = file
        self.events = events
        self.clock = clock
        self.pace = pace
        self.isOnDemandOnly = isOnDemandOnly
        self.makePace = makePace
        self.prepare = prepare
        self.report = report
        firstSight = reading?.sight
        applied = Lock(reading.map { ContentDigest($0.bytes) })
    }

    /// Starts watching. Call it once.
    package func start() {
        let inbox = inbox
        events.begin { inbox.put($0) }
        let task = Task { await run() }
        running.withLock { $0 = task }
    }

    /// Reads the file now, settled or not, and applies it even if its content is unchanged.
    /// - Throws: The errors of reading and applying; ``Ended``; `CancellationError` as soon as the task is canceled.
    package func renew() async throws -> Applied {
        try Task.checkCancellation()
        let waiter = OneShot<Result<Applied, any Error>>()
        guard inbox.demand(waiter) else { throw Ended() }
        return try await withTaskCancellationHandler {
            await waiter.value()
        } onCancel: {
            waiter.deliver(.failure(CancellationError()))
        }.get()
    }

    /// Reads the file as ``renew()`` does, without waiting. A failure is reported as a warning.
    package func requestRenewal() { _ = inbox.demand(nil) }

    /// Stops watching, without waiting for a reading in progress. Idempotent.
    package func cancel() {
        inbox.end()
        events.end()
    }

    /// Stops watching. Nothing is applied after it returns, and no watch is left. Idempotent.
    package func end() async {
        cancel()
        await running.withLock { $0 }?.value
    }

    private func run() async {
        var round = Round(watcher: self)
        inbox.putTime()
        for await _ in inbox.arrivals {
            guard let content = inbox.take() else { break }
            await round.handle(content)
        }
        round.end()
        await events.ended()
        for waiter in inbox.takeWaiters() { waiter.deliver(.failure(Ended())) }
    }

    /// The state of the watcher's task.
    private struct Round {
        let watcher: ConfigurationWatcher
        var state: WatchState
        var isFirst = true
        var isPolling = false
        var lastError: (any Error)?
        var alarm: (at: MonotonicTime, task: Task<Void, Never>)?

        init(watcher: ConfigurationWatcher) {
            self.watcher = watcher
            state = WatchState(
                sight: watcher.firstSight,
                pace: watcher.pace,
                isOnDemandOnly: watcher.isOnDemandOnly,
                at: watcher.clock.now()
            )
        }

        mutating func handle(_ content: WatcherInbox<Applied>.Content) async {
            let now = watcher.clock.now()
            var actions: [WatchState.Action] = isFirst ? [.look] : []
            isFirst = false
            for event in content.events { actions += state.noticed(event, at: now) }
            if content.isDemanded { actions += state.demanded(at: now) }
            if content.isTime { actions += state.timePassed(at: now) }
            await perform(actions)
            setAlarm()
        }

        mutating func end() { alarm?.task.cancel() }

        private mutating func perform(_ first: [WatchState.Action]) async {
            var actions = first
            while !actions.isEmpty {
                let action = actions.removeFirst()
                switch action {
                case .look where actions.contains(.look): continue
                case .look: actions += await look()
                case .read(let expected): actions += await read(expected: expected)
                case .warn: if let lastError { watcher.report(.warning(lastError)) }
                case .tellRecovery: watcher.report(.recovered)
                }
            }
        }

        private mutating func look() async -> [WatchState.Action] {
            let looker = watcher
            let seen = try? await watcher.work.run { looker.sighting() }
            let isTold = seen?.isTold ?? false
            if seen != nil, !isTold, !isPolling, !watcher.isOnDemandOnly { watcher.report(.polling) }
            if seen != nil { isPolling = !isTold }
            let now = watcher.clock.now()
            // This check covers the checks that these events ask for. Later events ask for another.
            for event in seen?.events ?? [] { _ = state.noticed(event, at: now) }
            // Without a thread for the check nothing is known.
            return state.looked(seen?.sight ?? state.sight ?? .absent(0), at: now)
        }

        private mutating func read(expected: FileStatus?) async -> [WatchState.Action] {
            let waiters = watcher.inbox.takeWaiters()
            let result: Result<Applied?, any Error>
            let outcome: WatchState.Outcome
            var replaced: Prepared?
            do {
                let content = try await watcher.newContent(expected: expected)
                (outcome, result) = (content.outcome, .success(try await watcher.apply(content)))
                replaced = content.prepared
            } catch {
                outcome = .failed("\(error)")
                result = .failure(error)
            }
            switch result {
            case .success(let applied?):
                watcher.report(.applied(applied))
                for waiter in waiters { waiter.deliver(.success(applied)) }
            case .success(nil):
                if outcome == .unchanged { watcher.report(.unchanged) }
                // Only a reading without waiters ends like that; waiters that came meanwhile wait for the next.
                for waiter in waiters { if !watcher.inbox.demand(waiter) { waiter.deliver(.failure(Ended())) } }
            case .failure(let error):
                lastError = error
                watcher.report(.failed(error))
                for waiter in waiters { waiter.deliver(.failure(error)) }
            }
            if let replaced { try? await watcher.paced(replaced.release) }
            return state.finished(outcome, at: watcher.clock.now())
        }

        private mutating func setAlarm() {
            let deadline = state.deadline
            guard alarm?.at != deadline else { return }
            alarm?.task.cancel()
            alarm = deadline.map { deadline in
                let (clock, inbox) = (watcher.clock, watcher.inbox)
                let task = Task {
                    guard (try? await clock.sleep(until: deadline)) != nil else { return }
                    inbox.putTime()
                }
                return (deadline, task)
            }
        }
    }

    /// Checks the file, on the watcher's thread, and takes the events until then. Later events stay in the inbox.
    private func sighting() -> (isTold: Bool, sight: FileStatus, events: [FileEvent]) {
        let isTold = events.arm()
        let sight = file.sight()
        // Writes just before the check are known after this call, so that the file is not read before it is closed.
        events.catchUp()
        return (isTold, sight, inbox.takeEvents())
    }

    /// Applies the content, on the watcher's thread.
    private func apply(_ content: NewContent) async throws -> Applied? {
        guard let prepared = content.prepared else { return nil }
        let result = try await work.perform { try await prepared.apply() }
        applied.withLock { $0 = content.mark }
        return result
    }

    /// The content of the file, read and prepared.
    private struct NewContent: Sendable {
        /// The outcome of the reading, once the content is applied.
        var outcome: WatchState.Outcome
        var mark: ContentDigest?
        /// Nil when there is nothing to apply.
        var prepared: Prepared?
    }

    /// Reads and prepares the content of the file.
    /// - Parameter expected: The required status of the file; nil accepts any, as soon as it does not change during the
    ///   reading.
    private func newContent(expected: FileStatus?) async throws -> NewContent {
        let known = applied.withLock { $0 }
        return try await paced { [self] in try readContent(expected: expected, unless: known) }
    }

    /// Runs long work on the watcher's thread, with pauses.
    private func paced<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await work.run { [makePace] in try makePace().run(body) }
    }

    private func readContent(expected: FileStatus?, unless known: ContentDigest?) throws -> NewContent {
        var reading = try file.read()
        if let expected {
            guard reading.sight == expected else { return NewContent(outcome: .changedMeanwhile) }
        } else {
            for _ in 0..<Self.attempts where reading.sight == nil { reading = try file.read() }
            guard reading.sight != nil else { throw KeepsChanging() }
        }
        let mark = ContentDigest(reading.bytes)
        if expected != nil, mark == known { return NewContent(outcome: .unchanged) }
        return NewContent(outcome: .applied, mark: mark, prepared: try prepare(reading.bytes))
    }

    /// The number of attempts to read a file on demand while it is being written.
    private static var attempts: Int { 3 }

    private struct KeepsChanging: Error, CustomStringConvertible {
        let description =
            "the file changes while it is read; wait until it is written, or move a new file into its place"
    }
}

/// A digest that distinguishes contents of a file without keeping them: 128 bits, by a hash with keys of this process.
struct ContentDigest: Hashable, Sendable {
    private let high: Int
    private let low: Int

    init(_ bytes: [UInt8]) {
        func hash(_ salt: UInt8) -> Int {
            var hasher = Hasher()
            hasher.combine(salt)
            bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
            return hasher.finalize()
        }
        high = hash(0)
        low = hash(1)
    }
}
