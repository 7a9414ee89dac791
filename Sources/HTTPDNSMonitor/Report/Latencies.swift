// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The percentiles of durations, and their distribution.
struct Latencies: Hashable, Sendable {
    /// The upper bounds of the bins, in microseconds: 1, 2 and 5 times each power of ten from 0.1 ms to 50 s.
    static let bounds: [UInt64] = (2...7).flatMap { power in
        let unit = (0..<power).reduce(UInt64(1)) { value, _ in value * 10 }
        return [unit, 2 * unit, 5 * unit]
    }

    let count: Int
    let median: Duration
    let percentile90: Duration
    let percentile99: Duration
    let maximum: Duration
    /// The number of durations up to each bound, and above the bound before it. The last number is of those above all bounds.
    let bins: [Int]

    /// Returns nil without a duration. A percentile is the least duration that so many percent of them do not exceed.
    init?(_ durations: [Duration]) {
        let sorted = durations.sorted()
        guard let longest = sorted.last else { return nil }
        func percentile(_ percent: Int) -> Duration { sorted[(sorted.count * percent + 99) / 100 - 1] }
        count = sorted.count
        median = percentile(50)
        percentile90 = percentile(90)
        percentile99 = percentile(99)
        maximum = longest
        var bins = Array(repeating: 0, count: Self.bounds.count + 1)
        for duration in sorted {
            let microseconds = UInt64(clamping: duration.wholeNanoseconds / 1000)
            bins[Self.bounds.firstIndex { microseconds <= $0 } ?? Self.bounds.count] += 1
        }
        self.bins = bins
    }

    /// The bins from the first to the last one with a duration.
    var usedBins: Range<Int> {
        guard let first = bins.firstIndex(where: { $0 > 0 }), let last = bins.lastIndex(where: { $0 > 0 }) else {
            return 0..<0
        }
        return first..<(last + 1)
    }

    /// Returns the bounds of a bin: `1 ms to 2 ms`.
    static func text(ofBin index: Int) -> String {
        func text(_ index: Int) -> String { Duration.microseconds(Int64(clamping: bounds[index])).shortText }
        if index == 0 { return "up to \(text(0))" }
        return index == bounds.count ? "above \(text(index - 1))" : "\(text(index - 1)) to \(text(index))"
    }
}
