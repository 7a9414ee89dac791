// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Foundation

/// A scenario's figures for people.
struct ResultTable {
    private let result: ScenarioResult

    init(_ result: ScenarioResult) {
        self.result = result
    }

    var text: String {
        let scenario = result.scenario
        let reference = scenario.contenders[0]
        let heading = "\(scenario.name): \(scenario.title)"
        let columns = row("", "requests/s", "CPU us/request", "least..most", "CPU ratio", "rate ratio")
        let rows = scenario.contenders.compactMap { contender in
            result.samples[contender].map { line(contender, $0, reference) }
        }
        return (["", heading, columns] + rows + scenario.targets.map(verdict)).joined(separator: "\n")
    }

    private func line(_ contender: Contender, _ samples: Samples, _ reference: Contender) -> String {
        let spread = samples.processorSpread
        return row(
            contender.name,
            String(format: "%.0f", samples.requestsPerSecond),
            String(format: "%.1f", samples.processorMicroseconds),
            String(format: "%.1f..%.1f", spread.lowerBound, spread.upperBound),
            String(format: "%.2f", result.ratio(.processorTime, contender, to: reference)),
            String(format: "%.2f", result.ratio(.rate, contender, to: reference))
        )
    }

    private func verdict(_ target: Target) -> String {
        let mark = result.isMet(target) ? "PASS" : target.isBinding ? "OVER" : "aim "
        return "  \(mark)  \(target.contender.name): \(target.text)  (\(String(format: "%.2f", result.ratio(target))))"
    }

    private func row(_ name: String, _ figures: String...) -> String {
        let widths = [12, 16, 16, 11, 12]
        return "  " + name.padding(toLength: 16, withPad: " ", startingAt: 0)
            + zip(figures, widths).map { figure, width in
                String(repeating: " ", count: max(1, width - figure.count)) + figure
            }.joined()
    }
}
