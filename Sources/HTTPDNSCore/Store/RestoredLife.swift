package import HTTPDNSPrimitives

/// When a stored answer was sent for and when its life is over, on the clock of this process.
package struct RestoredLife: Hashable, Sendable {
    /// When it was sent for; before this process began, as a rule. Never in the future.
    package var sentAt: MonotonicTime
    /// When its life is over; not after now for an answer that may only serve as a stale one.
    package var expiresAt: MonotonicTime
}

extension HTTPDNSStoredResolution {
    /// How far the calendar time may have gone back between saving and loading for an answer to be still called fresh:
    /// what Kerberos and many others tolerate between two clocks. NTP steps are smaller.
    package static let toleratedClockDifference: Duration = .seconds(300)

    /// Moves the answer from the calendar time to the clock of this process.
    ///
    /// The calendar time is not to be trusted, so an error of it must never make an answer look younger than it can be:
    /// - An answer from the past has lost the time that passed.
    /// - One from the future, by ``toleratedClockDifference`` at most, was written before the clock was set back. How much
    ///   time really passed cannot be known; as much as the clock differs is taken off.
    /// - One from further ahead is never fresh. It may serve as a stale one, as if its life had ended just now.
    ///
    /// - Parameters:
    ///   - wallNow: The calendar time, in milliseconds since 1970.
    ///   - monotonicNow: The same moment on the clock of this process.
    ///   - staleLimit: How long past its life an answer may serve.
    ///   - maximumTimeToLive: The longest life of any answer; the settings may have changed since it was saved.
    /// - Returns: Nil when the answer can serve no more, as its life ended `staleLimit` ago or earlier.
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
