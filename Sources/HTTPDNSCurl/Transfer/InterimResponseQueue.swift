// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
package import HTTPTypes

/// The interim responses (1xx, RFC 9110 section 15.2) of one transfer, on their way from the loop to a closure of the caller.
///
/// The closure is called in a task, for one response after the other in their order. A task is started when a response
/// arrives and none runs.
package final class InterimResponseQueue: Sendable {
    private struct State {
        var waiting: [ResponseHead] = []
        var isCalling = false
        var isClosed = false
        /// Whether the closure's end is not waited for any more.
        var isAbandoned = false
        var closers: [UnsafeContinuation<Void, Never>] = []
    }

    /// The maximum number of responses that wait for the closure; more are dropped. Servers send one or two.
    static let maximumWaiting = 64

    private let state = Lock(State())
    private let receive: @Sendable (HTTPResponse) -> Void

    /// - Parameter receive: The closure; it is never called on a loop's thread or under a lock.
    package init(_ receive: @escaping @Sendable (HTTPResponse) -> Void) { self.receive = receive }

    /// Adds a response, on the loop's thread.
    func add(_ head: ResponseHead) {
        let startsTask = state.withLock { state in
            guard !state.isClosed, state.waiting.count < InterimResponseQueue.maximumWaiting else { return false }
            state.waiting.append(head)
            defer { state.isCalling = true }
            return !state.isCalling
        }
        if startsTask { Task(priority: .high) { callAll() } }
    }

    private func callAll() {
        while let head = next() { receive(head.whole) }
    }

    /// Returns the next response; with the last one gone, resumes the tasks that wait for that.
    private func next() -> ResponseHead? {
        let (head, closers) = state.withLock { state -> (ResponseHead?, [UnsafeContinuation<Void, Never>]) in
            guard state.waiting.isEmpty else { return (state.waiting.removeFirst(), []) }
            state.isCalling = false
            defer { state.closers = [] }
            return (nil, state.closers)
        }
        for closer in closers { closer.resume() }
        return head
    }

    /// Accepts no more responses, and returns once the closure has been called with all accepted ones. It also returns when the
    /// task is canceled and when the deadline passes: a closure may take any time. Responses that then wait are dropped.
    func close(by deadline: MonotonicTime? = nil) async {
        let isCalling = state.withLock { state in
            state.isClosed = true
            return state.isCalling
        }
        guard isCalling else { return }
        let timer = deadline.map { deadline in
            // The threads of the runtime may all be blocked by blocking calls.
            CallWork.detached { [self] in
                if (try? await SystemTimeSource().sleep(until: deadline)) != nil { abandon() }
            }
        }
        await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                let isOver = state.withLock { state in
                    let isOver = !state.isCalling || state.isAbandoned
                    if !isOver { state.closers.append(continuation) }
                    return isOver
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            abandon()
        }
        timer?.cancel()
    }

    private func abandon() {
        let closers = state.withLock { state in
            state.isAbandoned = true
            state.waiting = []
            defer { state.closers = [] }
            return state.closers
        }
        for closer in closers { closer.resume() }
    }
}
