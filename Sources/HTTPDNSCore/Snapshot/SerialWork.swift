// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSPrimitives

/// A serial queue for blocking work, in the order of arrival, on a thread that exists only while there is work.
package final class SerialWork: Sendable {
    /// A function that runs its argument on a new thread, or returns false.
    package typealias StartThread = ThreadPool.StartThread

    /// The system had no thread left.
    package struct NoThread: Error {}

    /// The work was not done in time.
    package struct Overdue: Error {}

    private let queue = Lock(WorkQueue<Job>())
    private let startThread: StartThread

    private struct Job: Sendable {
        let run: @Sendable () -> Void
        let refuse: @Sendable () -> Void
    }

    package convenience init() { self.init(startThread: DetachedThread.start) }

    /// Creates a queue with threads from a pool, which limits their number.
    package convenience init(on pool: ThreadPool) { self.init(startThread: pool.start) }

    package init(startThread: @escaping StartThread) { self.startThread = startThread }

    /// Runs `work` after all earlier work, and returns its result.
    /// - Throws: The errors of `work`; ``NoThread``; ``Overdue`` at the deadline and `CancellationError` as soon as the task is
    ///   canceled: then the work may still run, and its result is dropped.
    package func run<Value: Sendable>(
        until deadline: MonotonicTime? = nil,
        on clock: some TimeSource = SystemTimeSource(),
        _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        if let deadline, clock.now() >= deadline { throw Overdue() }
        let outcome = OneShot<Result<Value, any Error>>()
        enqueue {
            outcome.deliver(Result { try work() })
        } refuse: {
            outcome.deliver(.failure(NoThread()))
        }
        return try await outcome.value(
            until: deadline,
            on: clock,
            or: .failure(Overdue()),
            onCancel: .failure(CancellationError())
        ).get()
    }

    /// Runs a task's steps like the work for ``run(_:)``.
    ///
    /// Between the steps, while the task waits, there may be no thread. If the system has no thread left, the steps run on the
    /// default executor.
    package func perform<Value: Sendable>(
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        // A separate task: a preference that is given to a running task holds from its second step on.
        let task = Task(executorPreference: SerialWorkExecutor(self)) { try await work() }
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    fileprivate func enqueue(_ run: @escaping @Sendable () -> Void, refuse: @escaping @Sendable () -> Void) {
        if queue.withLock({ $0.submit(Job(run: run, refuse: refuse)) }) == .startThread { start() }
    }

    /// The number of waiting pieces of work, without the running one.
    package var waitingCount: Int { queue.withLock { $0.count } }

    private func start() {
        let isStarted = startThread { [self] in
            while let job = queue.withLock({ $0.next() }) { job.run() }
        }
        guard !isStarted else { return }
        for job in queue.withLock({ $0.threadDidNotStart() }) { job.refuse() }
    }
}

/// An executor that runs tasks on the queue of ``SerialWork``.
private final class SerialWorkExecutor: TaskExecutor {
    private let work: SerialWork

    init(_ work: SerialWork) { self.work = work }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        work.enqueue {
            job.runSynchronously(on: self.asUnownedTaskExecutor())
        } refuse: {
            globalConcurrentExecutor.enqueue(ExecutorJob(job))
        }
    }
}

/// The waiting work, and whether it has a thread. A value: it starts no threads itself.
struct WorkQueue<Job> {
    enum Action: Hashable {
        case none
        /// Start a thread that calls ``next()`` until it returns nil; the thread already counts as started.
        case startThread
    }

    private var waiting: [Job] = []
    private var hasThread = false

    var count: Int { waiting.count }

    mutating func submit(_ job: Job) -> Action {
        waiting.append(job)
        guard !hasThread else { return .none }
        hasThread = true
        return .startThread
    }

    /// Returns the next work of the thread; nil means that the thread ends.
    mutating func next() -> Job? {
        guard !waiting.isEmpty else {
            hasThread = false
            return nil
        }
        return waiting.removeFirst()
    }

    /// Records that the thread could not be started.
    /// - Returns: The work that no thread will do.
    mutating func threadDidNotStart() -> [Job] {
        hasThread = false
        defer { waiting = [] }
        return waiting
    }
}
