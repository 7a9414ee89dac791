// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
package import HTTPTypes

/// The interim responses (1xx, RFC 9110 section 15.2) of one transfer, on their way from the loop to a closure of the caller.
///
/// The closure is called in a task, for one response after the other in their order. It starts with the first response.
package final class InterimResponseQueue: Sendable {
    /// The maximum number of responses that wait for the closure; more are dropped. Servers send one or two.
    static let maximumWaiting = 64

    private let responses: AsyncStream<ResponseHead>
    private let waiting: AsyncStream<ResponseHead>.Continuation
    private let receive: @Sendable (HTTPResponse) -> Void
    /// The task that calls the closure; `nil` before the first response.
    private let calls = Lock<Task<Void, Never>?>(nil)

    /// - Parameter receive: The closure; it is never called on a loop's thread or under a lock.
    package init(_ receive: @escaping @Sendable (HTTPResponse) -> Void) {
        self.receive = receive
        (responses, waiting) = AsyncStream.makeStream(
            bufferingPolicy: .bufferingOldest(InterimResponseQueue.maximumWaiting)
        )
    }

    /// Adds a response, on the loop's thread.
    func add(_ head: ResponseHead) {
        guard case .enqueued = waiting.yield(head) else { return }
        calls.withLock { [responses, receive] calls in
            guard calls == nil else { return }
            calls = Task(priority: .high) {
                for await head in responses where !Task.isCancelled { receive(head.whole) }
            }
        }
    }

    /// Accepts no more responses, and returns once the closure has been called with all accepted ones. It also returns when the
    /// task is canceled and when the deadline passes: a closure may take any time. Responses that then wait are dropped.
    func close(by deadline: MonotonicTime? = nil) async {
        waiting.finish()
        guard let calls = calls.withLock({ $0 }) else { return }
        _ = await LimitedWork.run(until: deadline, on: SystemTimeSource()) { await calls.value }
        calls.cancel()
    }
}
