// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// Sends the ordered requests through `send` from ordinary tasks, one task for each that may be in flight, and writes the
/// figures of the measured part to standard output as one line of JSON.
///
/// - Parameters:
///   - orders: What to send, and what must come back.
///   - send: One request, its body read to the end.
/// - Throws: The first failure of `send`, or an ``UnexpectedAnswer``: figures of failed requests are worth nothing.
public func measure(_ orders: Orders, send: @escaping @Sendable () async throws -> Answer) async throws {
    try await run(orders.warmUp, orders, send)
    let start = Usage.now()
    try await run(orders.requests, orders, send)
    let end = Usage.now()
    let processorSeconds = end.processorSeconds - start.processorSeconds
    print(
        """
        {"requests":\(orders.requests),"seconds":\(end.seconds - start.seconds),"processorSeconds":\(processorSeconds)}
        """
    )
}

private func run(_ requests: Int, _ orders: Orders, _ send: @escaping @Sendable () async throws -> Answer) async throws
{
    try await withThrowingTaskGroup(of: Void.self) { group in
        for task in 0..<orders.inFlight {
            // The remainder goes to the first tasks, one request each.
            let share = requests / orders.inFlight + (task < requests % orders.inFlight ? 1 : 0)
            group.addTask {
                for _ in 0..<share {
                    if let complaint = try await send().complaint(orders) {
                        throw UnexpectedAnswer("\(orders.url): \(complaint)")
                    }
                }
            }
        }
        try await group.waitForAll()
    }
}

/// Does `work` for each number below `count`, at most 16 at a time.
public func inFlight(_ count: Int, _ work: @escaping @Sendable (Int) async throws -> Void) async throws {
    let width = 16
    try await withThrowingTaskGroup(of: Void.self) { group in
        for first in 0..<min(width, count) {
            group.addTask {
                for number in stride(from: first, to: count, by: width) { try await work(number) }
            }
        }
        try await group.waitForAll()
    }
}

/// An answer other than the one that was ordered.
public struct UnexpectedAnswer: Error, CustomStringConvertible {
    /// The fault.
    public let description: String

    /// Creates the error.
    public init(_ description: String) {
        self.description = description
    }
}
