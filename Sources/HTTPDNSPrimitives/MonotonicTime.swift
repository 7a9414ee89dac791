/// A time on a monotonic clock, in nanoseconds since an origin that only that clock defines.
///
/// Lifetimes and deadlines use this type, never the calendar time.
public struct MonotonicTime: Hashable, Comparable, Sendable {
    /// Nanoseconds since the clock's origin.
    public var nanoseconds: Int64

    /// Creates a time from nanoseconds since the clock's origin.
    @inlinable
    public init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

    /// Returns whether the left time is earlier.
    @inlinable
    public static func < (left: MonotonicTime, right: MonotonicTime) -> Bool { left.nanoseconds < right.nanoseconds }

    /// Returns the time `duration` later, saturating at the end of the range.
    @inlinable
    public static func + (time: MonotonicTime, duration: Duration) -> MonotonicTime {
        let (sum, overflow) = time.nanoseconds.addingReportingOverflow(duration.wholeNanoseconds)
        return MonotonicTime(nanoseconds: overflow ? (duration < .zero ? .min : .max) : sum)
    }

    /// Returns the time `duration` earlier, saturating at the beginning of the range.
    @inlinable
    public static func - (time: MonotonicTime, duration: Duration) -> MonotonicTime {
        let (difference, overflow) = time.nanoseconds.subtractingReportingOverflow(duration.wholeNanoseconds)
        return MonotonicTime(nanoseconds: overflow ? (duration < .zero ? .max : .min) : difference)
    }

    /// Returns the duration since `earlier`; negative if this time is before it. It saturates at 292 years either way.
    @inlinable
    public static func - (later: MonotonicTime, earlier: MonotonicTime) -> Duration {
        let (difference, overflow) = later.nanoseconds.subtractingReportingOverflow(earlier.nanoseconds)
        return .nanoseconds(overflow ? (later < earlier ? .min : .max) : difference)
    }
}

extension Duration {
    /// The duration in whole nanoseconds, saturating at the limits of `Int64` (292 years).
    @inlinable
    package var wholeNanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow else { return seconds < 0 ? .min : .max }
        let (sum, carry) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
        return carry ? (seconds < 0 ? .min : .max) : sum
    }

    /// The duration in seconds, for display and for JSON.
    package var inSeconds: Double {
        Double(components.seconds) + Double(components.attoseconds) / 1e18
    }
}
