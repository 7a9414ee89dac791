/// Runs the work of calls that block a thread, apart from the runtime's threads: such calls may have blocked all of those.
package protocol CallExecutor: TaskExecutor {
    /// Returns at `deadline` or later, without the runtime's threads.
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    func sleep(until deadline: MonotonicTime) async throws
}

/// The place where the work of a call is done.
package enum CallWork {
    /// The executor of the call that the present task works for; nil: the runtime's threads.
    ///
    /// A task that is started apart does not inherit the executor preference of the task that starts it, so it is kept here as well.
    @TaskLocal package static var executor: (any CallExecutor)?

    /// Starts a task that sees no cancellation and no task-local values of the present one, where the work of its call is done.
    @discardableResult
    package static func detached<Success: Sendable>(
        _ operation: @escaping @Sendable () async -> Success
    ) -> Task<Success, Never> {
        guard let executor else { return Task.detached { await operation() } }
        return Task.detached(executorPreference: executor) {
            await $executor.withValue(executor) { await operation() }
        }
    }
}
