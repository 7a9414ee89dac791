// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Foundation

/// A scenario's figures for people.
struct ResultTable {
    private let result: ScenarioResult
    private let leftOut: [String: String]

    init(_ result: ScenarioResult, leftOut: [String: String]) {
        self.result = result
        self.leftOut = leftOut
    }

    var text: String {
        let scenario = result.scenario
        let columns = Columns.row(
            "",
            [
                "requests/s", "CPU us/request", "least..most", "CPU ratio", "of medians", "rate ratio", "p50 us",
                "p99 us", "peak MB",
            ]
        )
        let absent = scenario.contenders.compactMap { contender in
            leftOut[contender.name].map { "  \(contender.name): \($0)" }
        }
        return (["", "\(scenario.name): \(scenario.title)", columns] + result.contenders.map(line) + absent)
            .joined(separator: "\n")
    }

    private func line(_ contender: Contender) -> String {
        guard let samples = result.samples[contender] else { return "" }
        let reference = result.scenario.contenders[0]
        let spread = samples.processorSpread
        var figures = [
            String(format: "%.0f", samples.median(of: .rate)),
            String(format: "%.1f", samples.median(of: .processorTime)),
            String(format: "%.1f..%.1f", spread.lowerBound, spread.upperBound),
            Columns.ratio(result.ratio(.processorTime, contender, to: reference)),
            Columns.ratio(result.ratioOfMedians(.processorTime, contender, to: reference)),
            Columns.ratio(result.ratio(.rate, contender, to: reference)),
            Columns.microseconds(samples.median(of: .p50)),
            Columns.microseconds(samples.median(of: .p99)),
            Columns.megabytes(samples.median(of: .peakMemory)),
        ]
        let connections = samples.median(of: .connections)
        if !connections.isNaN { figures.append(String(format: "%.0f connections", connections)) }
        let busiest = samples.median(of: .busiestLoop)
        if !busiest.isNaN { figures.append(String(format: "busiest loop %.0f %%", busiest * 100)) }
        return Columns.row(contender.name, figures)
    }
}

/// The targets of a run with their results, after the tables of its scenarios.
struct SummaryTable {
    private let results: [ScenarioResult]

    init(_ results: [ScenarioResult]) {
        self.results = results
    }

    var text: String { (ratios + besideBefore + targets).joined(separator: "\n") }

    /// This project's contenders as multiples of themselves from another checkout. The range has the middle half of the rounds.
    private var besideBefore: [String] {
        let rows = results.flatMap { result in
            result.contenders.compactMap { contender -> String? in
                guard let now = result.samples[contender], let before = result.samples[contender.before] else {
                    return nil
                }
                func figures(_ quantity: Target.Quantity) -> [String] {
                    let ratios = now.ratios(quantity, to: before).filter(\.isFinite).sorted()
                    // A checkout before 256b1707 reports no times of requests.
                    guard !ratios.isEmpty else { return ["-", "-"] }
                    let middle = ratios[ratios.count / 4]...ratios[(3 * ratios.count - 1) / 4]
                    return [
                        String(format: "%.3f", ratios.median),
                        String(format: "%.3f..%.3f", middle.lowerBound, middle.upperBound),
                    ]
                }
                return Columns.row(
                    "\(result.scenario.name) \(contender.name)",
                    figures(.processorTime) + figures(.rate) + figures(.p50) + figures(.p99)
                )
            }
        }
        guard !rows.isEmpty else { return [] }
        return ["", "As a multiple of the other checkout's, medians of the ratios of each round and their middle half"]
            + [Columns.row("", ["CPU", "rate", "p50", "p99"].flatMap { [$0, "middle half"] })] + rows
    }

    /// The CPU per request of the contenders that most scenarios have, as multiples of the C loop's.
    private var ratios: [String] {
        let columns: [(title: String, contender: Contender)] = [
            ("ours", .client), ("static", .clientStatic), ("AHC", .asyncHTTPClient),
            ("AHC static", .asyncHTTPClientStatic), ("Go", .go),
        ]
        let rows = results.filter { $0.scenario.contenders[0] == .curl }.map { result in
            Columns.row(
                result.scenario.name,
                columns.map { Columns.ratio(result.ratio(.processorTime, $0.contender, to: .curl)) }
            )
        }
        guard !rows.isEmpty else { return [] }
        return ["", "CPU per request as a multiple of the C loop's, medians of the ratios of each round"]
            + [Columns.row("", columns.map(\.title))] + rows
    }

    private var targets: [String] {
        let rows = results.flatMap { result in
            result.scenario.targets.map { target in
                let figure = result.figure(target)
                return "  " + Columns.left(result.scenario.name, 15) + Columns.left(target.text, 68)
                    + Columns.right(target.text(of: target.goal), 9) + Columns.right(target.text(of: target.aim), 9)
                    + Columns.right(figure.map(Columns.ratio) ?? "-", 9)
                    + "  \(figure.map { target.verdict($0).rawValue } ?? "not measured")"
            }
        }
        guard !rows.isEmpty else { return [] }
        let heading =
            "  " + Columns.left("scenario", 15) + Columns.left("target", 68) + Columns.right("goal", 9)
            + Columns.right("aim", 9) + Columns.right("result", 9)
        return ["", heading] + rows
    }
}

/// Texts of equal width.
enum Columns {
    static func row(_ name: String, _ figures: [String]) -> String {
        let widths = [12, 16, 16, 16, 12, 16, 12, 16, 10]
        return "  " + left(name, 31)
            + figures.enumerated().map { place, figure in
                place < widths.count ? right(figure, widths[place]) : "  " + figure
            }.joined()
    }

    static func microseconds(_ value: Double) -> String { value.isNaN ? "-" : String(format: "%.0f", value) }

    static func megabytes(_ kibibytes: Double) -> String {
        kibibytes.isNaN ? "-" : String(format: "%.1f", kibibytes * 1024 / 1e6)
    }

    static func ratio(_ value: Double) -> String { value.isNaN ? "-" : String(format: "%.2f", value) }

    static func left(_ text: String, _ width: Int) -> String {
        text.padding(toLength: max(width, text.count), withPad: " ", startingAt: 0)
    }

    static func right(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(1, width - text.count)) + text
    }
}
