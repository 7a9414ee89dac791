/// Runs work that blocks on a thread of its own, so that it takes none from the concurrency pool: a few of these on a
/// machine with two cores would otherwise stop the very code that they wait for.
func onBlockingThread<Result: Sendable>(_ work: @escaping @Sendable () throws -> Result) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
        startThread { continuation.resume(with: Swift.Result(catching: work)) }
    }
}
