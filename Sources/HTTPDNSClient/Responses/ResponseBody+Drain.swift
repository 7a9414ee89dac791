extension ResponseBody {
    /// As much as is read of a body that nobody wants, so that its connection can be used again: more costs more than a new
    /// connection.
    private static let drained = 16 * 1024

    /// Reads the rest of a short body and drops a long one. How it ends does not matter: the head was all that counted.
    /// - Throws: `CancellationError`.
    func drain() async throws {
        var left = ResponseBody.drained
        var iterator = makeAsyncIterator()
        do {
            while left > 0, let chunk = try await iterator.next() { left -= chunk.count }
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            return
        }
    }
}
