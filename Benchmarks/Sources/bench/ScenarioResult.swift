// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// What came out of a scenario.
struct ScenarioResult {
    var scenario: Scenario
    var samples: [Contender: Samples]

    /// The figure of one contender over that of another, both medians of the same rounds.
    func ratio(_ quantity: Target.Quantity, _ contender: Contender, to reference: Contender) -> Double {
        guard let figures = samples[contender], let others = samples[reference] else { return .nan }
        return figures.median(of: quantity) / others.median(of: quantity)
    }

    func ratio(_ target: Target) -> Double { ratio(target.quantity, target.contender, to: target.reference) }

    func isMet(_ target: Target) -> Bool { target.bounds.contains(ratio(target)) }

    var missesBindingTarget: Bool { scenario.targets.contains { $0.isBinding && !isMet($0) } }
}
