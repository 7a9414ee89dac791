// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// A value that is delivered once, to one waiting task. The first of several deliveries wins. It is the waiter of this package: a
/// state behind a lock keeps one for each task that waits for its change.
package typealias OneShot<Value: Sendable> = _OneShot<Value>

/// The value behind `OneShot`. Not for use outside this package: it is public for the reason of `_Lock`.
public final class _OneShot<Value: Sendable>: Sendable {
    @usableFromInline
    enum State: Sendable {
        case empty
        case awaited(UnsafeContinuation<Value, Never>)
        case delivered(Value)
    }

    @usableFromInline
    let state = _Lock(State.empty)

    /// Creates a value that is not delivered yet.
    @inlinable
    public init() {}

    /// Delivers `value`, unless a value was delivered before.
    /// - Returns: Whether this delivery won.
    @discardableResult
    @inlinable
    public func deliver(_ value: Value) -> Bool {
        let (won, waiting): (Bool, UnsafeContinuation<Value, Never>?) = state.withLock { state in
            switch state {
            case .delivered: return (false, nil)
            case .empty:
                state = .delivered(value)
                return (true, nil)
            case .awaited(let continuation):
                state = .delivered(value)
                return (true, continuation)
            }
        }
        waiting?.resume(returning: value)
        return won
    }

    /// Whether a value was delivered.
    package var isDelivered: Bool {
        state.withLock { if case .delivered = $0 { true } else { false } }
    }

    /// Returns the value, as soon as it is delivered. For one task only.
    ///
    /// It does not react to cancellation: a caller that needs that delivers a value for it.
    @inlinable
    public func value() async -> Value {
        await withUnsafeContinuation { continuation in
            let ready: Value? = state.withLock { state in
                if case .delivered(let value) = state { return value }
                state = .awaited(continuation)
                return nil
            }
            if let ready { continuation.resume(returning: ready) }
        }
    }

    /// Returns the value, as soon as it is delivered, or another one when the task is canceled before. For one task only.
    package func value(orOnCancel other: Value) async -> Value {
        await withTaskCancellationHandler {
            await value()
        } onCancel: {
            deliver(other)
        }
    }
}

extension _OneShot {
    /// Returns the value, as soon as it is delivered: `overdue` at the deadline, and `canceled` when the task is canceled before.
    package func value(
        until deadline: MonotonicTime?,
        on clock: some TimeSource,
        or overdue: Value,
        onCancel canceled: Value
    ) async -> Value {
        let alarm = deadline.map { deadline in
            clock.alarm(at: deadline) {
                self.deliver(overdue)
                return nil
            }
        }
        defer { alarm?.cancel() }
        return await value(orOnCancel: canceled)
    }
}

extension _OneShot where Value == Void {
    /// Delivers the event, unless it was delivered before.
    package func deliver() { deliver(()) }
}
