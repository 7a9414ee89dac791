// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The tasks that sleep on the system's clock, which share the runtime's timers.
///
/// Nearly all sleeps are limits that are canceled long before they end. A timer of the runtime costs a significant part of a
/// query, and stays until its time even if its task is canceled. Here a canceled sleep leaves nothing behind.
final class SleepQueue: Sendable {
    static let shared = SleepQueue()

    /// True at the deadline, and false when the task is canceled.
    fileprivate typealias Sleeper = OneShot<Bool>

    fileprivate struct State: Sendable {
        var lastNumber: UInt64 = 0
        var sleepers: [UInt64: Sleeper] = [:]
        /// A binary heap; it may contain times of sleepers that were removed.
        var moments: [Moment] = []
        /// The times for which timers are set, in descending order.
        var alarms: [MonotonicTime] = []
    }

    fileprivate struct Moment: Sendable {
        var deadline: MonotonicTime
        var number: UInt64
    }

    private let state = Lock(State())

    /// Returns at `deadline`, or a little later.
    /// - Throws: `CancellationError` as soon as the task is canceled.
    func sleep(until deadline: MonotonicTime) async throws {
        try Task.checkCancellation()
        let sleeper = Sleeper()
        let (number, alarm) = state.withLock { $0.add(sleeper, until: deadline) }
        if let alarm { setAlarm(alarm) }
        if await sleeper.value(orOnCancel: false) { return }
        state.withLock { $0.sleepers[number] = nil }
        throw CancellationError()
    }

    private func setAlarm(_ moment: MonotonicTime) {
        Task.detached { [self] in
            // Without a tolerance the runtime may delay a timer by a tenth of its duration.
            try? await Task.sleep(for: moment - SystemTimeSource().now(), tolerance: .zero, clock: .continuous)
            let now = SystemTimeSource().now()
            let (woken, next) = state.withLock { $0.wake(at: now, alarm: moment) }
            for sleeper in woken { sleeper.deliver(true) }
            if let next { setAlarm(next) }
        }
    }
}

extension SleepQueue.State {
    /// - Returns: The number of the sleeper, and the time for which a timer is to be set, if none is set for that early.
    fileprivate mutating func add(
        _ sleeper: SleepQueue.Sleeper,
        until deadline: MonotonicTime
    ) -> (number: UInt64, alarm: MonotonicTime?) {
        lastNumber += 1
        sleepers[lastNumber] = sleeper
        if moments.count > 2 * sleepers.count + 64 {
            // Removed sleepers outnumber the others. A sorted list is a heap.
            moments = moments.filter { sleepers[$0.number] != nil }.sorted { $0.deadline < $1.deadline }
        }
        moments.append(SleepQueue.Moment(deadline: deadline, number: lastNumber))
        siftUp(moments.count - 1)
        return (lastNumber, nextAlarm())
    }

    /// Removes the sleepers whose deadline has passed.
    /// - Parameter rung: The alarm that went off.
    /// - Returns: The sleepers, and the time for which a timer is to be set.
    fileprivate mutating func wake(
        at now: MonotonicTime,
        alarm rung: MonotonicTime
    ) -> ([SleepQueue.Sleeper], MonotonicTime?) {
        var woken: [SleepQueue.Sleeper] = []
        while let first = moments.first, first.deadline <= now || sleepers[first.number] == nil {
            removeFirst()
            if let sleeper = sleepers.removeValue(forKey: first.number) { woken.append(sleeper) }
        }
        if let index = alarms.lastIndex(of: rung) { alarms.remove(at: index) }
        return (woken, nextAlarm())
    }

    private mutating func nextAlarm() -> MonotonicTime? {
        guard let first = moments.first?.deadline, alarms.last.map({ first < $0 }) ?? true else { return nil }
        alarms.append(first)
        return first
    }

    private mutating func siftUp(_ start: Int) {
        var index = start
        while index > 0, moments[index].deadline < moments[(index - 1) / 2].deadline {
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
            where child < moments.count && moments[child].deadline < moments[least].deadline {
                least = child
            }
            guard least != index else { return }
            moments.swapAt(index, least)
            index = least
        }
    }
}
