#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// The time of day, for signatures that a service compares with its own clock. Lives of answers go by `TimeSource`.
package struct WallClock: Sendable {
    /// Seconds since 1970.
    package var secondsSince1970: @Sendable () -> Int64

    package init(_ secondsSince1970: @escaping @Sendable () -> Int64) {
        self.secondsSince1970 = secondsSince1970
    }

    /// The machine's clock.
    package static let system = WallClock {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec)
    }
}
