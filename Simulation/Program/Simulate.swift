// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import CHTTPDNSSimulation
internal import Glibc

/// Writes a line to standard error.
func writeError(_ line: String) {
    let bytes = Array((line + "\n").utf8)
    write(STDERR_FILENO, bytes, bytes.count)
}

struct Arguments {
    /// 20, or with ``seconds`` as many as there is time for.
    var worlds: UInt64?
    /// The seed of the first world: a long run can be made in several ones.
    var first: UInt64 = 1
    var calls = 500
    var seed: UInt64?
    var seconds: Double?
    var printsTrace = false
    var stopsWhenBroken = false
    /// Of how many processes beside each other this one is which: it plays each such world.
    var part = (number: 1, of: 1)

    struct Mistake: Error, CustomStringConvertible {
        let description: String
    }

    init(_ words: [String]) throws {
        var index = 1
        func value() throws -> Double {
            index += 1
            guard index < words.count, let number = Double(words[index]), number >= 0 else {
                throw Mistake(description: "\(words[index - 1]) takes a number")
            }
            return number
        }
        while index < words.count {
            switch words[index] {
            case "--worlds": worlds = UInt64(try value())
            case "--first": first = UInt64(try value())
            case "--calls": calls = Int(try value())
            case "--seed": seed = UInt64(try value())
            case "--for": seconds = try value()
            case "--trace": printsTrace = true
            case "--until-broken": stopsWhenBroken = true
            case "--part":
                index += 1
                let numbers = index < words.count ? words[index].split(separator: "/").compactMap { Int($0) } : []
                guard numbers.count == 2, numbers[0] >= 1, numbers[0] <= numbers[1] else {
                    throw Mistake(description: "--part takes a number of processes, such as 1/2")
                }
                part = (numbers[0], numbers[1])
            default: throw Mistake(description: "unknown option \(words[index])")
            }
            index += 1
        }
    }
}

extension Outcome {
    static let sameOutcomes = "calls one after another have the same outcomes in each variant"

    /// The outcome of a call, without its details.
    static func kind(_ text: String) -> String {
        let kind = String(text.prefix { $0 != " " })
        return Int(kind).map { $0 == 200 ? "response" : "other status" } ?? kind
    }

    /// Returns how a play differs from another one of the same world.
    func differences(from other: Outcome) -> [Violation] {
        var facts: [String] = other.calls.keys.sorted().compactMap { call in
            let (own, others) = (calls[call] ?? "-", other.calls[call] ?? "-")
            return own == others ? nil : "call \(call): \(own), else \(others)"
        }
        let counts = [self, other].map { [$0.requests, $0.queries, $0.connections] }
        if counts[0] != counts[1] { facts.append("requests, queries and connections: \(counts[0]), else \(counts[1])") }
        return facts.prefix(1).map { Violation(rule: Outcome.sameOutcomes, facts: $0) }
    }
}

