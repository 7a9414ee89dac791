// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import Synchronization
internal import Workload

/// Requests to an origin that responds late, on kept connections: each is sent again as soon as its response was read.
final class SlowRequests: Sendable {
    private let responses = Atomic(0)
    private let isOver = Atomic(false)

    /// The number of responses so far.
    var responseCount: Int { responses.load(ordering: .relaxed) }

    /// Starts as many as ordered, spread over the time of one response, and returns when each has had a response.
    func start(_ orders: Orders, _ client: HTTPDNSClient) async throws {
        guard orders.slow > 0 else { return }
        for number in 0..<orders.slow {
            Task {
                do {
                    while !isOver.load(ordering: .relaxed) {
                        let response = try await client.get(orders.slowURL, headerFields: ClientContender.headerFields)
                        let bytes = try await response.body.collect(upTo: .mebibytes(1)).count
                        guard response.status == .ok, bytes == orders.bodyBytes else {
                            throw UnexpectedAnswer("\(orders.slowURL): \(response.status), \(bytes) bytes")
                        }
                        responses.add(1, ordering: .relaxed)
                    }
                } catch {
                    if !isOver.load(ordering: .relaxed) { fatalError("a slow request failed: \(error)") }
                }
            }
            // 2,000 in 400 ms: all at once, they would be due at one moment again and again.
            if number % 5 == 4 { try await Task.sleep(for: .milliseconds(1)) }
        }
        while responseCount < orders.slow { try await Task.sleep(for: .milliseconds(5)) }
    }

    /// Sends none again. Those in flight end with the client.
    func stop() { isOver.store(true, ordering: .relaxed) }
}
