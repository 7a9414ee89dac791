internal import HTTPDNSPrimitives

/// A reader of one file on a separate thread, shared by concurrent callers. A file system that hangs blocks one thread, however
/// many queries need the file.
final class SecretFile: Sendable {
    private let waiting = Lock<[OneShot<Result<String, any Error>>]>([])

    /// - Parameter read: Reads the file; it may block.
    /// - Throws: The error of `read`; `CancellationError` when the task is cancelled.
    func read(_ read: @escaping @Sendable () throws(SecretError) -> String) async throws -> String {
        let waiter = OneShot<Result<String, any Error>>()
        let isFirst = waiting.withLock { waiting in
            waiting.append(waiter)
            return waiting.count == 1
        }
        if isFirst, !DetachedThread.start({ self.end(Result { try read() }) }) {
            let message = "the system gives no thread to read a secret; check the limit of threads (ulimit -u)"
            end(.failure(SecretError(description: message)))
        }
        let result = await withTaskCancellationHandler {
            await waiter.value()
        } onCancel: {
            waiter.deliver(.failure(CancellationError()))
        }
        return try result.get()
    }

    private func end(_ result: Result<String, any Error>) {
        let waiters = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        for waiter in waiters { waiter.deliver(result) }
    }
}
