internal import HTTPDNSPrimitives

/// The latency of a provider: a mean that follows recent answers, and the 95th percentile.
struct LatencyTrack: Sendable {
    /// The minimum weight of one answer in the mean: the factor of RFC 6298 for round-trip times.
    private static let leastShare = 0.125
    /// The interval without answers after which an answer has half the weight of the mean.
    private static let memory = Duration.seconds(30)
    /// The age from which the mean no longer counts as known.
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

    /// Returns the mean, unless it is too old to order providers by.
    func knownMean(at now: MonotonicTime) -> Duration? {
        guard let learntAt, now - learntAt < LatencyTrack.lifetime else { return nil }
        return mean
    }
}
