internal import Dispatch

/// Runs work that blocks on a thread of its own, so that it takes none from the concurrency pool: a few of these on a
/// machine with two cores would otherwise stop the very code that they wait for. Dispatch bounds how many begin at once: with a thread
/// for each, the programs that they start take the machine from the tests.
func onBlockingThread<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        DispatchQueue.global().async { continuation.resume(with: Swift.Result(catching: work)) }
    }
}
