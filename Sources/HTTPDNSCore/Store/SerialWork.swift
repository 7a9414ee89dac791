internal import HTTPDNSPrimitives

/// Runs blocking work, one piece after the other in the order of arrival, on a thread that is there only while there is work.
package final class SerialWork: Sendable {
    /// Runs its argument on a new thread, or returns false.
    package typealias StartThread = @Sendable (@escaping @Sendable () -> Void) -> Bool

    /// The system gave no thread.
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

    /// Takes its threads from a pool, which bounds their number.
    package convenience init(on pool: ThreadPool) { self.init(startThread: pool.start) }

    init(startThread: @escaping StartThread) { self.startThread = startThread }

    /// Runs `work` after all that was given before, and returns what it returns.
    /// - Throws: What `work` throws; ``NoThread``; ``Overdue`` at the deadline and `CancellationError` as soon as the task is
    ///   cancelled: then the work may still run, and nobody hears of it.
    package func run<Value: Sendable>(
        until deadline: MonotonicTime? = nil,
        on clock: some TimeSource = SystemTimeSource(),
        _ work: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try Task.checkCancellation()
        if let deadline, clock.now() >= deadline { throw Overdue() }
        let outcome = OneShot<Result<Value, any Error>>()
        let timer = deadline.map { deadline in
            CallWork.detached {
                guard (try? await clock.sleep(until: deadline)) != nil else { return }
                outcome.deliver(.failure(Overdue()))
            }
        }
        defer { timer?.cancel() }
        enqueue {
            outcome.deliver(Result { try work() })
        } refuse: {
            outcome.deliver(.failure(NoThread()))
        }
        return try await withTaskCancellationHandler {
            await outcome.value()
        } onCancel: {
            outcome.deliver(.failure(CancellationError()))
        }.get()
    }

    /// Runs a task's steps like the pieces of work that ``run(_:)`` is given; between them, while it waits for something, there
    /// may be no thread. Where the system gives none, they run where they would without.
    package func perform<Value: Sendable>(
        _ work: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        // A task of its own: a preference that is given to a running task holds from its second step on.
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

    /// How many pieces wait for the one that runs.
    var waitingCount: Int { queue.withLock { $0.count } }

    private func start() {
        let isStarted = startThread { [self] in
            while let job = queue.withLock({ $0.next() }) { job.run() }
        }
        guard !isStarted else { return }
        for job in queue.withLock({ $0.threadDidNotStart() }) { job.refuse() }
    }
}

/// Runs tasks where ``SerialWork`` is done.
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

/// Which work waits, and whether there is a thread for it. A value: it starts nothing itself.
struct WorkQueue<Job> {
    enum Action: Hashable {
        case none
        /// Start a thread that calls ``next()`` until there is nothing; it counts as there already.
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

    /// What the thread does next; nil means that it ends.
    mutating func next() -> Job? {
        guard !waiting.isEmpty else {
            hasThread = false
            return nil
        }
        return waiting.removeFirst()
    }

    /// Notes that there is no thread after all.
    /// - Returns: The work that nobody will do.
    mutating func threadDidNotStart() -> [Job] {
        hasThread = false
        defer { waiting = [] }
        return waiting
    }
}
