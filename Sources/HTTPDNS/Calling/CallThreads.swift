internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

/// The threads of a client's callback and blocking calls, which exist only while there are such calls.
final class CallThreads: Sendable {
    /// The thread of callbacks, which run one after another. A callback that blocks delays the others, and nothing
    /// else.
    let callbacks = WorkThread(named: "httpdns-calls", isOnDuty: false)
    /// The executor for the work of blocking calls. On the runtime's own threads the work could wait for the threads
    /// that wait for it.
    let blocking = BlockingExecutor()

    /// Lets the threads end when they have no more work.
    func leave() {
        callbacks.leave()
        blocking.thread.leave()
    }
}

/// Runs and wakes tasks one after another on a separate thread.
final class BlockingExecutor: CallExecutor {
    let thread = WorkThread(named: "httpdns-block", isOnDuty: true)

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        thread.enqueue { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }

    func sleep(until deadline: MonotonicTime) async throws {
        try Task.checkCancellation()
        let isOver = OneShot<Bool>()
        guard let timer = thread.enqueue(at: deadline, { isOver.deliver(true) }) else {
            return try await Task.sleep(
                for: max(Duration.zero, deadline - SystemTimeSource().now()),
                clock: .continuous
            )
        }
        let isTime = await withTaskCancellationHandler {
            await isOver.value()
        } onCancel: {
            isOver.deliver(false)
        }
        guard !isTime else { return }
        thread.cancel(timer)
        throw CancellationError()
    }
}
