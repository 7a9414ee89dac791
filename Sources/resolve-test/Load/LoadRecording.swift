// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import HTTPDNS
internal import HTTPDNSPrimitives
internal import Histogram

/// The measurements of a load, or of a part of it.
struct LoadRecording: Sendable {
    /// The facts about one response.
    struct Sample: Sendable {
        var status: Int
        /// The bytes of the body, before decoding.
        var wireBytes: Int
        /// The address and port that answered; nil for a response without a connection.
        var endpoint: String?
        var opensConnection: Bool
        /// The time that resolving took; nil for a request that was not resolved.
        var resolve: Duration?
        var resolution: HTTPDNSResolver.Resolution?
    }

    /// The times from the start of a request to the last byte of its response, in nanoseconds, to three significant digits.
    /// In an open loop the start is the intended one.
    private(set) var latencies = Histogram<UInt64>(
        lowestDiscernibleValue: 1000,
        highestTrackableValue: Self.longestLatency,
        numberOfSignificantValueDigits: .three
    )
    private(set) var responses = 0
    private(set) var statuses: [Int: Int] = [:]
    /// The numbers of requests without a response by the code of their error.
    private(set) var failures: [String: Int] = [:]
    private(set) var firstFailure: CommandFailure?
    /// The bytes of all response bodies, before decoding.
    private(set) var wireBytes = 0
    private(set) var openedConnections = 0
    /// The numbers of responses by address and port.
    private(set) var endpoints: [String: Int] = [:]
    private(set) var resolution: HTTPDNSResolver.Resolution?
    /// The longest time that resolving took.
    private(set) var slowestResolve: Duration?
    /// The requests of an open loop that did not begin in its time.
    var unsent = 0
    /// The time from the start of the first request to the end of the last one.
    var elapsed = Duration.zero
    /// The processor time of this process in that time.
    var processorTime = Duration.zero

    /// An hour in nanoseconds; longer times count as this.
    private static let longestLatency: UInt64 = 3_600_000_000_000

    var failureCount: Int { failures.values.reduce(0, +) }
    var requests: Int { responses + failureCount }
    var responseRate: Double { elapsed > .zero ? Double(responses) / elapsed.inSeconds : 0 }
    /// The processor time for each response; nil when it was not measured.
    var processorTimeEach: Duration? { responses > 0 && processorTime > .zero ? processorTime / responses : nil }
    var byteRate: Double { elapsed > .zero ? Double(wireBytes) / elapsed.inSeconds : 0 }

    mutating func add(_ sample: Sample, latency: Duration) {
        latencies.record(UInt64(clamping: min(max(0, latency.wholeNanoseconds), Int64(Self.longestLatency))))
        responses += 1
        statuses[sample.status, default: 0] += 1
        wireBytes += sample.wireBytes
        if sample.opensConnection { openedConnections += 1 }
        if let endpoint = sample.endpoint { endpoints[endpoint, default: 0] += 1 }
        resolution = resolution ?? sample.resolution
        slowestResolve = Self.longer(slowestResolve, sample.resolve)
    }

    mutating func add(_ failure: CommandFailure) {
        failures[failure.code, default: 0] += 1
        firstFailure = firstFailure ?? failure
    }

    /// Adds a later part of the same load.
    mutating func add(_ later: LoadRecording) {
        latencies.add(later.latencies)
        responses += later.responses
        statuses.merge(later.statuses, uniquingKeysWith: +)
        failures.merge(later.failures, uniquingKeysWith: +)
        firstFailure = firstFailure ?? later.firstFailure
        wireBytes += later.wireBytes
        endpoints.merge(later.endpoints, uniquingKeysWith: +)
        unsent += later.unsent
        elapsed += later.elapsed
        processorTime += later.processorTime
        addConnections(of: later)
    }

    /// Adds what a warm-up has done for the load: resolving and connecting.
    mutating func addConnections(of other: LoadRecording) {
        openedConnections += other.openedConnections
        resolution = resolution ?? other.resolution
        slowestResolve = Self.longer(slowestResolve, other.slowestResolve)
    }

    private static func longer(_ one: Duration?, _ other: Duration?) -> Duration? {
        [one, other].compactMap { $0 }.max()
    }
}

extension LoadRecording {
    /// The percentiles that reports have, by their names.
    static let percentiles =
        [("p50", 50), ("p90", 90), ("p99", 99), ("p99.9", 99.9)] as [(name: String, value: Double)]

    /// Returns the latency that this share of the responses does not exceed; nil without responses.
    func latency(percentile: Double) -> Duration? {
        guard responses > 0 else { return nil }
        return .nanoseconds(Int64(clamping: min(latencies.valueAtPercentile(percentile), latencies.maxRecorded)))
    }

    var meanLatency: Duration? { responses > 0 ? .nanoseconds(Int64(latencies.mean.rounded())) : nil }
    var minimumLatency: Duration? { responses > 0 ? .nanoseconds(Int64(clamping: latencies.min)) : nil }
    var maximumLatency: Duration? { responses > 0 ? .nanoseconds(Int64(clamping: latencies.maxRecorded)) : nil }

    /// A range of latencies with the number of its responses.
    struct Bucket: Hashable, Sendable {
        /// The longest latency of the range.
        var upTo: Duration
        var count: Int
    }

    /// Steps within a power of ten, the finest first.
    private static let steps: [[Int]] = [
        [10, 12, 15, 18, 22, 27, 33, 39, 47, 56, 68, 82], [10, 15, 22, 33, 47, 68], [10, 20, 50], [10],
    ]

    /// Returns the distribution of latencies in at most `limit` ranges that grow by equal factors.
    func buckets(atMost limit: Int) -> [Bucket] {
        guard let least = minimumLatency, let greatest = maximumLatency else { return [] }
        var best: [Bucket] = []
        for steps in Self.steps {
            best = buckets(Self.bounds(steps, from: least, to: greatest))
            if best.count <= limit { break }
        }
        return best
    }

    private func buckets(_ bounds: [Duration]) -> [Bucket] {
        var buckets = bounds.map { Bucket(upTo: $0, count: 0) }
        var index = 0
        for value in latencies.recordedValues() {
            let latency = Duration.nanoseconds(Int64(clamping: latencies.lowestEquivalentForValue(value.value)))
            while index < buckets.count - 1, latency > buckets[index].upTo { index += 1 }
            buckets[index].count += Int(value.count)
        }
        return buckets
    }

    /// Returns the bounds of the ranges between two latencies. The first is not below the least one, the last not below the
    /// greatest.
    private static func bounds(_ steps: [Int], from least: Duration, to greatest: Duration) -> [Duration] {
        var bounds: [Duration] = []
        var decade = Duration.nanoseconds(100)
        while true {
            for step in steps {
                let bound = decade * step
                if bound < least { continue }
                bounds.append(bound)
                if bound >= greatest { return bounds }
            }
            decade *= 10
        }
    }
}
#endif
