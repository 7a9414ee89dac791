internal import HTTPDNSPrimitives

/// A pool for blocking work of many owners on a limited number of threads, which end when no work waits.
package final class ThreadPool: Sendable {
    private struct State: Sendable {
        var waiting: [@Sendable () -> Void] = []
        var threads = 0
    }

    /// The pool for the files of request and response bodies, of all clients of the process.
    ///
    /// A thread is busy for one read or one write of at most 256 KiB, and never waits for a transfer. 16 threads keep a local
    /// disk busy; a process with a few hundred concurrent downloads stays far from its limit of threads. Tests set another one
    /// for their tasks.
    @TaskLocal package static var files = ThreadPool(limit: 16)

    private let limit: Int
    private let state = Lock(State())
    private let startThread: SerialWork.StartThread

    /// - Parameters:
    ///   - limit: The maximum number of threads, at least 1.
    ///   - startThread: A function that runs its argument on a new thread, or returns false.
    package init(limit: Int, startThread: @escaping SerialWork.StartThread = DetachedThread.start) {
        self.limit = max(1, limit)
        self.startThread = startThread
    }

    /// The number of pieces of work that wait for a thread.
    package var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Runs `work` on a thread of the pool, after all earlier work.
    /// - Returns: False when the pool has no thread and the system has none left; `work` does not run then.
    package func start(_ work: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            // Under the lock, so that there is always a thread that runs the work. A thread starts in some 20 microseconds.
            if state.threads < limit {
                if startThread({ [self] in run() }) {
                    state.threads += 1
                } else if state.threads == 0 {
                    return false
                }
            }
            state.waiting.append(work)
            return true
        }
    }

    private func run() {
        while let work = next() { work() }
    }

    private func next() -> (@Sendable () -> Void)? {
        state.withLock { state in
            if !state.waiting.isEmpty { return state.waiting.removeFirst() }
            state.threads -= 1
            return nil
        }
    }
}
