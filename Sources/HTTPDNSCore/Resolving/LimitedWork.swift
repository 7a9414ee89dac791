package import HTTPDNSPrimitives

/// How a piece of work under a time limit ended.
package enum LimitedWork<Success: Sendable>: Sendable {
    case succeeded(Success)
    case failed(any Error)
    case timedOut
    case cancelled

    /// Runs `operation` until `deadline`.
    ///
    /// At the deadline, or when the calling task is cancelled, the operation's task is cancelled and left behind, and this
    /// returns without waiting for it: the limit also holds for work that does not listen.
    package static func run(
        until deadline: MonotonicTime,
        on timeSource: any TimeSource,
        operation: @escaping @Sendable () async throws -> Success
    ) async -> LimitedWork<Success> {
        let ending = OneShot<LimitedWork<Success>>()
        // Detached, because the work is done for everyone who waits and not for the task that came first: task-local
        // values of that one have no place in it.
        let work = CallWork.detached {
            do {
                ending.deliver(.succeeded(try await operation()))
            } catch {
                ending.deliver(.failed(error))
            }
        }
        let timer = CallWork.detached {
            guard (try? await timeSource.sleep(until: deadline)) != nil else { return }
            ending.deliver(.timedOut)
        }
        defer {
            work.cancel()
            timer.cancel()
        }
        return await withTaskCancellationHandler {
            await ending.value()
        } onCancel: {
            ending.deliver(.cancelled)
        }
    }
}
