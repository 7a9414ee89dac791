internal import HTTPDNSPrimitives

/// The tasks that wait for one event at a gate. A wait may be canceled before it has begun.
final class GateWaiters: Sendable {
    private typealias Waiter = UnsafeContinuation<Void, Never>

    private struct State {
        var waiting: [Int: Waiter] = [:]
        var released: Set<Int> = []
        var lastNumber = 0

        /// Whether the waiter was added; if not, its wait is already over.
        mutating func add(_ waiter: Waiter, number: Int) -> Bool {
            guard released.remove(number) == nil else { return false }
            waiting[number] = waiter
            return true
        }

        mutating func release(_ number: Int) -> Waiter? {
            if let waiter = waiting.removeValue(forKey: number) { return waiter }
            released.insert(number)
            return nil
        }

        mutating func takeAll() -> [Waiter] {
            defer { waiting = [:] }
            return Array(waiting.values)
        }
    }

    private let state = Lock(State())

    /// Returns a number for one wait.
    func newNumber() -> Int {
        state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
    }

    /// Returns when the wait is released, or when the task is canceled.
    /// - Parameter hasHappened: Whether there is nothing to wait for. It is checked under the lock: a later event calls
    ///   ``releaseAll()`` after it.
    func wait(_ number: Int, unless hasHappened: () -> Bool) async {
        await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                let isOver = state.withLock { state in
                    guard !hasHappened() else { return true }
                    return !state.add(continuation, number: number)
                }
                if isOver { continuation.resume() }
            }
        } onCancel: {
            release(number)
        }
        // A cancellation after the end of the wait has left its number.
        state.withLock { _ = $0.released.remove(number) }
    }

    func release(_ number: Int) {
        state.withLock { $0.release(number) }?.resume()
    }

    func releaseAll() {
        for waiter in state.withLock({ $0.takeAll() }) { waiter.resume() }
    }
}
