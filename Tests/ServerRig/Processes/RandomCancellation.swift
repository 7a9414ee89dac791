/// Cancels a task at a random moment of its life: before it begins, while it is under way, or when it is over.
/// - Parameter number: Which one of many it is: every eighth is let come to its end first, however busy the machine is.
/// - Returns: How it ended.
public func cancelAtRandom<Value: Sendable>(
    _ task: Task<Value, any Error>,
    number: Int
) async -> Result<Value, any Error> {
    if number % 8 == 3 {
        _ = await task.result
    } else if number % 2 == 0 {
        for _ in 0..<Int.random(in: 0..<12) { await Task.yield() }
    } else {
        try? await Task.sleep(for: .microseconds(Int.random(in: 0...3000)))
    }
    task.cancel()
    return await task.result
}
