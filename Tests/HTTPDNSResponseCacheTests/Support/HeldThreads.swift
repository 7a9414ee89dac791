// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives

/// The threads for a folder. While a test holds them, they run only when the test says so: the folder does not respond.
final class HeldThreads: Sendable {
    struct Body: Sendable {
        let run: @Sendable () -> Void
    }

    private struct State: Sendable {
        var isHeld = false
        var isExhausted = false
        var started = 0
    }

    private let bodies: AsyncStream<Body>
    private let continuation: AsyncStream<Body>.Continuation
    private let state = Lock(State())

    /// The number of threads that were held.
    var count: Int { state.withLock { $0.started } }

    init(isHeld: Bool = false) {
        (bodies, continuation) = AsyncStream.makeStream(of: Body.self)
        hold(isHeld)
    }

    /// Returns a pool that has one of the threads at a time. Its threads end with their work: a test that runs one would
    /// wait with it.
    func pool(maximumWaiting: Int = .max) -> ThreadPool {
        ThreadPool(limit: 1, maximumWaiting: maximumWaiting, rest: .zero) { body in
            let (isHeld, isExhausted) = self.state.withLock { state in
                if state.isHeld, !state.isExhausted { state.started += 1 }
                return (state.isHeld, state.isExhausted)
            }
            guard !isExhausted else { return false }
            guard isHeld else { return DetachedThread.start(body) }
            self.continuation.yield(Body(run: body))
            return true
        }
    }

    /// Holds the threads that start from now on, or none.
    func hold(_ isHeld: Bool = true) { state.withLock { $0.isHeld = isHeld } }

    /// Waits for the next thread that is held.
    func next() async -> Body? { await bodies.first { _ in true } }

    /// Lets no other thread start.
    func exhaust(_ isExhausted: Bool = true) { state.withLock { $0.isExhausted = isExhausted } }
}
