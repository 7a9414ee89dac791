internal import HTTPDNSPrimitives

extension HTTPDNSClient.Response.Body {
    /// As much as is read of a body that nobody wants, so that its connection can be used again: more costs more than a new
    /// connection.
    private static let drained = 16 * 1024
    /// For how long: about as long as a new connection takes on a slow way. What comes with the head is there before.
    private static let patience = Duration.milliseconds(250)

    /// Reads the rest of a short body and drops one that is long or slow. How it ends does not matter: the head was all that
    /// counted.
    /// - Throws: `CancellationError`.
    func drain(on clock: some TimeSource = SystemTimeSource()) async throws {
        guard (declaredLength ?? 0) <= HTTPDNSClient.Response.Body.drained else {
            // A transfer ends with its reader, whoever else has the body.
            _ = makeAsyncIterator()
            return
        }
        let deadline = clock.now() + HTTPDNSClient.Response.Body.patience
        await withTaskGroup(of: Void.self) { tasks in
            tasks.addTask { await readShort() }
            tasks.addTask { try? await clock.sleep(until: deadline) }
            await tasks.next()
            tasks.cancelAll()
        }
        try Task.checkCancellation()
    }

    private func readShort() async {
        var left = HTTPDNSClient.Response.Body.drained
        var iterator = makeAsyncIterator()
        while left > 0, let chunk = try? await iterator.next() { left -= chunk.count }
    }
}
