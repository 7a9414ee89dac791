// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import Synchronization

/// A clock for a resolver: the system's clock in production, a manual one in tests.
package protocol TimeSource: Sendable {
    /// Returns the present time. Called on every cache hit: it must be cheap and must never go back.
    func now() -> MonotonicTime

    /// Returns the present time, as exact as lifetimes need it: at most some milliseconds behind ``now()``.
    func coarseNow() -> MonotonicTime

    /// Returns at `deadline` or later.
    /// - Throws: `CancellationError` as soon as the task is canceled.
    func sleep(until deadline: MonotonicTime) async throws

    /// Calls `action` at `deadline` or later, and again at each time that it returns, until that is nil.
    ///
    /// It is called on any thread, where others may be due as well: it must be short, and must call no code of users.
    func alarm(at deadline: MonotonicTime, _ action: @escaping AlarmAction) -> Alarm
}

extension TimeSource {
    /// Returns the exact time.
    package func coarseNow() -> MonotonicTime { now() }

    /// Starts a task that sleeps.
    package func alarm(at deadline: MonotonicTime, _ action: @escaping AlarmAction) -> Alarm {
        sleepingTask(at: deadline, action)
    }

    fileprivate func sleepingTask(at deadline: MonotonicTime, _ action: @escaping AlarmAction) -> Alarm {
        .task(
            CallWork.detached {
                var next: MonotonicTime? = deadline
                while let time = next, (try? await sleep(until: time)) != nil { next = action() }
            }
        )
    }
}

/// An action at a time, and the time of the next one; nil means that there is none.
package typealias AlarmAction = @Sendable () -> MonotonicTime?

/// A time at which an action is due.
package enum Alarm: Sendable {
    case task(Task<Void, Never>)
    /// A number of the queue that all sleepers share.
    case queued(UInt64)

    /// Prevents further calls of the action. One may be in progress.
    package func cancel() {
        switch self {
        case .task(let task): task.cancel()
        case .queued(let number): SleepQueue.shared.cancel(number)
        }
    }
}

