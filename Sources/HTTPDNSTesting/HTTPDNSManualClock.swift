// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSCore
package import HTTPDNSPrimitives

/// A manual clock: its time changes only when a test moves it.
///
/// Sleeping tasks are resumed in the order of their deadlines; with equal deadlines, in the order in which they began to sleep.
/// Before a test moves the clock to a time limit, it awaits the sleeper of that limit: ``sleepers(atLeast:)``.
public final class HTTPDNSManualClock: TimeSource {
    private struct Sleeper: Sendable {
        var number: UInt64
        var deadline: MonotonicTime
        var alarm: OneShot<Bool>
    }

    private struct Watcher: Sendable {
        var count: Int
        var alarm: OneShot<Void>
    }

    private struct State: Sendable {
        var now: MonotonicTime
        var sleepers: [Sleeper] = []
        var watchers: [Watcher] = []
        var lastNumber: UInt64 = 0
    }

    private let state: Lock<State>

    /// Creates a clock.
    public convenience init() { self.init(start: MonotonicTime(nanoseconds: 1_000_000_000_000)) }

    /// Creates a clock that shows `start`, a time far from zero, so that ages do not precede the origin.
    package init(start: MonotonicTime) { state = Lock(State(now: start)) }

    /// Returns the time to which the clock was last moved.
    package func now() -> MonotonicTime { state.withLock { $0.now } }

    /// The number of tasks that sleep on the clock now.
    public var sleeperCount: Int { state.withLock { $0.sleepers.count } }

    /// Returns when the clock was moved to `deadline` or beyond; immediately when it is there already.
    /// - Throws: `CancellationError` as soon as the task is canceled.
    package func sleep(until deadline: MonotonicTime) async throws {
        try Task.checkCancellation()
        let alarm = OneShot<Bool>()
        let (number, seen): (UInt64?, [OneShot<Void>]) = state.withLock { state in
            guard deadline > state.now else { return (nil, []) }
            state.lastNumber += 1
            state.sleepers.append(Sleeper(number: state.lastNumber, deadline: deadline, alarm: alarm))
            let reached = state.watchers.filter { $0.count <= state.sleepers.count }
            state.watchers.removeAll { $0.count <= state.sleepers.count }
            return (state.lastNumber, reached.map(\.alarm))
        }
        for watcher in seen { watcher.deliver(()) }
        guard let number else { return }
        let isTime = await withTaskCancellationHandler {
            await alarm.value()
        } onCancel: {
            alarm.deliver(false)
        }
        if !isTime {
            state.withLock { $0.sleepers.removeAll { $0.number == number } }
            throw CancellationError()
        }
    }

    /// Moves the clock forward, and resumes the tasks whose deadlines it passes. A negative duration has no effect.
    public func advance(by duration: Duration) {
        let due: [Sleeper] = state.withLock { state in
            let target = state.now + max(duration, .zero)
            state.now = target
            let due = state.sleepers.filter { $0.deadline <= target }
            state.sleepers.removeAll { $0.deadline <= target }
            return due
        }
        for sleeper in due.sorted(by: { ($0.deadline, $0.number) < ($1.deadline, $1.number) }) {
            sleeper.alarm.deliver(true)
        }
    }

    /// Returns as soon as at least `count` tasks sleep on the clock, or the waiting task is canceled.
    public func sleepers(atLeast count: Int) async {
        let alarm = OneShot<Void>()
        let isReached = state.withLock { state in
            guard state.sleepers.count < count else { return true }
            state.watchers.append(Watcher(count: count, alarm: alarm))
            return false
        }
        if isReached { return }
        await withTaskCancellationHandler {
            await alarm.value()
        } onCancel: {
            alarm.deliver(())
            state.withLock { $0.watchers.removeAll { $0.alarm === alarm } }
        }
    }
}

extension HTTPDNSResolver.Configuration {
    /// The manual clock of the resolver, for lifetimes, time limits and quarantines; nil means the system's clock.
    public var manualClock: HTTPDNSManualClock? {
        get { timeSource as? HTTPDNSManualClock }
        set { timeSource = newValue ?? SystemTimeSource() }
    }
}
