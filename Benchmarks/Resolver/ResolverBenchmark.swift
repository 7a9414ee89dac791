// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import AllocationCounter
internal import ArgumentParser
internal import Foundation

/// What a look-up costs that is answered from memory.
@main
struct ResolverBenchmark: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "httpdns-bench-resolver",
        abstract:
            "The cache, the resolver and the whole stage on a hit, beside a dictionary under a lock and in an actor.",
        discussion: """
            Nanoseconds per call are those of batches of 200 calls between two readings of the clock: p50 is the median \
            batch, p99 the hundredth from the top, both as medians of the rounds. With more threads than processors a batch \
            also has the time in which its thread stood still; calls per second then say more.

            Exit: 0 done (also when a bound is missed, unless --check), 1 with --check and a missed bound.
            """
    )

    @Option(help: "Measured rounds.")
    var rounds = 7
    @Option(help: "Seconds for each contender, load and round.")
    var seconds = 0.1
    @Option(name: .customLong("only"), help: "Only this one: cache, resolver, stage, memory, reload. May be repeated.")
    var names: [String] = []
    @Option(help: "Also write the figures to this file, as JSON.")
    var json: String?

    @Flag(help: "Fail when 10,000 rules are replaced in more than 500 ms, or look-ups wait for it.")
    var check = false

    func validate() throws {
        if rounds < 1 { throw ValidationError("--rounds takes a number from 1.") }
        if seconds <= 0 { throw ValidationError("--seconds takes a number above 0.") }
        for name in names where !["cache", "resolver", "stage", "memory", "reload"].contains(name) {
            throw ValidationError("There is no scenario \"\(name)\"; there are cache, resolver, stage, memory, reload.")
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
        if let json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            try encoder.encode(figures).write(to: URL(fileURLWithPath: json))
        }
        let missed = figures.reload.compactMap(\.missedBound)
        for text in missed { print("missed: \(text)") }
        if check, !missed.isEmpty { throw ExitCode.failure }
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
