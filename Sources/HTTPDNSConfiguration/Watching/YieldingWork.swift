// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Dispatch
internal import Glibc
package import HTTPDNSCore
internal import Synchronization

/// Work on a thread that yields to all others, for a caller that waits on a thread of its own.
///
/// The work runs alone on that thread: results are passed on by the caller's. A thread that the yielding one starts would
/// inherit its policy (pthread_attr_setinheritsched(3)), and so could threads of Swift's pool if it resumed tasks.
package final class YieldingWork: Sendable {
    private let limit: Duration
    private let startThread: SerialWork.StartThread
    private let isBusy = Atomic(false)

    /// - Parameters:
    ///   - limit: The time after which the caller does work itself that is not done: on a busy machine the thread may get no
    ///     processor. Ten thousand mappings take some 20 ms.
    ///   - startThread: A function that runs its argument on a new thread of low priority, or returns false.
    package init(
        limit: Duration = .seconds(1),
        startThread: @escaping SerialWork.StartThread = DetachedThread.startInBackground
    ) {
        self.limit = limit
        self.startThread = startThread
    }

    /// Runs `body` and waits for it. The caller runs it itself without a thread, while earlier work still has it, and once more
    /// after the limit.
    /// - Parameter body: A function that takes no lock which others wait for, and may be called twice.
    func run<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) throws -> Value {
        guard !isBusy.exchange(true, ordering: .acquiringAndReleasing) else { return try body() }
        let outcome = Outcome<Value>()
        let isStarted = startThread { [self] in
            // Threads that came to this processor before the thread had its priority would wait for the next tick, up to 4 ms.
            sched_yield()
            outcome.set(Result { try body() })
            isBusy.store(false, ordering: .releasing)
            outcome.isSet.signal()
        }
        guard isStarted else {
            isBusy.store(false, ordering: .releasing)
            return try body()
        }
        let end = DispatchTime.now() + .nanoseconds(Int(limit / .nanoseconds(1)))
        guard outcome.isSet.wait(timeout: end) == .success, let result = outcome.value else { return try body() }
        return try result.get()
    }

    private final class Outcome<Value: Sendable>: Sendable {
        let isSet = DispatchSemaphore(value: 0)
        private let result = Mutex<Result<Value, any Error>?>(nil)

        /// Read once ``isSet`` was signaled, so that nobody waits for the yielding thread.
        var value: Result<Value, any Error>? { result.withLock { $0 } }

        func set(_ value: Result<Value, any Error>) { result.withLock { $0 = value } }
    }
}