/// The system's monotonic clock (`CLOCK_BOOTTIME`).
///
/// It continues while the machine is suspended, so that no answer is still fresh after a long suspension of a laptop or a
/// paused virtual machine.
package struct SystemTimeSource: TimeSource {
    /// Creates the system's clock; all instances share the same time.
    package init() {}

    /// Returns the time since boot, suspended time included.
    package func now() -> MonotonicTime {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return MonotonicTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// Returns the time of the kernel's last tick (1 to 10 ms ago), at a fraction of the cost of ``now()``.
    ///
    /// It is never ahead of ``now()`` and never goes back. After a suspension it is correct within one tick.
    package func coarseNow() -> MonotonicTime {
        CoarseClock.now()
    }

    /// Sleeps until `deadline`, on a timer that all sleepers share. The work of a blocking call sleeps on a thread of its
    /// client.
    package func sleep(until deadline: MonotonicTime) async throws {
        if let executor = CallWork.executor { return try await executor.sleep(until: deadline) }
        while deadline > now() { try await SleepQueue.shared.sleep(until: deadline) }
    }

    /// Adds the action to the timer that all sleepers share; for the work of a blocking call it starts a task on its client's thread.
    package func alarm(at deadline: MonotonicTime, _ action: @escaping AlarmAction) -> Alarm {
        guard CallWork.executor == nil else { return sleepingTask(at: deadline, action) }
        return .queued(SleepQueue.shared.add(at: deadline, action))
    }
}

/// A time on a monotonic clock, in nanoseconds since an origin that only that clock defines.
///
/// Lifetimes and deadlines use this type, never the calendar time.
package struct MonotonicTime: Hashable, Comparable, Sendable {
    /// Nanoseconds since the clock's origin.
    package var nanoseconds: Int64

    /// Creates a time from nanoseconds since the clock's origin.
    @inlinable
    package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// Returns whether the left time is earlier.
    @inlinable
    package static func < (left: MonotonicTime, right: MonotonicTime) -> Bool { left.nanoseconds < right.nanoseconds }

    /// Returns the time `duration` later, saturating at the end of the range.
    @inlinable
    package static func + (time: MonotonicTime, duration: Duration) -> MonotonicTime {
        let (sum, overflow) = time.nanoseconds.addingReportingOverflow(duration.wholeNanoseconds)
        return MonotonicTime(nanoseconds: overflow ? (duration < .zero ? .min : .max) : sum)
    }

    /// Returns the time `duration` earlier, saturating at the beginning of the range.
    @inlinable
    package static func - (time: MonotonicTime, duration: Duration) -> MonotonicTime {
        let (difference, overflow) = time.nanoseconds.subtractingReportingOverflow(duration.wholeNanoseconds)
        return MonotonicTime(nanoseconds: overflow ? (duration < .zero ? .max : .min) : difference)
    }

    /// Returns the duration since `earlier`; negative if this time is before it. It saturates at 292 years either way.
    @inlinable
    package static func - (later: MonotonicTime, earlier: MonotonicTime) -> Duration {
        let (difference, overflow) = later.nanoseconds.subtractingReportingOverflow(earlier.nanoseconds)
        return .nanoseconds(overflow ? (later < earlier ? .min : .max) : difference)
    }

    /// Returns the nanoseconds since `earlier`, as the subtraction does, without the 128 bits of a `Duration`.
    @inlinable
    package func nanoseconds(since earlier: MonotonicTime) -> Int64 {
        let (difference, overflow) = nanoseconds.subtractingReportingOverflow(earlier.nanoseconds)
        return overflow ? (self < earlier ? .min : .max) : difference
    }
}

extension MonotonicTime {
    /// Returns the duration since an instant.
    package static func - (later: MonotonicTime, earlier: ContinuousClock.Instant) -> Duration {
        later - MonotonicTime(earlier)
    }

    /// Creates the time of an instant.
    package init(_ instant: ContinuousClock.Instant) {
        nanoseconds = (instant - ContinuousClock.Instant.ofBoot).wholeNanoseconds
    }
}

extension ContinuousClock.Instant {
    /// The origin of ``SystemTimeSource``. `ContinuousClock` reads the same clock on Linux, so the difference stays.
    fileprivate static let ofBoot = ContinuousClock.now - .nanoseconds(SystemTimeSource().now().nanoseconds)

    /// Creates the instant of a time. For another clock than the system's, only the differences of instants have a meaning.
    package init(_ time: MonotonicTime) { self = Self.ofBoot + .nanoseconds(time.nanoseconds) }
}

extension Duration {
    /// The duration in whole nanoseconds, saturating at the limits of `Int64` (292 years).
    @inlinable
    package var wholeNanoseconds: Int64 {
        Int64(clamping: attoseconds / 1_000_000_000)
    }

    /// The duration in seconds, for display and for JSON.
    package var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}

extension Duration {
    /// The readable duration, in the unit that keeps it short: `0.3 ms`, `8.1 ms`, `12 ms`, `1.5 s`, `41 s`, `10 min`.
    ///
    /// It is rounded to one decimal below 10 of a unit, and to whole numbers above.
    package var shortText: String {
        let nanoseconds = wholeNanoseconds
        if nanoseconds < 0 { return nanoseconds == .min ? "-292 years" : "-\((.zero - self).shortText)" }
        // Each limit is the value at which rounding would give 1 of the next unit.
        switch nanoseconds {
        case ..<999_500_000: return Duration.text(nanoseconds, of: 1_000_000, "ms")
        case ..<119_500_000_000: return Duration.text(nanoseconds, of: 1_000_000_000, "s")
        default: return Duration.text(nanoseconds, of: 60_000_000_000, "min")
        }
    }

    private static func text(_ nanoseconds: Int64, of unit: Int64, _ name: String) -> String {
        let tenth = unit / 10
        let tenths = nanoseconds / tenth + (nanoseconds % tenth >= tenth / 2 ? 1 : 0)
        if tenths < 100, tenths % 10 != 0 { return "\(tenths / 10).\(tenths % 10) \(name)" }
        return "\((tenths + 5) / 10) \(name)"
    }
}

/// A clock of the time since boot as of the kernel's last tick.
///
/// Linux has no coarse form of `CLOCK_BOOTTIME`. Its difference from `CLOCK_MONOTONIC`, the suspended time, changes only when
/// the machine wakes up, and that moves the coarse clock. So the difference is measured once a tick.
struct CoarseClock: ~Copyable, Sendable {
    /// The tick for which the suspended time was measured last.
    private let measuredTick = Atomic<Int64>(.min)
    /// The suspended time. It only grows, so that the sum does not go back whichever thread measured last.
    private let timeAsleep = Atomic<Int64>(0)

    init() {}

    /// Returns the time at a tick, both in nanoseconds.
    /// - Parameter measure: A function that returns the suspended time, too small rather than too large. Called once a tick,
    ///   seldom more often.
    borrowing func time(at tick: Int64, asleep measure: () -> Int64) -> Int64 {
        if tick != measuredTick.load(ordering: .acquiring) {
            timeAsleep.max(measure(), ordering: .relaxed)
            // Stored last: a thread that reads the tick as measured also reads the measured time.
            measuredTick.store(tick, ordering: .releasing)
        }
        return tick + timeAsleep.load(ordering: .relaxed)
    }
}

extension CoarseClock {
    private static let ofThisMachine = CoarseClock()

    static func now() -> MonotonicTime {
        let time = ofThisMachine.time(at: read(CLOCK_MONOTONIC_COARSE)) {
            // In this order a pause between both readings makes the difference too small, and a later measurement corrects it.
            // A difference that is too large would stay.
            let sinceBoot = read(CLOCK_BOOTTIME)
            return sinceBoot - read(CLOCK_MONOTONIC)
        }
        return MonotonicTime(nanoseconds: time)
    }

    private static func read(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

/// A source of calendar time, only for times that are stored or exchanged with other processes.
///
/// It may be wrong, and may jump in either direction at any moment. Lifetimes and deadlines use ``MonotonicTime``.
package struct WallClock: Sendable {
    private let reading: @Sendable () -> Int64

    /// The system's clock (`CLOCK_REALTIME`).
    package static let system = WallClock {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// Creates a clock from a function that returns milliseconds since 1970-01-01 00:00 UTC.
    ///
    /// `reading` may be called from any thread.
    package init(_ reading: @escaping @Sendable () -> Int64) { self.reading = reading }

    /// Returns the present time in milliseconds since 1970-01-01 00:00 UTC, without leap seconds.
    package func now() -> Int64 { reading() }

    /// Returns the time of the last change of a file's bytes, in milliseconds since 1970; nil when there is no such file. Links are
    /// not followed.
    ///
    /// It is here, because in a module that imports Foundation and swift-log too, Swift 6.3 takes the members of `timespec` for those
    /// of a module that cannot be imported.
    package static func modificationTime(of name: String, in folder: Int32) -> Int64? {
        var status = stat()
        guard fstatat(folder, name, &status, AT_SYMLINK_NOFOLLOW) == 0 else { return nil }
        return Int64(status.st_mtim.tv_sec) * 1000 + Int64(status.st_mtim.tv_nsec) / 1_000_000
    }
}
