package import HTTPDNSPrimitives

/// The request time and the end of the lifetime of a stored answer, on the clock of this process.
package struct RestoredLife: Hashable, Sendable {
    /// The time the query was sent, usually before this process began. Never in the future.
    package var sentAt: MonotonicTime
    /// The end of the lifetime; not after now for an answer that may only be served as stale.
    package var expiresAt: MonotonicTime
}

extension HTTPDNSStoredResolution {
    /// The maximum step back of the calendar time between saving and loading for an answer to count as fresh.
    ///
    /// Kerberos and many others tolerate the same difference between two clocks. NTP steps are smaller.
    package static let toleratedClockDifference: Duration = .seconds(300)

    /// Converts the answer's times from the calendar to the clock of this process.
    ///
    /// The calendar time is unreliable, so an error of it must never make an answer seem younger than it can be:
    /// - An answer from the past has lost the time that passed.
    /// - An answer from the future, by ``toleratedClockDifference`` at most, was written before the clock was set back. The
    ///   time that really passed is unknown; the difference of the clocks is subtracted.
    /// - An answer from further ahead is never fresh. It may be served as stale, as if its lifetime had ended just now.
    ///
    /// - Parameters:
    ///   - wallNow: The calendar time, in milliseconds since 1970.
    ///   - monotonicNow: The same time on the clock of this process.
    ///   - staleLimit: The time past its lifetime that an answer may be served.
    ///   - maximumTimeToLive: The maximum lifetime of any answer; the settings may have changed since it was saved.
    /// - Returns: Nil when the answer can no longer be served, because its lifetime ended `staleLimit` ago or earlier.
    package func restored(
        wallNow: Int64,
        monotonicNow: MonotonicTime,
        staleLimit: Duration,
        maximumTimeToLive: Duration
    ) -> RestoredLife? {
        let life = min(max(timeToLive, .zero), max(maximumTimeToLive, .zero))
        let (difference, overflow) = wallNow.subtractingReportingOverflow(receivedAt)
        let sinceReceived = Duration.milliseconds(overflow ? (wallNow < receivedAt ? .min : .max) : difference)

        var age = sinceReceived
        if age < .zero {
            let ahead = .zero - age
            age = ahead <= Self.toleratedClockDifference ? ahead : life
        }
        let left = life - age
        guard left > .zero || .zero - left < staleLimit else { return nil }
        return RestoredLife(sentAt: monotonicNow + (.zero - age), expiresAt: monotonicNow + left)
    }
}
