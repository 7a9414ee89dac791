// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The distribution of latencies, in buckets that grow with them.
///
/// There are four buckets to each doubling, so that a percentile read from them is at most a quarter too high. They cover 0.1
/// ms to 52 s in 288 bytes.
struct LatencyHistogram: Sendable {
    private static let unitInNanoseconds: Int64 = 100_000
    private static let bucketCount = 72
    /// Below this weight a 95th percentile would only be the maximum of a few latencies.
    private static let leastWeight: Float = 5
    /// At this weight all buckets are halved, so that older latencies count less.
    private static let greatestWeight: Float = 512
    /// The time after which all buckets are halved as well.
    private static let halfLife = Duration.seconds(300)

    private var buckets = [Float](repeating: 0, count: bucketCount)
    private var weight: Float = 0
    private var halvedAt: MonotonicTime

    init(at now: MonotonicTime) {
        halvedAt = now
    }

    mutating func add(_ latency: Duration, at now: MonotonicTime) {
        age(to: now)
        buckets[LatencyHistogram.bucket(of: latency)] += 1
        weight += 1
        if weight >= LatencyHistogram.greatestWeight { halve() }
    }

    /// The latency that 95 of 100 answers do not exceed; nil while there are too few.
    var percentile95: Duration? {
        guard weight >= LatencyHistogram.leastWeight else { return nil }
        // A little less than 0.95, so that rounding the sum of many small weights does not lead past the last bucket.
        var left = weight * 0.9499
        for (index, count) in buckets.enumerated() {
            left -= count
            if left <= 0 { return LatencyHistogram.upperBound(ofBucket: index) }
        }
        return LatencyHistogram.upperBound(ofBucket: LatencyHistogram.bucketCount - 1)
    }

    private mutating func age(to now: MonotonicTime) {
        // Ten halvings leave a negligible weight.
        for _ in 0..<10 where now - halvedAt >= LatencyHistogram.halfLife {
            halve()
            halvedAt = halvedAt + LatencyHistogram.halfLife
        }
        if now - halvedAt >= LatencyHistogram.halfLife { halvedAt = now }
    }

    private mutating func halve() {
        weight = 0
        for index in buckets.indices {
            buckets[index] = buckets[index] < 0.05 ? 0 : buckets[index] / 2
            weight += buckets[index]
        }
    }

    /// Returns the bucket of a latency.
    ///
    /// The four values of the first two octaves have a bucket each. From there on the two bits below the highest one select one
    /// of the four buckets of an octave.
    private static func bucket(of latency: Duration) -> Int {
        let units = max(0, latency.wholeNanoseconds) / unitInNanoseconds
        guard units >= 4 else { return Int(units) }
        let octave = Int64.bitWidth - 1 - units.leadingZeroBitCount
        let quarter = Int(units >> (octave - 2)) & 3
        return min((octave - 1) * 4 + quarter, bucketCount - 1)
    }

    private static func upperBound(ofBucket index: Int) -> Duration {
        guard index >= 4 else { return .nanoseconds(Int64(index + 1) * unitInNanoseconds) }
        let octave = index / 4 + 1
        let quarter = Int64(index % 4)
        return .nanoseconds(((4 + quarter + 1) << (octave - 2)) * unitInNanoseconds)
    }
}

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
