// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSCurl
internal import Glibc
internal import HTTPDNSPrimitives
internal import Synchronization

/// A request of another thread to a loop.
enum LoopJob: Sendable {
    case start(Transfer)
    case cancel(Transfer)
    /// Adds endpoints to the race of a transfer.
    case add([HTTPDNSEndpoint], to: Transfer)
    /// Ends a transfer whose response body is not wanted any more.
    case endUnread(Transfer)
    case resumeReading(Transfer)
    /// The reader, which has read nothing yet, takes chunks of this size.
    case gather(Transfer, Int)
    case resumeSending(Transfer)
    /// Excludes earlier connections from new transfers; `nil` means all hosts.
    case retire(ParsedURL.Host?)
    /// Refuses new transfers; those in progress may continue until the given time on the loop's clock (`nil`: without limit).
    case drain(until: MonotonicTime?)
}

/// The mailbox from all threads to a loop: a locked array, and a wake-up that is sent only when the loop sleeps.
final class LoopMailbox: Sendable {
    private struct State {
        var jobs: [LoopJob] = []
        var isRunning = false
        var isClosed = false
        var endWaiters: [OneShot<Void>] = []
        /// The waker, made with the thread: a transport that was never used owns no descriptor.
        var waker: Waker?

        /// Notes that the thread is about to start.
        mutating func start(_ configuration: TransportConfiguration) throws(TransferFailure) -> Waker {
            let waker = try configuration.system.makeWaker()
            (self.waker, isRunning) = (waker, true)
            return waker
        }
    }

    private enum Delivery {
        case queued(Waker?)
        case startsThread(Waker)
        case refused(TransferFailure)
    }

    private let state = Lock(State())
    private let isAsleep = Atomic<Bool>(false)
    /// Whether the thread was started and has not ended. Without a lock, for ``isStarted()``.
    private let isUp = Atomic<Bool>(false)
    let configuration: TransportConfiguration
    /// The state that the loop shares with the others of its transport.
    let shared: SharedLoopState
    /// The number of the loop among those of its transport.
    let index: Int
    /// The activity of the loop.
    let load: LoopLoad
    /// The health of endpoints.
    var endpoints: Lock<EndpointTable> { _read { yield shared.endpoints } }
    /// The open connections.
    let pools = Lock(ConnectionPools())

    init(_ configuration: TransportConfiguration, shared: SharedLoopState? = nil, index: Int = 0) {
        self.configuration = configuration
        let shared = shared ?? SharedLoopState(configuration)
        self.shared = shared
        self.index = index
        load = shared.loads[index]
    }

    /// Posts a job. New transfers fail once the loop was asked to end; jobs about transfers in progress are accepted as long
    /// as it runs.
    func post(_ job: LoopJob) {
        let delivery = state.withLock { state -> Delivery in
            guard job.isStart ? !state.isClosed : state.isRunning else {
                return .refused(TransferFailure.shutDown)
            }
            if !state.isRunning {
                do throws(TransferFailure) {
                    let waker = try state.start(configuration)
                    state.jobs.append(job)
                    return .startsThread(waker)
                } catch {
                    return .refused(error)
                }
            }
            state.jobs.append(job)
            load.queue(state.jobs.count)
            return .queued(state.waker)
        }
        switch delivery {
        case .queued(let waker):
            if isAsleep.exchange(false, ordering: .sequentiallyConsistent) { waker?.wake() }
        case .startsThread(let waker):
            startThread(waker)
        case .refused(let failure):
            LoopMailbox.refuse(job, with: failure)
        }
    }

    /// Starts the thread unless it runs.
    /// - Returns: Whether it runs, or refuses new transfers for good.
    func isStarted() -> Bool {
        if isUp.load(ordering: .relaxed) { return true }
        let (waker, isOver) = state.withLock { state -> (Waker?, Bool) in
            if state.isRunning || state.isClosed { return (nil, true) }
            return (try? state.start(configuration), false)
        }
        guard let waker else { return isOver }
        return startThread(waker)
    }

    private static func refuse(_ job: LoopJob, with failure: TransferFailure) {
        if case .start(let transfer) = job { transfer.deliver(end: .failure(failure)).run() }
    }

    /// Asks the loop to end, and waits until its thread has finished. Without effect if it never ran.
    func close(drainingUntil deadline: MonotonicTime?) async {
        let end = OneShot<Void>()
        let (waker, isOver) = state.withLock { state -> (Waker?, Bool) in
            state.isClosed = true
            guard state.isRunning else { return (nil, true) }
            state.jobs.append(.drain(until: deadline))
            state.endWaiters.append(end)
            return (state.waker, false)
        }
        if isOver { return }
        if isAsleep.exchange(false, ordering: .sequentiallyConsistent) { waker?.wake() }
        await end.value()
    }

    /// Asks the loop to end once no transfer is in progress, without waiting.
    /// - Returns: Whether it was running and had not been asked before.
    func abandon() -> Bool {
        let (waker, wasOpen) = state.withLock { state -> (Waker?, Bool) in
            let wasOpen = state.isRunning && !state.isClosed
            state.isClosed = true
            if state.isRunning { state.jobs.append(.drain(until: nil)) }
            return (state.waker, wasOpen)
        }
        if isAsleep.exchange(false, ordering: .sequentiallyConsistent) { waker?.wake() }
        return wasOpen
    }

    // MARK: the loop's side

    /// Takes all jobs so far. The caller passes an empty `jobs`, so that no array is allocated.
    func takeJobs(into jobs: inout [LoopJob]) {
        jobs = state.withLock { [jobs] state in
            if state.jobs.isEmpty { return jobs }
            let taken = state.jobs
            state.jobs = jobs
            load.queue(0)
            return taken
        }
    }

    /// Notes that the loop is about to wait. From here on a job wakes it.
    /// - Returns: Whether there is nothing to do.
    func fallAsleep() -> Bool {
        isAsleep.store(true, ordering: .sequentiallyConsistent)
        return state.withLock { $0.jobs.isEmpty }
    }

    func wakeUp() {
        isAsleep.store(false, ordering: .relaxed)
    }

    @discardableResult
    private func startThread(_ waker: Waker) -> Bool {
        let configuration = configuration
        let started = DetachedThread.start(named: configuration.threadName, hasWholeStack: true) { [self] in
            do throws(TransferFailure) {
                try TransportLoop.run(configuration, mailbox: self, waker: waker)
                end(with: TransferFailure.shutDown, forGood: true)
            } catch {
                end(with: error, forGood: false)
            }
        }
        if started {
            isUp.store(true, ordering: .relaxed)
            return true
        }
        let failure = TransferFailure(
            code: .transport,
            phase: .queue,
            message: "the system refused a thread; raise the limit of threads or processes"
        )
        end(with: failure, forGood: false)
        return false
    }

    /// Notes that the loop has ended, or could not start; in the latter case the next transfer tries again.
    private func end(with failure: TransferFailure, forGood: Bool) {
        isUp.store(false, ordering: .relaxed)
        if !forGood { shared.loopFailed(index, isStarted: false) }
        let (jobs, waiters) = state.withLock { state in
            defer {
                state.jobs = []
                state.endWaiters = []
                state.isRunning = false
                state.waker = nil
                if forGood { state.isClosed = true }
            }
            return (state.jobs, state.endWaiters)
        }
        for job in jobs { LoopMailbox.refuse(job, with: failure) }
        for waiter in waiters { waiter.deliver() }
    }
}

extension LoopJob {
    /// Whether the job starts a loop that is not running yet.
    fileprivate var isStart: Bool {
        if case .start = self { true } else { false }
    }
}
