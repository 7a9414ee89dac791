// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Foundation

/// What a contender reports of one round.
struct Sample: Codable {
    var requests: Int
    var seconds: Double
    var processorSeconds: Double

    var requestsPerSecond: Double { Double(requests) / seconds }
    var processorMicroseconds: Double { processorSeconds / Double(requests) * 1e6 }
}

/// The figures of one contender in one scenario, round by round.
struct Samples {
    private(set) var rounds: [Sample] = []

    mutating func append(_ sample: Sample) { rounds.append(sample) }

    var requestsPerSecond: Double { Self.median(rounds.map(\.requestsPerSecond)) }
    var processorMicroseconds: Double { Self.median(rounds.map(\.processorMicroseconds)) }

    /// The least and the greatest processor time per request of any round, in microseconds.
    var processorSpread: ClosedRange<Double> {
        let figures = rounds.map(\.processorMicroseconds)
        return (figures.min() ?? 0)...(figures.max() ?? 0)
    }

    func median(of quantity: Target.Quantity) -> Double {
        switch quantity {
        case .processorTime: processorMicroseconds
        case .rate: requestsPerSecond
        }
    }

    private static func median(_ figures: [Double]) -> Double {
        let sorted = figures.sorted()
        guard !sorted.isEmpty else { return .nan }
        return (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2]) / 2
    }
}
