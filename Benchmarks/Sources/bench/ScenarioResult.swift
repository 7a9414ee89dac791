// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The figures of a scenario in one run.
struct ScenarioResult {
    /// The run that measured them.
    var run: RunIdentity.ID
    var scenario: Scenario
    var samples: [Contender: Samples] = [:]

    /// The contenders with figures, in the order of the scenario.
    var contenders: [Contender] { scenario.contenders.filter { samples[$0] != nil } }

    /// The median of the ratios of each round; NaN without figures.
    func ratio(_ quantity: Target.Quantity, _ contender: Contender, to reference: Contender) -> Double {
        guard let figures = samples[contender], let others = samples[reference] else { return .nan }
        return figures.ratioPerRound(quantity, to: others)
    }

    /// The ratio of the medians of all rounds; NaN without figures.
    func ratioOfMedians(_ quantity: Target.Quantity, _ contender: Contender, to reference: Contender) -> Double {
        guard let figures = samples[contender], let others = samples[reference] else { return .nan }
        return figures.median(of: quantity) / others.median(of: quantity)
    }

    /// The figure that a target is about; nil when its contender was left out.
    func figure(_ target: Target) -> Double? {
        guard let figures = samples[target.contender], let others = samples[target.reference] else { return nil }
        return switch target.quantity {
        case .busiestLoop, .ownProcessorTime: figures.median(of: target.quantity)
        case .addedProcessorTime: figures.differencePerRound(.addedProcessorTime, from: others)
        case .processorTime, .rate, .connections, .p50, .p99, .peakMemory:
            figures.ratioPerRound(target.quantity, to: others)
        }
    }

    var missesGoal: Bool {
        scenario.targets.contains { target in figure(target).map { target.verdict($0) == .missed } ?? false }
    }
}
