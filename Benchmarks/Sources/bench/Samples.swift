// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The report of a contender about one round.
struct Sample: Codable {
    /// The completed requests, late ones of the `slow` scenario included.
    var requests: Int
    var seconds: Double
    var processorSeconds: Double
    /// The connections that were open at the end, where the contender can tell.
    var connections: Int?
    /// The CPU time of the busiest loop thread over that of all loop threads.
    var busiestLoop: Double?
    /// The median and the 99th percentile of the requests' times, in microseconds. Contenders of older checkouts report none.
    var p50: Double?
    var p99: Double?
    /// The most memory that the process had resident, in KiB.
    var peakMemory: Int?

    var requestsPerSecond: Double { Double(requests) / seconds }
    var processorMicroseconds: Double { processorSeconds / Double(requests) * 1e6 }

    func figure(_ quantity: Target.Quantity) -> Double {
        switch quantity {
        case .processorTime, .addedProcessorTime, .ownProcessorTime: processorMicroseconds
        case .rate: requestsPerSecond
        case .connections: connections.map(Double.init) ?? .nan
        case .busiestLoop: busiestLoop ?? .nan
        case .p50: p50 ?? .nan
        case .p99: p99 ?? .nan
        case .peakMemory: peakMemory.map(Double.init) ?? .nan
        }
    }
}

/// The figures of one contender in one scenario, round by round.
struct Samples: Codable {
    private(set) var rounds: [Sample] = []

    mutating func append(_ sample: Sample) { rounds.append(sample) }

    /// The least and the greatest processor time per request of any round, in microseconds.
    var processorSpread: ClosedRange<Double> {
        let figures = rounds.map(\.processorMicroseconds)
        return (figures.min() ?? 0)...(figures.max() ?? 0)
    }

    func median(of quantity: Target.Quantity) -> Double { rounds.map { $0.figure(quantity) }.median }

    /// The ratios to another contender's figure of the same round.
    ///
    /// Other work of the machine that lasts longer than a round affects both figures of it, and so leaves its ratio alone.
    func ratios(_ quantity: Target.Quantity, to others: Samples) -> [Double] {
        zip(rounds, others.rounds).map { $0.figure(quantity) / $1.figure(quantity) }
    }

    /// The median of the ratios of each round.
    func ratioPerRound(_ quantity: Target.Quantity, to others: Samples) -> Double {
        ratios(quantity, to: others).median
    }

    /// The median of the differences from another contender's figure of the same round.
    func differencePerRound(_ quantity: Target.Quantity, from others: Samples) -> Double {
        zip(rounds, others.rounds).map { $0.figure(quantity) - $1.figure(quantity) }.median
    }
}

extension [Double] {
    var median: Double {
        let sorted = sorted()
        guard !sorted.isEmpty else { return .nan }
        return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2
    }
}
