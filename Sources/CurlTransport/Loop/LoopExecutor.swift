internal import HTTPDNSPrimitives

/// Runs tasks on a loop's thread, for callers who want it so.
///
/// A task whose loop has ended goes on where it would without a preference.
package final class LoopExecutor: TaskExecutor {
    private let mailbox: Lock<LoopMailbox>

    init(_ mailbox: LoopMailbox) { self.mailbox = Lock(mailbox) }

    /// New jobs go to another loop from here on.
    func move(to mailbox: LoopMailbox) { self.mailbox.withLock { $0 = mailbox } }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        mailbox.withLock { $0 }.post(.run(job, self))
    }

    func run(_ job: UnownedJob) {
        job.runSynchronously(on: asUnownedTaskExecutor())
    }

    /// The loop does not run any more.
    static func runElsewhere(_ job: UnownedJob) {
        globalConcurrentExecutor.enqueue(ExecutorJob(job))
    }
}
