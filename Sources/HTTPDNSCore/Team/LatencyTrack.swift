internal import HTTPDNSPrimitives

/// What is known of a provider's latency: a mean that follows the present, and the 95th percentile.
struct LatencyTrack: Sendable {
    /// The least that one answer moves the mean by: the factor of RFC 6298 for round-trip times.
    private static let leastShare = 0.125
    /// An answer after a silence of this length counts for half of the mean.
    private static let memory = Duration.seconds(30)
    /// What is older is not known any more.
    private static let lifetime = Duration.seconds(60)

    /// The decayed mean; nil before the first answer.
    private(set) var mean: Duration?
    private var learntAt: MonotonicTime?
    private var histogram: LatencyHistogram

    init(at now: MonotonicTime) {
        histogram = LatencyHistogram(at: now)
    }

    var percentile95: Duration? { histogram.percentile95 }

    mutating func learn(_ latency: Duration, at now: MonotonicTime) {
        histogram.add(latency, at: now)
        if let mean, let learntAt {
            let silence = max(now - learntAt, .zero).inSeconds
            let share = max(LatencyTrack.leastShare, silence / (silence + LatencyTrack.memory.inSeconds))
            self.mean = .nanoseconds(mean.wholeNanoseconds) + (latency - mean) * share
        } else {
            mean = latency
        }
        learntAt = now
    }

    /// The mean, as long as it is not too old to choose by.
    func knownMean(at now: MonotonicTime) -> Duration? {
        guard let learntAt, now - learntAt < LatencyTrack.lifetime else { return nil }
        return mean
    }
}
