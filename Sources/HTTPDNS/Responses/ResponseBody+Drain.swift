internal import HTTPDNSPrimitives

extension HTTPDNSClient.Response.Body {
    /// The most bytes that are read of an unwanted body to reuse its connection. Reading more costs more than a new
    /// connection.
    private static let drained = 16 * 1024
    /// The longest time to read an unwanted body: about the time of a new connection on a slow network. Bytes that came
    /// with the head are already there.
    private static let patience = Duration.milliseconds(250)

    /// Reads the rest of a short body and drops a long or slow one. The outcome does not matter, because only the head
    /// counted.
    /// - Throws: `CancellationError`.
    func drain(on clock: some TimeSource = SystemTimeSource()) async throws {
        guard (declaredLength ?? 0) <= HTTPDNSClient.Response.Body.drained else {
            // A transfer ends with its reader, even when other references to the body exist.
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
