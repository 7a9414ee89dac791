// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// Runs a body a number of times in tasks beside each other.
/// - Returns: The results, in the order in which the tasks ended.
@discardableResult
package func concurrently<Result: Sendable>(
    _ count: Int,
    _ body: @escaping @Sendable (_ number: Int) async throws -> Result
) async throws -> [Result] {
    try await withThrowingTaskGroup(of: Result.self) { tasks in
        for number in 0..<count { tasks.addTask { try await body(number) } }
        return try await tasks.reduce(into: []) { $0.append($1) }
    }
}
