internal import HTTPDNSPrimitives

/// A task executor on a loop's thread, for callers that prefer it.
///
/// A task whose loop has ended continues where it would without a preference.
package final class LoopExecutor: TaskExecutor {
    private enum Target {
        case loop(LoopMailbox)
        /// The current target of another executor.
        case executor(LoopExecutor)
    }

    private let target: Lock<Target>

    init(_ mailbox: LoopMailbox) { target = Lock(.loop(mailbox)) }

    /// Creates an executor that runs jobs where another one does, also after that one has moved.
    package init(following executor: LoopExecutor) { target = Lock(.executor(executor)) }

    /// Sends new jobs to another loop.
    func move(to mailbox: LoopMailbox) { target.withLock { $0 = .loop(mailbox) } }

    /// Sends new jobs to another executor's loop.
    package func follow(_ executor: LoopExecutor) { target.withLock { $0 = .executor(executor) } }

    private var mailbox: LoopMailbox {
        switch target.withLock({ $0 }) {
        case .loop(let mailbox): mailbox
        case .executor(let executor): executor.mailbox
        }
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        mailbox.post(.run(job, self))
    }

    func run(_ job: UnownedJob) {
        job.runSynchronously(on: asUnownedTaskExecutor())
    }

    /// Runs a job elsewhere, after the loop has ended.
    static func runElsewhere(_ job: UnownedJob) {
        globalConcurrentExecutor.enqueue(ExecutorJob(job))
    }
}
