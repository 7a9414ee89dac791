// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Foundation

/// All figures of a run for programs.
struct ResultFile: Codable {
    struct Entry: Codable {
        /// The run that measured it: one that is copied from another file is noticed.
        var run: RunIdentity.ID
        var scenario: String
        var contender: String
        var rounds: [Sample]
        var requestsPerSecond: Double
        var processorMicrosecondsPerRequest: Double
        /// Compared with the scenario's first contender: medians of the ratios of each round.
        var processorRatio: Double?
        var rateRatio: Double?
    }

    struct Verdict: Codable {
        var scenario: String
        var target: String
        var goal: Double?
        var aim: Double?
        var figure: Double?
        var verdict: String?
    }

    var run: RunIdentity
    /// The contenders that were left out, with the reasons.
    var leftOut: [String: String]
    var results: [Entry]
    var targets: [Verdict]

    init(_ report: Report) {
        run = report.run
        leftOut = report.leftOut
        results = report.results.flatMap { result in
            result.contenders.compactMap { contender in
                result.samples[contender].map { samples in
                    let reference = result.scenario.contenders[0]
                    return Entry(
                        run: result.run,
                        scenario: result.scenario.name,
                        contender: contender.name,
                        rounds: samples.rounds,
                        requestsPerSecond: samples.median(of: .rate),
                        processorMicrosecondsPerRequest: samples.median(of: .processorTime),
                        processorRatio: result.ratio(.processorTime, contender, to: reference).number,
                        rateRatio: result.ratio(.rate, contender, to: reference).number
                    )
                }
            }
        }
        targets = report.results.flatMap { result in
            result.scenario.targets.map { target in
                let figure = result.figure(target)
                return Verdict(
                    scenario: result.scenario.name,
                    target: target.text,
                    goal: target.goal,
                    aim: target.aim,
                    figure: figure?.number,
                    verdict: figure.map { target.verdict($0).rawValue }
                )
            }
        }
    }

    /// Reads a file that ``write(to:)`` wrote.
    init(contentsOf path: String) throws {
        do {
            self = try JSONDecoder().decode(ResultFile.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
        } catch {
            throw BenchError("\(path) has no figures of a run: \(error)")
        }
    }

    /// The figures by scenario, as far as the present program knows their names.
    func scenarioResults() -> [ScenarioResult] {
        var results: [ScenarioResult] = []
        let isBeside = self.results.contains { $0.contender.hasSuffix(Contender.beforeSuffix) }
        let scenarios = isBeside ? Scenario.all.compactMap(\.besideBefore) : Scenario.all
        for entry in self.results {
            guard let scenario = scenarios.first(where: { $0.name == entry.scenario }),
                let contender = scenario.contenders.first(where: { $0.name == entry.contender })
            else { continue }
            let place =
                results.firstIndex { $0.scenario.name == entry.scenario && $0.run == entry.run }
                ?? {
                    results.append(ScenarioResult(run: entry.run, scenario: scenario))
                    return results.endIndex - 1
                }()
            for sample in entry.rounds { results[place].samples[contender, default: Samples()].append(sample) }
        }
        return results
    }

    func write(to path: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        try encoder.encode(self).write(to: URL(fileURLWithPath: path))
    }
}

extension Double {
    /// Nil in place of a value that JSON cannot express.
    fileprivate var number: Double? { isFinite ? self : nil }
}
