// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Foundation

/// All figures of a run for programs.
struct ResultFile: Encodable {
    struct Entry: Encodable {
        var scenario: String
        var contender: String
        var requestsPerSecond: Double
        var processorMicrosecondsPerRequest: Double
        var processorRatio: Double
        var rateRatio: Double
        var rounds: [Sample]
    }

    struct Verdict: Encodable {
        var scenario: String
        var contender: String
        var target: String
        var ratio: Double
        var binding: Bool
        var met: Bool
    }

    var rounds: Int
    var results: [Entry]
    var targets: [Verdict]

    init(_ results: [ScenarioResult], rounds: Int) {
        self.rounds = rounds
        self.results = results.flatMap { result in
            result.scenario.contenders.compactMap { contender in
                result.samples[contender].map { samples in
                    Entry(
                        scenario: result.scenario.name,
                        contender: contender.name,
                        requestsPerSecond: samples.requestsPerSecond,
                        processorMicrosecondsPerRequest: samples.processorMicroseconds,
                        processorRatio: result.ratio(
                            .processorTime,
                            contender,
                            to: result.scenario.contenders[0]
                        ),
                        rateRatio: result.ratio(.rate, contender, to: result.scenario.contenders[0]),
                        rounds: samples.rounds
                    )
                }
            }
        }
        targets = results.flatMap { result in
            result.scenario.targets.map { target in
                Verdict(
                    scenario: result.scenario.name,
                    contender: target.contender.name,
                    target: target.text,
                    ratio: result.ratio(target),
                    binding: target.isBinding,
                    met: result.isMet(target)
                )
            }
        }
    }

    func write(to path: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        try encoder.encode(self).write(to: URL(fileURLWithPath: path))
    }
}
