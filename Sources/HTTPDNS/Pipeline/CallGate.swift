internal import HTTPDNSPrimitives
internal import Synchronization

/// Counts calls until their response head, and refuses new ones once the client is shut down.
final class CallGate: Sendable {
    private static let closed: UInt64 = 1 << 63

    /// The number of calls inside, and the highest bit once the gate is closed.
    private let state = Atomic<UInt64>(0)
    /// The tasks that wait for the last call inside to leave.
    private let draining = GateWaiters()
    /// The tasks that wait for the gate to close.
    private let closing = GateWaiters()

    /// - Parameter nested: Whether the call is part of one that is already inside and may finish its work.
    /// - Throws: ``HTTPDNSClientError`` with code `shutDown`.
    func enter(nested: Bool = false) throws(HTTPDNSClientError) {
        let before = state.wrappingAdd(1, ordering: .acquiringAndReleasing).oldValue
        guard before & CallGate.closed != 0, !nested else { return }
        leave()
        throw HTTPDNSClientError.shutDown
    }

    func leave() {
        guard state.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == CallGate.closed else { return }
        draining.releaseAll()
    }

    /// Whether the client is shut down.
    var isClosed: Bool { state.load(ordering: .acquiring) & CallGate.closed != 0 }

    /// Closes the gate and wakes all tasks that sleep at it.
    func close() {
        state.bitwiseOr(CallGate.closed, ordering: .acquiringAndReleasing)
        closing.releaseAll()
    }

    /// Returns when the closed gate has no call inside, at `deadline`, or when the task is canceled.
    func awaitEmpty(until deadline: MonotonicTime, on clock: some TimeSource) async {
        let number = draining.newNumber()
        let timer = Task {
            try await clock.sleep(until: deadline)
            self.draining.release(number)
        }
        await draining.wait(number) { state.load(ordering: .acquiring) == CallGate.closed }
        timer.cancel()
    }

    /// Sleeps until `deadline` or until the gate is closed.
    /// - Returns: Whether it is still open.
    /// - Throws: `CancellationError` when the task is canceled.
    func sleep(until deadline: MonotonicTime, on clock: some TimeSource) async throws -> Bool {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { try await clock.sleep(until: deadline) }
            tasks.addTask { [self] in await closing.wait(closing.newNumber()) { isClosed } }
            try await tasks.next()
            tasks.cancelAll()
        }
        try Task.checkCancellation()
        return !isClosed
    }
}
