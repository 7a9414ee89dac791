// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
internal import Synchronization

/// A count of calls in progress, until their response head, which refuses new ones once the client is shut down.
///
/// ``TransportAdapter`` counts hops with one, and uses two as events without a count: their sleepers wake when they are closed.
/// ``Authentication`` has one as an event too.
final class CallGate: Sendable {
    private static let closed: UInt64 = 1 << 63

    /// The number of calls inside, and the highest bit once the gate is closed.
    private let state = Atomic<UInt64>(0)
    /// The tasks that wait for the last call inside to leave.
    private let draining = GateWaiters()
    /// The tasks that wait for the gate to close.
    private let closing = GateWaiters()

    /// - Parameter nested: Whether the call is part of one that is already inside and may finish its work.
    /// - Returns: The number of calls inside, with this one.
    /// - Throws: ``HTTPDNSClientError`` with code `shutDown`.
    @discardableResult
    func enter(nested: Bool = false) throws(HTTPDNSClientError) -> Int {
        let now = state.wrappingAdd(1, ordering: .acquiringAndReleasing).newValue
        guard now & CallGate.closed != 0, !nested else { return Int(now & ~CallGate.closed) }
        leave()
        throw HTTPDNSClientError.shutDown
    }

    func leave() {
        guard state.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue == CallGate.closed else { return }
        draining.releaseAll()
    }

    /// The number of calls inside.
    var count: Int { Int(state.load(ordering: .relaxed) & ~CallGate.closed) }

    /// Whether the client is shut down.
    var isClosed: Bool { state.load(ordering: .acquiring) & CallGate.closed != 0 }

    /// Closes the gate and wakes all tasks that sleep at it.
    func close() {
        state.bitwiseOr(CallGate.closed, ordering: .acquiringAndReleasing)
        closing.releaseAll()
    }

    /// Returns when the closed gate has no call inside, at `deadline`, or when the task is canceled.
    func awaitEmpty(until deadline: MonotonicTime, on clock: some TimeSource) async {
        await wait(at: draining, until: deadline, on: clock) { state.load(ordering: .acquiring) == CallGate.closed }
    }

    /// Sleeps until `deadline` or until the gate is closed.
    /// - Returns: Whether it is still open.
    /// - Throws: `CancellationError` when the task is canceled.
    func sleep(until deadline: MonotonicTime, on clock: some TimeSource) async throws -> Bool {
        await wait(at: closing, until: deadline, on: clock) { isClosed }
        try Task.checkCancellation()
        return !isClosed
    }

    private func wait(
        at event: GateWaiters,
        until deadline: MonotonicTime,
        on clock: some TimeSource,
        unless hasHappened: () -> Bool
    ) async {
        let waiter = OneShot<Void>()
        let alarm = clock.alarm(at: deadline) {
            waiter.deliver()
            return nil
        }
        defer { alarm.cancel() }
        await event.wait(waiter, unless: hasHappened)
    }

    /// Returns the value of some work, which is canceled when the gate is closed.
    /// - Throws: The error of the work; ``HTTPDNSClientError`` with code `shutDown` when the gate is closed before its end;
    ///   `CancellationError` when the task is canceled.
    func value<Value: Sendable>(of work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        try await withThrowingTaskGroup(of: Value?.self) { tasks in
            defer { tasks.cancelAll() }
            tasks.addTask { try await work() }
            tasks.addTask { [self] in
                await closing.wait(OneShot()) { isClosed }
                return nil
            }
            if let first = try await tasks.next(), let value = first { return value }
            try Task.checkCancellation()
            throw HTTPDNSClientError.shutDown
        }
    }
}

/// The tasks that wait for one event at a gate.
private final class GateWaiters: Sendable {
    /// By numbers and not by addresses: released in their order, the same events have the same effects in each run.
    private let waiting = Lock<(last: UInt64, waiters: [UInt64: OneShot<Void>])>((0, [:]))

    /// Returns when the event has happened, when the waiter is released otherwise, or when the task is canceled.
    /// - Parameter hasHappened: Whether there is nothing to wait for. It is checked under the lock: a later event calls
    ///   ``releaseAll()`` after it.
    func wait(_ waiter: OneShot<Void>, unless hasHappened: () -> Bool) async {
        let number: UInt64? = waiting.withLock { waiting in
            if hasHappened() { return nil }
            waiting.last += 1
            waiting.waiters[waiting.last] = waiter
            return waiting.last
        }
        guard let number else { return }
        await waiter.value(orOnCancel: ())
        waiting.withLock { _ = $0.waiters.removeValue(forKey: number) }
    }

    func releaseAll() {
        let waiters = waiting.withLock { $0.waiters.sorted { $0.key < $1.key } }
        for (_, waiter) in waiters { waiter.deliver() }
    }
}
