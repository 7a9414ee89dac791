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

    private typealias Waiter = OneShot<Result<Applied, any Error>>

    private struct Demands: Sendable {
        var isDemanded = false
        var waiters: [Waiter] = []
        var hasEnded = false
    }

    private let file: any WatchedFile
    private let clock: any TimeSource
    private let isOnDemandOnly: Bool
    private let prepare: @Sendable ([UInt8]) throws -> Prepared
    private let report: @Sendable (Report) -> Void
    private let work = SerialWork()
    private let makePace: @Sendable () -> WorkPace
    private let demands = Lock(Demands())
    /// An element for each reason to check the file: an event, a deadline or a demand.
    private let wakes = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
    private let running = Lock<Task<Void, Never>?>(nil)
    private let first: WatchedFileReading?

    /// - Parameters:
    ///   - reading: The file as it was when the settings in use were read; nil when that is not known.
    ///   - isOnDemandOnly: Whether the file is read only by ``renew()`` or ``requestRenewal()``.
    ///   - makePace: A function that returns the pace at which content is read and prepared, or released.
    ///   - prepare: A function that reads the bytes and changes nothing.
    package init(
        _ file: any WatchedFile,
        clock: any TimeSource = SystemTimeSource(),
        reading: WatchedFileReading?,
        isOnDemandOnly: Bool = false,
        makePace: @escaping @Sendable () -> WorkPace = { WorkPace() },
        prepare: @escaping @Sendable ([UInt8]) throws -> Prepared,
        report: @escaping @Sendable (Report) -> Void
    ) {
        self.file = file
        self.clock = clock
        self.isOnDemandOnly = isOnDemandOnly
        self.makePace = makePace
        self.prepare = prepare
        self.report = report
        first = reading
    }

    /// Starts watching. Call it once.
    package func start() {
        let wake = wakes.continuation
        file.begin { wake.yield() }
        wake.yield()
        let task = Task { await run() }
        running.withLock { $0 = task }
    }

    /// Reads the file now, settled or not, and applies it even if its content is unchanged.
    /// - Throws: The errors of reading and applying; ``Ended``; `CancellationError` as soon as the task is canceled.
    package func renew() async throws -> Applied {
        try Task.checkCancellation()
        let waiter = Waiter()
        guard demand(waiter) else { throw Ended() }
        return try await waiter.value(orOnCancel: .failure(CancellationError())).get()
    }

    /// Reads the file as ``renew()`` does, without waiting. A failure is reported as a warning.
    func requestRenewal() { _ = demand(nil) }

    /// - Returns: false after the end.
    private func demand(_ waiter: Waiter?) -> Bool {
        let isTaken = demands.withLock { demands in
            guard !demands.hasEnded else { return false }
            demands.isDemanded = true
            if let waiter { demands.waiters.append(waiter) }
            return true
        }
        wakes.continuation.yield()
        return isTaken
    }

    /// Stops watching, without waiting for a reading in progress. Idempotent.
    package func cancel() {
        demands.withLock { $0.hasEnded = true }
        wakes.continuation.finish()
    }

    /// Stops watching. Nothing is applied after it returns, and no watch is left. Idempotent.
    package func end() async {
        cancel()
        await running.withLock { $0 }?.value
    }

    private func takeDemands() -> Demands {
        demands.withLock { demands in
            defer { demands = Demands(hasEnded: demands.hasEnded) }
            return demands
        }
    }

    private func run() async {
        var round = Round(watcher: self)
        for await _ in wakes.stream {
            let demands = takeDemands()
            guard !demands.hasEnded else {
                for waiter in demands.waiters { waiter.deliver(.failure(Ended())) }
                break
            }
            await round.run(demands)
        }
        round.alarm?.cancel()
        await file.end()
        for waiter in takeDemands().waiters { waiter.deliver(.failure(Ended())) }
    }

    /// The state of the watcher's task.
    private struct Round {
        let watcher: ConfigurationWatcher
        var state: WatchState
        /// The hash of the content that was applied last.
        var mark: Int?
        var isPolling = false
        var lastError: (any Error)?
        var alarm: Task<Void, Never>?

        init(watcher: ConfigurationWatcher) {
            self.watcher = watcher
            let first = watcher.first
            mark = first.map { Self.mark($0.bytes) }
            state = WatchState(
                sight: first.flatMap { $0.isSteady ? $0.sight : nil },
                isOnDemandOnly: watcher.isOnDemandOnly,
                at: watcher.clock.now()
            )
        }

        /// Checks the file, and performs the resulting actions.
        mutating func run(_ demands: Demands) async {
            alarm?.cancel()
            if demands.isDemanded { state.demand() }
            var actions = await look()
            while !actions.isEmpty {
                switch actions.removeFirst() {
                case .read(let expected): actions += await read(expected: expected, for: demands.waiters)
                case .warn: if let lastError { watcher.report(.warning(lastError)) }
                case .tellRecovery: watcher.report(.recovered)
                }
            }
            alarm = state.deadline.map { [clock = watcher.clock, wake = watcher.wakes.continuation] deadline in
                Task { if (try? await clock.sleep(until: deadline)) != nil { wake.yield() } }
            }
        }

        private mutating func look() async -> [WatchState.Action] {
            let seen = try? await watcher.work.run { [file = watcher.file] in file.look() }
            if let seen, !seen.hasEvents, !isPolling, !watcher.isOnDemandOnly { watcher.report(.polling) }
            if let seen { isPolling = !seen.hasEvents }
            // Without a thread for the check nothing is known.
            return state.looked(seen?.sight ?? state.sight ?? .absent(0), seen?.events ?? [], at: watcher.clock.now())
        }

        private mutating func read(expected: FileStatus?, for waiters: [Waiter]) async -> [WatchState.Action] {
            let outcome: WatchState.Outcome
            do {
                let known = expected == nil ? nil : mark
                switch try await watcher.paced({ [watcher] in try watcher.content(expected, unless: known) }) {
                case .changedMeanwhile: outcome = .changedMeanwhile
                case .unchanged:
                    outcome = .unchanged
                    watcher.report(.unchanged)
                case .new(let prepared, let mark):
                    let applied = try await watcher.work.perform { try await prepared.apply() }
                    outcome = .applied
                    self.mark = mark
                    watcher.report(.applied(applied))
                    for waiter in waiters { waiter.deliver(.success(applied)) }
                    try? await watcher.paced(prepared.release)
                }
            } catch {
                outcome = .failed("\(error)")
                lastError = error
                watcher.report(.failed(error))
                for waiter in waiters { waiter.deliver(.failure(error)) }
            }
            return state.finished(outcome, at: watcher.clock.now())
        }

        static func mark(_ bytes: [UInt8]) -> Int {
            var hasher = Hasher()
            bytes.withUnsafeBytes { hasher.combine(bytes: $0) }
            return hasher.finalize()
        }
    }

    /// Runs long work on the watcher's thread, with pauses.
    private func paced<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await work.run { [makePace] in try makePace().run(body) }
    }

    private enum Content: Sendable {
        case changedMeanwhile
        case unchanged
        case new(Prepared, mark: Int)
    }

    /// Reads and prepares the content of the file.
    /// - Parameters:
    ///   - expected: The required status of the file; nil accepts any, as soon as it does not change during the reading.
    ///   - known: The mark of content that is not prepared again.
    private func content(_ expected: FileStatus?, unless known: Int?) throws -> Content {
        var reading = try file.read()
        if let expected {
            guard reading.isSteady, reading.sight == expected else { return .changedMeanwhile }
        } else {
            for _ in 0..<Self.attempts where !reading.isSteady { reading = try file.read() }
            guard reading.isSteady else { throw KeepsChanging() }
        }
        let mark = Round.mark(reading.bytes)
        return mark == known ? .unchanged : .new(try prepare(reading.bytes), mark: mark)
    }

    /// The number of attempts to read a file on demand while it is being written.
    private static var attempts: Int { 3 }

    private struct KeepsChanging: Error, CustomStringConvertible {
        let description =
            "the file changes while it is read; wait until it is written, or move a new file into its place"
    }
}
