internal import Glibc

/// A clock for a resolver: the system's clock in production, a manual one in tests.
public protocol TimeSource: Sendable {
    /// Returns the present time. Called on every cache hit: it must be cheap and must never go back.
    func now() -> MonotonicTime

    /// Returns the present time, as exact as lifetimes need it: at most some milliseconds behind ``now()``.
    func coarseNow() -> MonotonicTime

    /// Returns at `deadline` or later.
    /// - Throws: `CancellationError` as soon as the task is cancelled.
    func sleep(until deadline: MonotonicTime) async throws
}

extension TimeSource {
    /// Returns the exact time.
    public func coarseNow() -> MonotonicTime { now() }
}

/// The system's monotonic clock (`CLOCK_BOOTTIME`).
///
/// It continues while the machine is suspended, so that no answer is still fresh after a long suspension of a laptop or a
/// paused virtual machine.
public struct SystemTimeSource: TimeSource {
    /// Creates the system's clock; all instances share the same time.
    public init() {}

    /// Returns the time since boot, suspended time included.
    public func now() -> MonotonicTime {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return MonotonicTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
    }

    /// Returns the time of the kernel's last tick (1 to 10 ms ago), at a fraction of the cost of ``now()``.
    ///
    /// It is never ahead of ``now()`` and never goes back. After a suspension it is correct within one tick.
    public func coarseNow() -> MonotonicTime {
        CoarseClock.now()
    }

    /// Sleeps until `deadline`, on a timer that all sleepers share. The work of a blocking call sleeps on a thread of its
    /// client.
    public func sleep(until deadline: MonotonicTime) async throws {
        if let executor = CallWork.executor { return try await executor.sleep(until: deadline) }
        while deadline > now() { try await SleepQueue.shared.sleep(until: deadline) }
    }
}
