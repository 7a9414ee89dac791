internal import Synchronization

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#endif

/// The time since boot as of the kernel's last tick.
///
/// Linux has no coarse form of `CLOCK_BOOTTIME`. What that is ahead of `CLOCK_MONOTONIC`, the time asleep, changes only
/// when the machine wakes up, and waking up moves the coarse clock: so it is measured once a tick.
package struct CoarseClock: ~Copyable, Sendable {
    /// The tick for which the time asleep was measured last.
    private let measuredTick = Atomic<Int64>(.min)
    /// The time asleep. It only grows, so that the sum does not go back whichever thread measured last.
    private let timeAsleep = Atomic<Int64>(0)

    package init() {}

    /// The time at a tick, both in nanoseconds.
    /// - Parameter measure: The time asleep, too small rather than too large. Called once a tick, seldom more often.
    package borrowing func time(at tick: Int64, asleep measure: () -> Int64) -> Int64 {
        if tick != measuredTick.load(ordering: .acquiring) {
            timeAsleep.max(measure(), ordering: .relaxed)
            // Last: whoever sees the tick as measured sees what was measured.
            measuredTick.store(tick, ordering: .releasing)
        }
        return tick + timeAsleep.load(ordering: .relaxed)
    }
}

#if os(Linux)
extension CoarseClock {
    private static let ofThisMachine = CoarseClock()

    static func now() -> MonotonicTime {
        let time = ofThisMachine.time(at: read(CLOCK_MONOTONIC_COARSE)) {
            // In this order a pause between both readings makes the difference too small, and a later one mends it; too
            // large a one would stay.
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
#endif
