// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The outcome of an operation under a time limit.
package enum LimitedWork<Success: Sendable>: Sendable {
    case succeeded(Success)
    case failed(any Error)
    case timedOut
    case canceled

    /// Runs `operation` until `deadline`; without one until it ends.
    ///
    /// At the deadline, or when the calling task is canceled, the operation's task is canceled and this returns without
    /// waiting for it. So the limit also holds for an operation that ignores cancellation.
    package static func run(
        until deadline: MonotonicTime?,
        on timeSource: any TimeSource,
        operation: @escaping @Sendable () async throws -> Success
    ) async -> LimitedWork<Success> {
        let ending = OneShot<LimitedWork<Success>>()
        // A detached task, because the operation serves all waiters and not only the first caller: task-local values of that
        // caller must not be visible in it.
        let work = CallWork.detached {
            do {
                ending.deliver(.succeeded(try await operation()))
            } catch {
                ending.deliver(.failed(error))
            }
        }
        defer { work.cancel() }
        return await ending.value(until: deadline, on: timeSource, or: .timedOut, onCancel: .canceled)
    }
}
