// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The sleeps and alarms on the system's clock, which share the runtime's timers.
///
/// Nearly all of them are limits that are canceled long before they end. A timer of the runtime costs a significant part of a
/// query, and stays until its time even if its task is canceled. Here a canceled one leaves nothing behind.
final class SleepQueue: Sendable {
    static let shared = SleepQueue()

    fileprivate struct State: Sendable {
        var lastNumber: UInt64 = 0
        var actions: [UInt64: AlarmAction] = [:]
        /// A binary heap; it may contain times of actions that were removed.
        var moments: [Moment] = []
        /// The times for which timers are set, in descending order.
        var timers: [MonotonicTime] = []
    }

    fileprivate struct Moment: Sendable {
        var deadline: MonotonicTime
        var number: UInt64

        /// Of equal times, the one that was added first.
        static func < (left: Moment, right: Moment) -> Bool {
            (left.deadline, left.number) < (right.deadline, right.number)
        }
    }

    private let state = Lock(State())

    /// Returns at `deadline`, or a little later.
    /// - Throws: `CancellationError` as soon as the task is canceled.
    func sleep(until deadline: MonotonicTime) async throws {
        try Task.checkCancellation()
        let sleeper = OneShot<Bool>()
        let number = add(at: deadline) {
            sleeper.deliver(true)
            return nil
        }
        if await sleeper.value(orOnCancel: false) { return }
        cancel(number)
        throw CancellationError()
    }

    /// Adds an action.
    /// - Returns: The number with which it can be canceled.
    func add(at deadline: MonotonicTime, _ action: @escaping AlarmAction) -> UInt64 {
        let (number, timer) = state.withLock { $0.add(action, at: deadline) }
        if let timer { setTimer(timer) }
        return number
    }

    func cancel(_ number: UInt64) {
        // Released after the lock.
        _ = state.withLock { $0.actions.removeValue(forKey: number) }
    }

    private func setTimer(_ moment: MonotonicTime) {
        Task.detached { [self] in
            // Without a tolerance the runtime may delay a timer by a tenth of its duration.
            try? await Task.sleep(for: moment - SystemTimeSource().now(), tolerance: .zero, clock: .continuous)
            let now = SystemTimeSource().now()
            let (due, next) = state.withLock { $0.due(at: now, timer: moment) }
            // A slow action delays those that are due with it, and no others.
            if let next { setTimer(next) }
            for number in due {
                // It may have been canceled during the others.
                guard let action = state.withLock({ $0.actions[number] }) else { continue }
                guard let again = action() else {
                    cancel(number)
                    continue
                }
                if let timer = state.withLock({ $0.add(number, at: again) }) { setTimer(timer) }
            }
        }
    }
}

extension SleepQueue.State {
    /// - Returns: The number of the action, and the time for which a timer is to be set, if none is set for that early.
    fileprivate mutating func add(
        _ action: @escaping AlarmAction,
        at deadline: MonotonicTime
    ) -> (number: UInt64, timer: MonotonicTime?) {
        lastNumber += 1
        actions[lastNumber] = action
        if moments.count > 2 * actions.count + 64 {
            // Removed actions outnumber the others. A sorted list is a heap.
            moments = moments.filter { actions[$0.number] != nil }.sorted { $0 < $1 }
        }
        return (lastNumber, add(lastNumber, at: deadline))
    }

    /// Sets the time of an action, unless it was canceled.
    fileprivate mutating func add(_ number: UInt64, at deadline: MonotonicTime) -> MonotonicTime? {
        guard actions[number] != nil else { return nil }
        moments.append(SleepQueue.Moment(deadline: deadline, number: number))
        siftUp(moments.count - 1)
        return nextTimer()
    }

    /// Returns the actions whose deadline has passed, and the time for which a timer is to be set.
    /// - Parameter rung: The timer that went off.
    fileprivate mutating func due(
        at now: MonotonicTime,
        timer rung: MonotonicTime
    ) -> ([UInt64], MonotonicTime?) {
        var due: [UInt64] = []
        while let first = moments.first, first.deadline <= now || actions[first.number] == nil {
            removeFirst()
            if actions[first.number] != nil { due.append(first.number) }
        }
        if let index = timers.lastIndex(of: rung) { timers.remove(at: index) }
        return (due, nextTimer())
    }

    private mutating func nextTimer() -> MonotonicTime? {
        guard let first = moments.first?.deadline, timers.last.map({ first < $0 }) ?? true else { return nil }
        timers.append(first)
        return first
    }

    private mutating func siftUp(_ start: Int) {
        var index = start
        while index > 0, moments[index] < moments[(index - 1) / 2] {
            moments.swapAt(index, (index - 1) / 2)
            index = (index - 1) / 2
        }
    }

    private mutating func removeFirst() {
        moments.swapAt(0, moments.count - 1)
        moments.removeLast()
        var index = 0
        while true {
            var least = index
            for child in [2 * index + 1, 2 * index + 2]
            where child < moments.count && moments[child] < moments[least] {
                least = child
            }
            guard least != index else { return }
            moments.swapAt(index, least)
            index = least
        }
    }
}
