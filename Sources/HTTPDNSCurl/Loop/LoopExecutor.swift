internal import HTTPDNSPrimitives

/// Runs tasks on a loop's thread, for callers who want it so.
///
/// A task whose loop has ended goes on where it would without a preference.
package final class LoopExecutor: TaskExecutor {
    private enum Target {
        case loop(LoopMailbox)
        /// Wherever that one's jobs go.
        case executor(LoopExecutor)
    }

    private let target: Lock<Target>

    init(_ mailbox: LoopMailbox) { target = Lock(.loop(mailbox)) }

    /// Runs jobs where another one does, also when that has moved.
    package init(following executor: LoopExecutor) { target = Lock(.executor(executor)) }

    /// New jobs go to another loop from here on.
    func move(to mailbox: LoopMailbox) { target.withLock { $0 = .loop(mailbox) } }

    /// New jobs go where another one's do from here on.
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

    /// The loop does not run any more.
    static func runElsewhere(_ job: UnownedJob) {
        globalConcurrentExecutor.enqueue(ExecutorJob(job))
    }
}
