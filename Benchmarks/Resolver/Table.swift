// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Foundation

/// Figures as text.
enum Table {
    static func of(_ results: [ContenderResult]) -> String {
        let title = results.first?.scenario ?? ""
        var lines = [
            "\n" + left(title, 22) + left("names", 7)
                + ["threads", "p50 ns", "p99 ns", "calls/us", "allocations"].map { right($0, 12) }.joined()
        ]
        for result in results {
            let figures = [
                "\(result.threads)", number(result.p50), number(result.p99), number(result.callsPerSecond / 1e6),
                String(format: "%.2f", result.allocationsPerCall),
            ]
            lines.append(
                left(result.contender, 22) + left(result.names, 7) + figures.map { right($0, 12) }.joined()
            )
        }
        return lines.joined(separator: "\n")
    }

    static func of(_ results: [MemoryResult]) -> String {
        var lines = [left("memory", 20) + ["B per name", "own account", "dictionary"].map { right($0, 13) }.joined()]
        for result in results {
            let figures = [result.bytesPerName, result.ownAccountPerName, result.dictionaryBytesPerName]
            lines.append(left("\(result.names) names", 20) + figures.map { right(number($0), 13) }.joined())
        }
        return lines.joined(separator: "\n")
    }

    static func of(_ results: [ReloadFigures]) -> String {
        let heading = ["p50 ms", "max ms", "look-up ns", "p99 ns", "p99.9 ns"]
        var lines = [
            "\n" + left("\(ReloadScenario.ruleCount) rules replaced", 26) + heading.map { right($0, 12) }.joined()
        ]
        for result in results {
            let figures = [result.p50, result.longest, result.lookUp, result.lookUpP99, result.lookUpP999]
            lines.append(left(result.way, 26) + figures.map { right($0.isNaN ? "-" : number($0), 12) }.joined())
        }
        return lines.joined(separator: "\n")
    }

    #if YAML
    static func of(_ figures: FollowedFileFigures) -> String {
        let heading = ["CPU ms", "max ms", "request us", "p99 us", "max us"]
        func row(_ name: String, _ figures: [Double]) -> String {
            left(name, 26) + figures.map { right($0.isNaN ? "-" : number($0), 12) }.joined()
        }
        let title = "followed file, \(ReloadScenario.ruleCount) rules"
        let unchanged = [Double.nan, .nan, figures.usual, figures.usualP99, figures.usualLongest]
        let processor = [figures.processorP50, figures.processorLongest]
        let changed = processor + [figures.meanwhile, figures.meanwhileP99, figures.meanwhileLongest]
        let lines = [
            "\n" + left(title, 26) + heading.map { right($0, 12) }.joined(), row("unchanged", unchanged),
            row("changed", changed),
            row("full load", [.nan, .nan, .nan, .nan, figures.loadedLongest]),
            row("full load, changed", [.nan, .nan, .nan, .nan, figures.loadedLongestMeanwhile]),
        ]
        return lines.joined(separator: "\n")
    }
    #endif

    static func of(_ results: [DecodingFigures]) -> String {
        let heading = ["MiB/s", "libcurl's", "ratio"]
        var lines = ["\n" + left("decoded body", 26) + heading.map { right($0, 12) }.joined()]
        for result in results {
            let figures = [number(result.own), number(result.libcurl), String(format: "%.2f", result.ratio)]
            lines.append(left(result.coding, 26) + figures.map { right($0, 12) }.joined())
        }
        return lines.joined(separator: "\n")
    }

    static func of(_ figures: ColdFigures) -> String {
        let rows = [("alone", figures.alone), ("64 in flight", figures.many), ("two requests", figures.requests)]
        let lines = ["\n" + left("cold names over DoH", 26) + right("CPU us", 12)]
        return (lines + rows.map { left($0, 26) + right(number($1), 12) }).joined(separator: "\n")
    }

    static func of(_ figures: NameServerFigures) -> String {
        let lines = figures.lookups.map {
            left($0.contender, 42) + right(number($0.alone), 12) + right(number($0.many), 12)
        }
        let title = "\n" + left("names at a name server, CPU us", 42) + right("alone", 12) + right("in parallel", 12)
        let load = figures.load
        return ([title] + lines).joined(separator: "\n")
            + "\n\n10,000 names with a life of 2 s at \(load.rate) lookups/s for \(load.seconds) s: \(load.queries) queries, "
            + "\(load.failed) failed, p50 \(number(load.p50)) us, p99 \(number(load.p99)) us, CPU \(number(load.processor)) %"
    }

    static func of(_ targets: [Target]) -> String {
        var lines = ["\n" + left("target", 64) + right("goal", 12) + right("result", 12)]
        for target in targets {
            let figures = right(number(target.limit), 12) + right(number(target.result), 12)
            lines.append(left(target.text, 64) + figures + (target.isMet ? "  met" : "  MISSED"))
        }
        return lines.joined(separator: "\n")
    }

    private static func number(_ value: Double) -> String { String(format: "%.1f", value) }
    private static func left(_ text: String, _ width: Int) -> String {
        text.padding(toLength: max(width, text.count), withPad: " ", startingAt: 0)
    }
    private static func right(_ text: String, _ width: Int) -> String {
        String(repeating: " ", count: max(1, width - text.count)) + text
    }
}
