// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import ArgumentParser
internal import Foundation

/// Compares the client with raw libcurl, AsyncHTTPClient, Go and URLSession, all in one run.
@main
struct Bench: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "The same requests through swift-httpdns, libcurl in C, AsyncHTTPClient and others, interleaved.",
        discussion: """
            Figures are medians over the rounds, ratios are medians of the ratios of each round. Every round runs all \
            scenarios, and the contenders of each in a random order. The ratios of one run count: absolute figures belong \
            to the machine and its other work.

            Exit: 0 done (also when a target is missed, unless --check), 1 a contender or the origin failed, 64 usage.
            """,
        subcommands: [Measure.self, Tables.self, KeepBusy.self, AnswerLate.self],
        defaultSubcommand: Measure.self
    )
}

/// Measures, and prints the tables.
struct Measure: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Measure and print the tables (the default).")

    @Option(help: ArgumentHelp("Measured rounds, after one that is thrown away.", valueName: "number"))
    var rounds = 7

    @Option(
        name: .customLong("scenario"),
        help: ArgumentHelp(
            "Run this one only; may be repeated: \(Scenario.all.map(\.name).joined(separator: ", ")).",
            valueName: "name"
        )
    )
    var names: [String] = []

    @Option(help: ArgumentHelp("Also write every figure of every round to this file, as JSON.", valueName: "file"))
    var json: String?

    @Flag(help: "Exit 1 when a binding goal is missed.")
    var check = false

    @Option(help: ArgumentHelp("Where the contenders with a static Swift runtime are.", visibility: .hidden))
    var staticFolder: String?

    @Option(help: ArgumentHelp("The contender that go build made.", visibility: .hidden))
    var goProgram: String?

    @Option(help: ArgumentHelp("Where this project's contenders from another checkout are.", visibility: .hidden))
    var beforeFolder: String?

    mutating func validate() throws {
        if rounds < 1 { throw ValidationError("--rounds takes a number from 1.") }
        for name in names where !Scenario.all.contains(where: { $0.name == name }) {
            let known = Scenario.all.map(\.name).joined(separator: ", ")
            throw ValidationError("There is no scenario \"\(name)\"; there are \(known).")
        }
    }

    func run() throws {
        let chosen = names.isEmpty ? Scenario.all : Scenario.all.filter { names.contains($0.name) }
        let scenarios = beforeFolder == nil ? chosen : chosen.compactMap(\.besideBefore)
        let cores = Cores.ofThisMachine()
        let programs = Programs(
            staticFolder: staticFolder.map { URL(fileURLWithPath: $0) },
            go: goProgram.map { URL(fileURLWithPath: $0) },
            beforeFolder: beforeFolder.map { URL(fileURLWithPath: $0) }
        )
        let origin = try Origin.start(on: cores)
        defer { origin.stop() }
        let unpinnedOrigin = try Origin.start(on: cores.unpinned)
        defer { unpinnedOrigin.stop() }
        let interrupt = Interrupt {
            origin.stop()
            unpinnedOrigin.stop()
        }
        defer { interrupt.disarm() }

        DescriptorLimit.raise()
        var identity = RunIdentity(rounds: rounds, cores: cores)
        let busyCores = try BusyCores(cores)
        let rig = Rig(origin: origin, unpinnedOrigin: unpinnedOrigin, cores: cores, programs: programs)
        let results = try rig.measure(scenarios, rounds: rounds, run: identity.id) { round in
            FileHandle.standardError.write(
                Data("round \(round) of \(rounds)\(round == 0 ? ", unmeasured" : "")\n".utf8)
            )
        }
        withExtendedLifetime(busyCores) {}
        identity.end()

        let absences = scenarios.flatMap(\.contenders).compactMap { contender in
            programs.absence(of: contender).map { (contender.name, $0) }
        }
        let leftOut = Dictionary(absences) { first, _ in first }
        let report = try Report(identity, results, leftOut: leftOut)
        if let json { try ResultFile(report).write(to: json) }
        print(report.text)
        if check, report.missesGoal { throw ExitCode.failure }
    }
}

/// Prints the tables of an earlier run.
struct Tables: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Print the tables of a run from its JSON file.")

    @Argument(help: ArgumentHelp("A file that --json wrote. Figures of two runs are refused.", valueName: "file"))
    var files: [String]

    @Flag(help: "Exit 1 when a binding goal is missed.")
    var check = false

    func run() throws {
        let report = try Report(files: files)
        print(report.text)
        if check, report.missesGoal { throw ExitCode.failure }
    }
}
