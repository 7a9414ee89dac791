internal import Glibc
internal import Synchronization

/// A clock of the time since boot as of the kernel's last tick.
///
/// Linux has no coarse form of `CLOCK_BOOTTIME`. Its difference from `CLOCK_MONOTONIC`, the suspended time, changes only when
/// the machine wakes up, and that moves the coarse clock. So the difference is measured once a tick.
package struct CoarseClock: ~Copyable, Sendable {
    /// The tick for which the suspended time was measured last.
    private let measuredTick = Atomic<Int64>(.min)
    /// The suspended time. It only grows, so that the sum does not go back whichever thread measured last.
    private let timeAsleep = Atomic<Int64>(0)

    package init() {}

    /// Returns the time at a tick, both in nanoseconds.
    /// - Parameter measure: A function that returns the suspended time, too small rather than too large. Called once a tick,
    ///   seldom more often.
    package borrowing func time(at tick: Int64, asleep measure: () -> Int64) -> Int64 {
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
