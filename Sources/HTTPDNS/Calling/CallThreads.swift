internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

/// The threads of a client's callback and blocking calls, which are there while there are such calls.
final class CallThreads: Sendable {
    /// Where callbacks run, one after the other. One that blocks holds up the others, and nothing else.
    let callbacks = WorkThread(named: "httpdns-calls", isOnDuty: false)
    /// Where the work of blocking calls is done. On the runtime's own threads it could have to wait for those who wait for it.
    let blocking = BlockingExecutor()

    /// Lets the threads go when they have nothing more to do.
    func leave() {
        callbacks.leave()
        blocking.thread.leave()
    }
}

/// Runs tasks one after the other on a thread of their own, and wakes them there.
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
