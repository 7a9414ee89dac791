// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The figures of one run, ready to be printed.
struct Report {
    let run: RunIdentity
    let results: [ScenarioResult]
    /// The contenders that were left out, with the reasons.
    let leftOut: [String: String]

    /// - Throws: ``BenchError`` when some figures are of another run: the machine was another one, or had other work.
    init(_ run: RunIdentity, _ results: [ScenarioResult], leftOut: [String: String]) throws {
        if let other = results.first(where: { $0.run != run.id }) {
            throw BenchError(
                "no table of two runs: \(other.scenario.name) is of run \(other.run), the rest of \(run.id)"
            )
        }
        self.run = run
        self.results = results
        self.leftOut = leftOut
    }

    /// The figures in the files.
    /// - Throws: ``BenchError`` when they are of more than one run.
    init(files: [String]) throws {
        let contents = try files.map { (path: $0, file: try ResultFile(contentsOf: $0)) }
        guard let first = contents.first else { throw BenchError("no file") }
        if let other = contents.first(where: { $0.file.run.id != first.file.run.id }) {
            throw BenchError(
                "no table of two runs: \(first.path) is of run \(first.file.run.id), \(other.path) of \(other.file.run.id)"
            )
        }
        // The same file twice would show each figure twice.
        guard contents.count == 1 else { throw BenchError("\(files.joined(separator: ", ")) are of the same run") }
        try self.init(first.file.run, first.file.scenarioResults(), leftOut: first.file.leftOut)
    }

    var missesGoal: Bool { results.contains(where: \.missesGoal) }

    var text: String {
        ([run.text] + results.map { ResultTable($0, leftOut: leftOut).text } + [SummaryTable(results).text])
            .joined(separator: "\n")
    }
}
