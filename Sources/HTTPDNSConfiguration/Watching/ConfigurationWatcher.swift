internal import HTTPDNSCore
package import HTTPDNSPrimitives

/// Reads a file again whenever it has changed, and applies it: all or nothing.
///
/// When it is read is decided by ``WatchState``. Looking, reading and applying happen on a thread that is there only
/// meanwhile; while nothing happens there is no thread and no timer.
package final class ConfigurationWatcher<Applied: Sendable>: Sendable {
    /// What a watcher has to say. Called one after the other, outside of all locks.
    package enum Report: Sendable {
        case applied(Applied)
        /// The file says what it said when it was applied last.
        case unchanged
        /// What the file says could not be applied; said each time.
        case failed(any Error)
        /// The same, said once for each cause.
        case warning(any Error)
        /// After warnings: the file is in use again.
        case recovered
        /// No events tell of changes (any more): the file is looked at now and then.
        case polling
    }

    /// The watcher has ended.
    package struct Ended: Error {}

    private let file: any WatchedFile
    private let events: any FileEvents
    private let clock: any TimeSource
    private let pace: WatchPace
    private let isOnDemandOnly: Bool
    private let apply: @Sendable ([UInt8]) async throws -> Applied
    private let report: @Sendable (Report) -> Void
    private let work = SerialWork()
    private let inbox = WatcherInbox<Applied>()
    private let running = Lock<Task<Void, Never>?>(nil)
    private let firstSight: FileSight?
    /// The file's content when it was applied last.
    private let applied: Lock<ContentMark?>

    /// - Parameters:
    ///   - reading: The file as it was when the settings in use were read; nil when that is not known.
    ///   - isOnDemandOnly: Whether the file is read only when ``renew()`` or ``requestRenewal()`` says so.
    ///   - apply: Makes what the bytes say take effect, or throws and changes nothing. It runs on the watcher's thread.
    package init(
        _ file: any WatchedFile,
        events: any FileEvents,
        clock: any TimeSource = SystemTimeSource(),
        pace: WatchPace = WatchPace(),
        reading: WatchedFileReading?,
        isOnDemandOnly: Bool = false,
        apply: @escaping @Sendable ([UInt8]) async throws -> Applied,
        report: @escaping @Sendable (Report) -> Void
    ) {
        self.file = file
        self.events = events
        self.clock = clock
        self.pace = pace
        self.isOnDemandOnly = isOnDemandOnly
        self.apply = apply
        self.report = report
        firstSight = reading?.sight
        applied = Lock(reading.map { ContentMark($0.bytes) })
    }

    /// Begins to watch. Called once.
    package func start() {
        let inbox = inbox
        events.begin { inbox.put($0) }
        let task = Task { await run() }
        running.withLock { $0 = task }
    }

    /// Reads the file now, settled or not, and applies it although it may say what it said before.
    /// - Throws: What reading it or applying it throws; ``Ended``; `CancellationError` as soon as the task is cancelled.
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

    /// As ``renew()``, without waiting. A failure is told as a warning.
    package func requestRenewal() { _ = inbox.demand(nil) }

    /// Ends watching, without waiting for a reading under way. Idempotent.
    package func cancel() {
        inbox.end()
        events.end()
    }

    /// Ends watching; nothing is applied after it, and nothing is watched any more. Idempotent.
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

    /// What the watcher's task alone knows.
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
            // The looks that these ask for are this one. Those that came after it ask for another.
            for event in seen?.events ?? [] { _ = state.noticed(event, at: now) }
            // Without a thread to look on nothing is known; it is looked again as if there were no events.
            return state.looked(seen?.sight ?? state.sight ?? .absent(0), isTold: isTold, at: now)
        }

        private mutating func read(expected: FileSight?) async -> [WatchState.Action] {
            let waiters = watcher.inbox.takeWaiters()
            let reader = watcher
            let result: Result<Applied?, any Error>
            let outcome: WatchState.Outcome
            do {
                let (found, bytes) = try await watcher.work.run { try reader.newContent(expected: expected) }
                (outcome, result) = (found, .success(try await watcher.apply(bytes)))
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
                // Only a reading that nobody asked for ends like that; those who came meanwhile wait for the next.
                for waiter in waiters { if !watcher.inbox.demand(waiter) { waiter.deliver(.failure(Ended())) } }
            case .failure(let error):
                lastError = error
                watcher.report(.failed(error))
                for waiter in waiters { waiter.deliver(.failure(error)) }
            }
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

    /// Looks at the file, on the watcher's thread, and takes the events that the look explains: what is told of later stays in
    /// the inbox.
    private func sighting() -> (isTold: Bool, sight: FileSight, events: [FileEvent]) {
        var isTold = false
        var sight = FileSight.absent(0)
        events.catchUp()
        for _ in 0..<Self.attempts {
            let count = inbox.eventCount
            // In this order: what happens after the look is told.
            isTold = events.arm()
            sight = file.sight()
            events.catchUp()
            // Otherwise something happened before the look or after it.
            if let told = inbox.takeEvents(ifThereWere: count) { return (isTold, sight, told) }
        }
        return (isTold, sight, inbox.takeEvents())
    }

    /// Applies what was read, on the watcher's thread.
    private func apply(_ bytes: [UInt8]?) async throws -> Applied? {
        guard let bytes else { return nil }
        let result = try await work.perform { [apply] in try await apply(bytes) }
        applied.withLock { $0 = ContentMark(bytes) }
        return result
    }

    /// Reads, on the watcher's thread.
    /// - Parameter expected: What the file must be; nil takes it as it is, as soon as it holds still.
    /// - Returns: What is to be applied, and what comes of the reading once it is.
    private func newContent(expected: FileSight?) throws -> (WatchState.Outcome, [UInt8]?) {
        var reading = try file.read()
        if let expected {
            guard reading.sight == expected else { return (.changedMeanwhile, nil) }
        } else {
            for _ in 0..<Self.attempts where reading.sight == nil { reading = try file.read() }
            guard reading.sight != nil else { throw KeepsChanging() }
        }
        let mark = ContentMark(reading.bytes)
        if expected != nil, mark == applied.withLock({ $0 }) { return (.unchanged, nil) }
        return (.applied, reading.bytes)
    }

    /// How often a file that is being written is read again for somebody who wants it now.
    private static var attempts: Int { 3 }

    private struct KeepsChanging: Error, CustomStringConvertible {
        let description =
            "the file changes while it is read; wait until it is written, or move a new file into its place"
    }
}
