internal import HTTPDNSPrimitives

/// Runs blocking work of many owners on a bounded number of threads, which end when no work waits.
package final class ThreadPool: Sendable {
    private struct State: Sendable {
        var waiting: [@Sendable () -> Void] = []
        var threads = 0
    }

    /// The pool for the files of request and response bodies, of all clients of the process.
    ///
    /// A thread is busy for one read or one write of at most 256 KiB, and never waits for a transfer. 16 keep a local disk busy; a
    /// process with a few hundred downloads at the same time stays far from its limit of threads. A test takes another one for its
    /// tasks.
    @TaskLocal package static var files = ThreadPool(limit: 16)

    private let limit: Int
    private let state = Lock(State())
    private let startThread: SerialWork.StartThread

    /// - Parameters:
    ///   - limit: The most threads at a time, at least 1.
    ///   - startThread: Runs its argument on a new thread, or returns false.
    package init(limit: Int, startThread: @escaping SerialWork.StartThread = DetachedThread.start) {
        self.limit = max(1, limit)
        self.startThread = startThread
    }

    /// The number of pieces of work that wait for a thread.
    package var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Runs `work` on a thread of the pool, after all that came before.
    /// - Returns: False when the pool has no thread and the system gives none; `work` does not run then.
    package func start(_ work: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            // Under the lock, so that the work always has a thread that comes for it. A thread starts in some 20 microseconds.
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
