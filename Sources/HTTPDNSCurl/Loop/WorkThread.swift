// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
package import HTTPDNSPrimitives

/// A thread that does one piece of work after the other. It exists while there is work, and sleeps for a few seconds
/// afterwards.
package final class WorkThread: Sendable {
    private struct Timer: Sendable {
        let id: UInt64
        let deadline: MonotonicTime
        let work: @Sendable () -> Void
    }

    private enum Step {
        case work([@Sendable () -> Void])
        case wait(until: MonotonicTime)
        case end
    }

    private struct State: Sendable {
        var work: [@Sendable () -> Void] = []
        /// The timers, the earliest first.
        var timers: [Timer] = []
        var lastTimer: UInt64 = 0
        var isRunning = false
        /// Whether the thread ends as soon as it has no work.
        var isLeaving = false

        /// Returns the thread's next work, or the time until which it has none.
        mutating func step(at now: MonotonicTime, restingUntil restEnd: MonotonicTime) -> Step {
            let due = timers.prefix { $0.deadline <= now }
            timers.removeFirst(due.count)
            work += due.map(\.work)
            if !work.isEmpty {
                defer { work = [] }
                return .work(work)
            }
            if let first = timers.first { return .wait(until: first.deadline) }
            guard isLeaving || now >= restEnd else { return .wait(until: restEnd) }
            isRunning = false
            return .end
        }

        /// Whether there is work before `end`, or a reason to end.
        func isWorthLooking(before end: MonotonicTime) -> Bool {
            !work.isEmpty || timers.first.map { $0.deadline < end } ?? isLeaving
        }

        /// Notes that there is work.
        /// - Returns: Whether a thread must be started for it.
        mutating func starts() -> Bool {
            isLeaving = false
            defer { isRunning = true }
            return !isRunning
        }
    }

    private let name: String
    private let isOnDuty: Bool
    private let rest: Duration
    private let state = Monitor(State())

    /// - Parameters:
    ///   - name: At most 15 bytes on Linux.
    ///   - isOnDuty: Whether others wait for the thread's work, see ``BlockingCallGuard``.
    ///   - rest: The time that it stays without work.
    package init(named name: String, isOnDuty: Bool, rest: Duration = .seconds(5)) {
        self.name = name
        self.isOnDuty = isOnDuty
        self.rest = rest
    }

    /// Enqueues work after all earlier work. If the system creates no thread, the work runs immediately on the current one.
    package func enqueue(_ work: @escaping @Sendable () -> Void) {
        let starts = state.change { state in
            state.work.append(work)
            return state.starts()
        }
        if !starts || LoopThread.start(named: name, { [self] in run() }) { return }
        // This includes the work that others have added meanwhile.
        let rest = state.change { state in
            state.isRunning = false
            defer { state.work = [] }
            return state.work
        }
        for work in rest { work() }
    }

    /// Enqueues work for `deadline` or later.
    /// - Returns: A number for ``cancel(_:)``; `nil` if the system creates no thread.
    package func enqueue(at deadline: MonotonicTime, _ work: @escaping @Sendable () -> Void) -> UInt64? {
        let (id, starts) = state.change { state in
            state.lastTimer += 1
            let timer = Timer(id: state.lastTimer, deadline: deadline, work: work)
            let index = state.timers.firstIndex { $0.deadline > deadline } ?? state.timers.endIndex
            state.timers.insert(timer, at: index)
            return (timer.id, state.starts())
        }
        if !starts || LoopThread.start(named: name, { [self] in run() }) { return id }
        state.change { $0.isRunning = false }
        cancel(id)
        return nil
    }

    /// Cancels timed work, if it has not run yet.
    package func cancel(_ timer: UInt64) {
        state.change { $0.timers.removeAll { $0.id == timer } }
    }

    /// Lets the thread end after its current work. It starts again with new work.
    package func leave() {
        state.change { $0.isLeaving = true }
    }

    private func run() {
        if isOnDuty { BlockingCallGuard.begin() }
        var restEnd = SystemTimeSource().now() + rest
        while true {
            switch state.change({ $0.step(at: SystemTimeSource().now(), restingUntil: restEnd) }) {
            case .work(let work):
                for item in work { item() }
                restEnd = SystemTimeSource().now() + rest
            case .wait(let end):
                _ = state.wait(until: end) { $0.isWorthLooking(before: end) ? true : nil }
            case .end:
                return
            }
        }
    }
}

/// The threads that do the work of blocking calls. A blocking wait on such a thread, for work that only this thread can do,
/// never ends.
package enum BlockingCallGuard {
    /// The key; `nil` when the process has none left (PTHREAD_KEYS_MAX, 1024 with glibc). No thread is then known to be one
    /// of these.
    private static let key: pthread_key_t? = {
        var key = pthread_key_t()
        return pthread_key_create(&key, nil) == 0 ? key : nil
    }()

    /// Whether others wait for the current thread.
    package static var isOnDuty: Bool {
        guard let key else { return false }
        return pthread_getspecific(key) != nil
    }

    /// Marks the current thread as one that others wait for.
    static func begin() {
        // Any non-null pointer marks the thread.
        if let key { pthread_setspecific(key, UnsafeMutableRawPointer(bitPattern: 1)) }
    }
}
