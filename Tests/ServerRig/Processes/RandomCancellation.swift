// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// Cancels a task at a random time: before it begins, during its work, or after its end.
/// - Parameter number: The index of the task among many: every eighth one may complete first, however busy the machine is.
/// - Returns: The task's result.
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
