internal import Glibc

/// A source of calendar time, only for times that are stored or exchanged with other processes.
///
/// It may be wrong, and may jump in either direction at any moment. Lifetimes and deadlines use ``MonotonicTime``.
public struct WallClock: Sendable {
    private let reading: @Sendable () -> Int64

    /// The system's clock (`CLOCK_REALTIME`).
    public static let system = WallClock {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// Creates a clock from a function that returns milliseconds since 1970-01-01 00:00 UTC.
    ///
    /// `reading` may be called from any thread.
    public init(_ reading: @escaping @Sendable () -> Int64) { self.reading = reading }

    /// Returns the present time in milliseconds since 1970-01-01 00:00 UTC, without leap seconds.
    public func now() -> Int64 { reading() }
}
