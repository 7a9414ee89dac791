// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// An executor for the work of blocking calls, separate from the runtime's threads: such calls may have blocked all of those.
package protocol CallExecutor: TaskExecutor {
    /// Returns at `deadline` or later, without the runtime's threads.
    /// - Throws: `CancellationError` as soon as the task is canceled.
    func sleep(until deadline: MonotonicTime) async throws
}

/// The execution context for the work of a call.
package enum CallWork {
    /// The executor of the call that the present task works for; nil means the runtime's threads.
    ///
    /// A detached task does not inherit the executor preference of the task that starts it, so it is stored here as well.
    @TaskLocal package static var executor: (any CallExecutor)?

    /// Starts a task on the executor of the present call, without the cancellation and task-local values of the present task.
    @discardableResult
    package static func detached<Success: Sendable>(
        _ operation: @escaping @Sendable () async -> Success
    ) -> Task<Success, Never> {
        guard let executor else { return Task.detached { await operation() } }
        return Task.detached(executorPreference: executor) {
            await $executor.withValue(executor) { await operation() }
        }
    }

    /// Starts a task as ``detached(_:)`` does, and runs it on the present thread up to its first suspension; for a blocking call it
    /// starts it on the executor. Not to be called under a lock.
    @discardableResult
    package static func immediate<Success: Sendable>(
        _ operation: @escaping @Sendable () async -> Success
    ) -> Task<Success, Never> {
        guard executor == nil else { return detached(operation) }
        return Task.immediateDetached { await operation() }
    }

    /// Starts a task on the executor of the present call, with the task-local values of the present task.
    package static func task<Success: Sendable>(
        _ operation: @escaping @Sendable () async -> Success
    ) -> Task<Success, Never> {
        guard let executor else { return Task { await operation() } }
        return Task(executorPreference: executor) { await operation() }
    }
}
