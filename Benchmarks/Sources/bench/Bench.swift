// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import ArgumentParser
internal import Foundation

/// Compares the client with raw libcurl, AsyncHTTPClient and URLSession, all in one run.
@main
struct Bench: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "The same requests through swift-httpdns, libcurl in C, AsyncHTTPClient and URLSession, interleaved.",
        discussion: """
            Figures are medians over the rounds; every round runs all contenders of a scenario in random order. What counts
            are the ratios of one run: absolute figures belong to the machine and to what else it does.

            Exit: 0 done (also when a target is missed, unless --check), 1 a contender or the origin failed, 64 usage.
            """
    )

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

    @Flag(help: "Exit 1 when a binding target is missed.")
    var check = false

    mutating func validate() throws {
        if rounds < 1 { throw ValidationError("--rounds takes a number from 1.") }
        for name in names where !Scenario.all.contains(where: { $0.name == name }) {
            let known = Scenario.all.map(\.name).joined(separator: ", ")
            throw ValidationError("There is no scenario \"\(name)\"; there are \(known).")
        }
    }

    func run() throws {
        let scenarios = names.isEmpty ? Scenario.all : Scenario.all.filter { names.contains($0.name) }
        let cores = Cores.ofThisMachine()
        let origin = try Origin.start(on: cores)
        defer { origin.stop() }
        let interrupt = Interrupt { origin.stop() }
        defer { interrupt.disarm() }

        print(header(cores))
        DescriptorLimit.raise()
        let rig = Rig(origin: origin, cores: cores)
        let results = try scenarios.map { scenario in
            let result = try rig.measure(scenario, rounds: rounds)
            print(ResultTable(result).text)
            return result
        }
        if let json { try ResultFile(results, rounds: rounds).write(to: json) }
        if check, results.contains(where: \.missesBindingTarget) { throw ExitCode.failure }
    }

    private func header(_ cores: Cores) -> String {
        let placement =
            cores.arePinned
            ? "nginx on core \(cores.origin), contenders on core \(cores.contender)"
            : "cores not separated: expect scatter"
        return
            "GET of 1 KiB, where nothing else is said, from nginx on loopback. \(placement). Medians of \(rounds) rounds, CPU is user + system."
    }
}
