#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// Where the calendar time comes from: for what is written down and read by another process, and for nothing else.
///
/// It may be wrong, and it may jump either way at any moment. Lifetimes and deadlines are kept in ``MonotonicTime``.
public struct WallClock: Sendable {
    private let reading: @Sendable () -> Int64

    /// The system's clock (`CLOCK_REALTIME`).
    public static let system = WallClock {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// Creates a clock that is read by calling `reading`, which returns milliseconds since 1970-01-01 00:00 UTC. It may be
    /// called from any thread.
    public init(_ reading: @escaping @Sendable () -> Int64) { self.reading = reading }

    /// The present time in milliseconds since 1970-01-01 00:00 UTC, without leap seconds.
    public func now() -> Int64 { reading() }
}
