#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// Where a resolver gets its time from: the system's clock in production, a hand-driven one in tests.
public protocol TimeSource: Sendable {
    /// The present moment. Called on every cache hit: it must be cheap and must never go back.
    func now() -> MonotonicTime

    /// The present moment, as exact as lifetimes need it: at most some milliseconds behind ``now()``.
    func coarseNow() -> MonotonicTime

    /// Returns at `deadline` or later.
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    func sleep(until deadline: MonotonicTime) async throws
}

extension TimeSource {
    /// The exact moment.
    public func coarseNow() -> MonotonicTime { now() }
}

/// The system's monotonic clock. It goes on while the machine is suspended, so that nothing is fresh after a long sleep
/// of a laptop or a paused virtual machine (`CLOCK_BOOTTIME`).
public struct SystemTimeSource: TimeSource {
    /// Creates the system's clock; all of them tell the same time.
    public init() {}

    /// The present moment since boot, with the time asleep counted.
    public func now() -> MonotonicTime {
        var time = timespec()
        #if os(Linux)
        clock_gettime(CLOCK_BOOTTIME, &time)
        #else
        clock_gettime(CLOCK_MONOTONIC, &time)
        #endif
        return MonotonicTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// The present moment as of the kernel's last tick (1 to 10 ms ago), for a fraction of what ``now()`` costs. It is never
    /// ahead of ``now()``, never goes back, and notices within one tick that the machine was asleep.
    public func coarseNow() -> MonotonicTime {
        #if os(Linux)
        CoarseClock.now()
        #else
        now()
        #endif
    }

    /// Sleeps until `deadline`, on a timer that all sleepers share. The work of a blocking call sleeps on a thread of its client's.
    public func sleep(until deadline: MonotonicTime) async throws {
        if let executor = CallWork.executor { return try await executor.sleep(until: deadline) }
        while deadline > now() { try await SleepQueue.shared.sleep(until: deadline) }
    }
}
