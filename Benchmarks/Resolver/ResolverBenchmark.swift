// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine

internal import AllocationCounter
internal import ArgumentParser
internal import Foundation

/// What a look-up costs that is answered from memory.
@main
struct ResolverBenchmark: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "httpdns-bench-resolver",
        abstract:
            "The cache, the resolver and the rewriter on a hit, beside a dictionary; rules that are replaced; decoding.",
        discussion: """
            Nanoseconds per call are those of batches of 200 calls between two readings of the clock: p50 is the median \
            batch, p99 the hundredth from the top, both as medians of the rounds. With more threads than processors a batch \
            also has the time in which its thread stood still; calls per second then say more.

            Exit: 0 done (also when a target is missed, unless --check), 1 with --check and a missed target.
            """
    )

    private static let scenarios = [
        "cache", "resolver", "stage", "memory", "reload", "file", "decoding", "cold", "name-server",
    ]

    @Option(help: "Measured rounds.")
    var rounds = 7
    @Option(help: "Seconds for each contender, load and round.")
    var seconds = 0.1
    @Option(
        name: .customLong("only"),
        help: "Only this one: \(Self.scenarios.joined(separator: ", ")). May be repeated."
    )
    var names: [String] = []
    @Option(help: "Also write the figures to this file, as JSON.")
    var json: String?

    @Flag(help: "Exit 1 when a target is missed.")
    var check = false

    func validate() throws {
        if rounds < 1 { throw ValidationError("--rounds takes a number from 1.") }
        if seconds <= 0 { throw ValidationError("--seconds takes a number above 0.") }
        for name in names where !Self.scenarios.contains(name) {
            throw ValidationError(
                "There is no scenario \"\(name)\"; there are \(Self.scenarios.joined(separator: ", "))."
            )
        }
    }

    func run() async throws {
        var figures = Figures()
        func wants(_ name: String) -> Bool { names.isEmpty || names.contains(name) }
        // First, while the heap has no holes that would be filled for nothing.
        if wants("memory") {
            figures.memory = [100_000, 1_000_000].map(MemoryResult.init)
            print(Table.of(figures.memory))
        }
        if wants("cache") { await measure(CacheScenario.make(), into: &figures) }
        if wants("resolver") { await measure(try ResolverScenario.make(), into: &figures) }
        if wants("stage") { await measure(try StageScenario.make(), into: &figures) }
        if wants("reload") {
            figures.reload = try await ReloadScenario.run(replacements: rounds * 10)
            print(Table.of(figures.reload))
        }
        #if YAML
        if wants("file") {
            let result = try await FollowedFileScenario.run(changes: rounds * 4)
            figures.followedFile = result
            print(Table.of(result))
        }
        #endif
        if wants("decoding") {
            figures.decoding = try await DecodingScenario.run(rounds: rounds)
            print(Table.of(figures.decoding))
        }
        if wants("cold"), let result = try await ColdScenario.run(rounds: rounds) {
            figures.cold = result
            print(Table.of(result))
        }
        if wants("name-server"), let result = try await NameServerScenario.run(rounds: rounds) {
            figures.nameServer = result
            print(Table.of(result))
        }
        let targets = Target.all(figures)
        if !targets.isEmpty { print(Table.of(targets)) }
        if let json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            try encoder.encode(figures).write(to: URL(fileURLWithPath: json))
        }
        if check, targets.contains(where: { !$0.isMet }) { throw ExitCode.failure }
    }

    private func measure(_ scenario: Scenario, into figures: inout Figures) async {
        var allocations: [Double] = []
        for contender in scenario.contenders { allocations.append(await Measurement.allocations(contender)) }
        var results: [ContenderResult] = []
        for choice in scenario.choices {
            for threads in scenario.threads {
                var samples = scenario.contenders.map { _ in [Sample]() }
                for _ in 0..<rounds {
                    for place in scenario.contenders.indices.shuffled() {
                        let contender = scenario.contenders[place]
                        samples[place].append(
                            await Measurement.sample(contender, choice, threads: threads, seconds: seconds)
                        )
                    }
                }
                for (place, contender) in scenario.contenders.enumerated() {
                    results.append(
                        ContenderResult(
                            scenario,
                            contender,
                            choice,
                            threads: threads,
                            samples: samples[place],
                            allocations[place]
                        )
                    )
                }
            }
        }
        print(Table.of(results))
        figures.results += results
    }
}

#else

/// The benchmark without the package trait that reads its arguments.
@main
struct ResolverBenchmark {
    static func main() { print("httpdns-bench-resolver: call it by Benchmarks/run --scenario resolver") }
}

#endif
