// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// The reads of one file, or of several that belong together: one at a time, on threads outside of the runtime's.
///
/// All callers during a read get its result. A file system that hangs keeps one thread, however many callers need the file, and
/// each caller waits within its own limit. This is the only way in which the library reads the files of its settings.
package final class SharedRead<Value: Sendable>: Sendable {
    private typealias Waiter = @Sendable (Result<Value, any Error>) -> Void

    private struct State: Sendable {
        /// The start of the read in progress.
        var startedAt: MonotonicTime?
        var waiters: [UInt64: Waiter] = [:]
        var lastWaiter: UInt64 = 0
    }

    private let state = Lock(State())
    private let pool: ThreadPool

    /// - Parameter pool: The threads. One that all reads share, so that a thread serves many files in turn.
    package init(on pool: ThreadPool = .reads) { self.pool = pool }

    /// The start of the read in progress, on the system's clock; `nil` without one.
    package var startedAt: MonotonicTime? { state.withLock { $0.startedAt } }

    /// The number of callers that wait.
    package var waiting: Int { state.withLock { $0.waiters.count } }

    /// Begins a read, unless one is in progress, and does not wait for it.
    /// - Returns: False when the system gave no thread.
    package func begin(_ read: @escaping @Sendable () throws -> Value) -> Bool {
        begin(for: nil, read).hasThread
    }

    /// Waits for the read in progress, or for a new one.
    /// - Returns: The result, and whether `read` returned it and no earlier read.
    /// - Throws: The errors of the read; ``SharedReadError``; `CancellationError` as soon as the task is canceled.
    package func value(
        until deadline: MonotonicTime? = nil,
        on clock: some TimeSource = SystemTimeSource(),
        _ read: @escaping @Sendable () throws -> Value
    ) async throws -> (value: Value, isOwn: Bool) {
        try Task.checkCancellation()
        if let deadline, clock.now() >= deadline { throw SharedReadError.overdue }
        let outcome = OneShot<Result<Value, any Error>>()
        let (waiter, isOwn, _) = begin(for: { outcome.deliver($0) }, read)
        defer { state.withLock { _ = $0.waiters.removeValue(forKey: waiter) } }
        let result = await outcome.value(
            until: deadline,
            on: clock,
            or: .failure(SharedReadError.overdue),
            onCancel: .failure(CancellationError())
        )
        return (try result.get(), isOwn)
    }

    /// Waits on the calling thread, for callers that are not asynchronous.
    /// - Throws: The errors of the read; ``SharedReadError``.
    package func valueNow(within limit: Duration, _ read: @escaping @Sendable () throws -> Value) throws -> Value {
        let outcome = Monitor<Result<Value, any Error>?>(nil)
        let (waiter, _, _) = begin(for: { result in outcome.change { $0 = result } }, read)
        defer { state.withLock { _ = $0.waiters.removeValue(forKey: waiter) } }
        guard let result = outcome.wait(until: SystemTimeSource().now() + limit, for: { $0 }) else {
            throw SharedReadError.overdue
        }
        return try result.get()
    }

    /// Ends the waits of all callers with an error. The read in progress goes on, and its result is dropped.
    package func abandon(with error: any Error) {
        let waiters = state.withLock { state in
            defer { state.waiters = [:] }
            return state.waiters
        }
        for waiter in waiters.values { waiter(.failure(error)) }
    }

    private func begin(
        for waiter: Waiter?,
        _ read: @escaping @Sendable () throws -> Value
    ) -> (waiter: UInt64, isOwn: Bool, hasThread: Bool) {
        let now = SystemTimeSource().now()
        let (number, begins) = state.withLock { state in
            state.lastWaiter += 1
            if let waiter { state.waiters[state.lastWaiter] = waiter }
            let begins = state.startedAt == nil
            if begins { state.startedAt = now }
            return (state.lastWaiter, begins)
        }
        let hasThread = !begins || pool.start { self.end(Result { try read() }) }
        if !hasThread { end(.failure(SharedReadError.noThread)) }
        return (number, begins, hasThread)
    }

    private func end(_ result: Result<Value, any Error>) {
        let waiters = state.withLock { state in
            defer {
                state.startedAt = nil
                state.waiters = [:]
            }
            return state.waiters
        }
        for waiter in waiters.values { waiter(result) }
    }
}

/// The errors of ``SharedRead`` itself.
package enum SharedReadError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The read was not done in time.
    case overdue
    /// The system gave no thread.
    case noThread

    package var description: String {
        switch self {
        case .overdue: "the file system did not answer in time"
        case .noThread: "the system gives no thread to read it; check the limit of threads (ulimit -u)"
        }
    }
}
