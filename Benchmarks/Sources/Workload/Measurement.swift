// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The other figures of a contender, beside those of its own requests.
public struct Insight: Sendable {
    /// The number of responses to slow requests so far. They count as requests.
    public var slowResponses: @Sendable () -> Int = { 0 }
    /// The number of open connections.
    public var connections: (@Sendable () -> Int)?
    /// The CPU seconds of each loop thread so far, by its number. A loop may start during the measurement.
    public var loopSeconds: (@Sendable () -> [Int: Double])?

    /// Creates an insight without figures.
    public init() {}
}

/// Sends the ordered requests through `send` from ordinary tasks, one task for each that may be in flight, and writes the
/// figures of the measured part to standard output as one line of JSON.
///
/// - Parameters:
///   - orders: The requests, and the expected responses.
///   - insight: The contender's other figures.
///   - send: One request, its body read to the end.
/// - Throws: The first failure of `send`, or an ``UnexpectedAnswer``: figures of failed requests are worth nothing.
public func measure(
    _ orders: Orders,
    insight: Insight = Insight(),
    send: @escaping @Sendable () async throws -> Answer
) async throws {
    _ = try await run(orders.warmUp, orders, send)
    let slowAtStart = insight.slowResponses()
    let loopsAtStart = insight.loopSeconds?() ?? [:]
    var start = Usage.now()
    if let started = orders.started {
        start = Usage(seconds: start.seconds - (Usage.calendarSeconds() - started), processorSeconds: 0)
    }
    let times = try await run(orders.requests, orders, send)
    let end = Usage.now()
    let requests = orders.requests + insight.slowResponses() - slowAtStart
    var figures = [
        "\"requests\":\(requests)", "\"seconds\":\(end.seconds - start.seconds)",
        "\"processorSeconds\":\(end.processorSeconds - start.processorSeconds)",
        "\"p50\":\(times.quantile(0.5))", "\"p99\":\(times.quantile(0.99))", "\"peakMemory\":\(Usage.peakMemory())",
    ]
    if let connections = insight.connections { figures.append("\"connections\":\(connections())") }
    let loops = (insight.loopSeconds?() ?? [:]).map { $1 - loopsAtStart[$0, default: 0] }
    if let busiest = loops.max(), busiest > 0 { figures.append("\"busiestLoop\":\(busiest / loops.reduce(0, +))") }
    print("{\(figures.joined(separator: ","))}")
}

/// - Returns: The microseconds of each request.
private func run(
    _ requests: Int,
    _ orders: Orders,
    _ send: @escaping @Sendable () async throws -> Answer
) async throws -> [Double] {
    try await withThrowingTaskGroup(of: [Double].self) { group in
        for task in 0..<orders.inFlight {
            // The remainder goes to the first tasks, one request each.
            let share = requests / orders.inFlight + (task < requests % orders.inFlight ? 1 : 0)
            group.addTask {
                var times: [Double] = []
                times.reserveCapacity(share)
                for _ in 0..<share {
                    let start = Usage.clockSeconds()
                    if let complaint = try await send().complaint(orders) {
                        throw UnexpectedAnswer("\(orders.url): \(complaint)")
                    }
                    times.append((Usage.clockSeconds() - start) * 1e6)
                }
                return times
            }
        }
        return try await group.reduce(into: []) { $0 += $1 }
    }
}

extension [Double] {
    fileprivate func quantile(_ share: Double) -> Double {
        let sorted = sorted()
        return sorted.isEmpty ? 0 : sorted[Swift.min(count - 1, Int(Double(count) * share))]
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