/// Plays the worlds that the arguments ask for.
/// - Returns: Whether no rule was broken.
func simulate(_ arguments: Arguments) -> Bool {
    sim_keep_processor(arguments.part.of > 1 ? Int32(arguments.part.number - 1) : -1)
    let start = ContinuousClock.now
    var total = Outcome()
    var calls = 0
    var different: [String: Int] = [:]
    var isRepeated = false
    var broken: [(World, Variant, [Violation])] = []
    let variants = Variant.Depth.allCases.flatMap { depth in
        [
            Variant(depth: depth, order: .random(1)), Variant(depth: depth, order: .random(2)),
            Variant(depth: depth, order: .arrival), Variant(depth: depth, order: .random(1), isObserved: true),
        ]
    }
    let worlds = arguments.worlds ?? (arguments.seconds == nil ? 20 : UInt64(UInt32.max))
    let seeds = arguments.seed.map { $0...$0 } ?? arguments.first...(arguments.first + max(1, worlds) - 1)
    // What the process makes once, such as the seed of the hashes of names, must not depend on the first world.
    _ = play(World(seed: 0, calls: 20), variants[0])
    Stage.coverage = [:]
    for seed in seeds where Int(seed) % arguments.part.of == arguments.part.number - 1 || arguments.seed != nil {
        let world = World(seed: seed, calls: arguments.calls)
        var first: [Variant.Depth: Outcome] = [:]
        let overloaded = World(overloaded: seed, calls: arguments.calls)
        let plays = variants.map { (world, $0) } + [(overloaded, Variant(order: .random(1)))]
        for (world, variant) in plays {
            let outcome = play(world, variant, keepsTrace: arguments.printsTrace || !isRepeated)
            calls += world.calls.count
            total.steps += outcome.steps
            total.requests += outcome.requests
            total.queries += outcome.queries
            total.connections += outcome.connections
            total.virtualSeconds += outcome.virtualSeconds
            var violations = outcome.violations
            if world.isComparable, let first = first[variant.depth] { violations += outcome.differences(from: first) }
            if let violation = violations.first, arguments.stopsWhenBroken {
                print("seed \(seed) (\(variant)), after \(calls) calls: \(violation.rule)")
                return false
            }
            if !violations.isEmpty { broken.append((world, variant, violations)) }
            if !outcome.isOver {
                // Tasks and threads of it are left, which would take part in the next world.
                for violation in violations {
                    print("seed \(seed) (\(variant)): \(violation.rule): \(violation.facts)")
                }
                print("  with \(world.settings)")
                if arguments.printsTrace { outcome.trace.forEach { print($0) } }
                return false
            }
            if arguments.printsTrace { outcome.trace.forEach { print($0) } }
            if world.overload != nil { continue }
            if let first = first[variant.depth] {
                for (call, one) in first.calls {
                    let pair = [one, outcome.calls[call] ?? "-"].map(Outcome.kind).sorted()
                    if pair[0] != pair[1] { different[pair.joined(separator: ", "), default: 0] += 1 }
                }
            } else {
                first[variant.depth] = outcome
            }
        }
        if !isRepeated, let outcome = first[.whole] {
            // Nothing of the process may decide: not its addresses, its random numbers, or what it played before.
            isRepeated = true
            let again = play(world, variants[0], keepsTrace: true).trace
            if again != outcome.trace {
                let same = zip(again, outcome.trace).prefix { $0 == $1 }.count
                let facts = [outcome.trace, again].map { same < $0.count ? $0[same] : "the end" }
                let rule = "a world that is played again has the same trace"
                broken.append((world, variants[0], [Violation(rule: rule, facts: facts.joined(separator: ", then "))]))
            }
        }
        if let seconds = arguments.seconds, (ContinuousClock.now - start) / .seconds(1) > seconds { break }
    }
    let took = (ContinuousClock.now - start) / .seconds(1)
    print(
        "\(calls) calls, \(total.requests) requests, \(total.connections) connections, \(total.queries) queries,",
        "\(total.steps) steps, \(Int(total.virtualSeconds)) s of virtual time;",
        "\(different.values.reduce(0, +)) outcomes differ between variants"
    )
    for (pair, count) in different.sorted(by: { $0.value > $1.value }) { print("  differs \(pair): \(count)") }
    // Apart from the rest, which is the same in each process.
    writeError("\(Int(took * 10)) tenths of a second, \(Int(Double(calls) / max(took, 0.001))) calls/s")
    for (kind, count) in Stage.coverage.sorted(by: { $0.key < $1.key }) { print("  \(kind): \(count)") }
    var reported: Set<String> = []
    for (world, variant, violations) in broken {
        for violation in violations where reported.insert(violation.rule).inserted {
            print("seed \(world.seed) (\(variant)): \(violation.rule): \(violation.facts)")
            let world = shrink(world, variant, breaking: violation.rule)
            print("  with \(world.calls.count) calls and \(world.events.count) changes, \(world.settings):")
            for line in play(world, variant, keepsTrace: true).trace { print("  \(line)") }
            print("  again: make simulate SEED=\(world.seed) CALLS=\(arguments.calls) TRACE=1")
        }
    }
    print(broken.isEmpty ? "no rule was broken" : "\(broken.count) plays broke a rule")
    return broken.isEmpty
}
