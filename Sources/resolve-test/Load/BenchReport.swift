// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
internal import HTTPDNS
internal import HTTPDNSConfiguration
internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// The report of `bench`: the load, the responses, and the distribution of latencies.
struct BenchReport: Sendable {
    struct Side: Sendable {
        var slices: [LoadRecording] = []
        /// The warm-up, of which only resolving and connecting count.
        var warmUp: LoadRecording?

        var total: LoadRecording {
            var total = LoadRecording()
            for slice in slices { total.add(slice) }
            if let warmUp { total.addConnections(of: warmUp) }
            return total
        }
    }

    /// A value of this client divided by the value of the system's, for the whole load and for each pair of parts.
    struct Ratio: Hashable, Sendable {
        var whole: Double?
        /// The least and the greatest ratio of the pairs; nil without pairs.
        var spread: ClosedRange<Double>?

        init(_ whole: Double?, pairs: [Double]) {
            self.whole = whole
            if let least = pairs.min(), let greatest = pairs.max() { spread = least...greatest }
        }
    }

    /// The URL without user information.
    var url: String
    var host: String
    var port: UInt16
    var plan: LoadPlan
    var warmUp: Duration
    var client: Side
    /// The same load through the system resolver, with `--against`.
    var system: Side?
    /// Whether a signal ended the load.
    var isInterrupted = false
    var providerKinds: [String: String] = [:]
    /// Whether bars may have characters outside of ASCII.
    var usesBlocks = false

    private static let labelWidth = 13
    /// The most ranges of the histogram.
    private static let histogramRows = 14

    // MARK: Ratios

    private typealias Measure = @Sendable (LoadRecording) -> Double?

    private func ratio(_ measure: Measure) -> Ratio {
        guard let system else { return Ratio(nil, pairs: []) }
        let pairs = zip(client.slices, system.slices).compactMap { Self.quotient(measure($0), measure($1)) }
        return Ratio(Self.quotient(measure(client.total), measure(system.total)), pairs: pairs)
    }

    private static func quotient(_ one: Double?, _ other: Double?) -> Double? {
        guard let one, let other, other > 0 else { return nil }
        return one / other
    }

    private static let rateMeasure: Measure = { $0.elapsed > .zero ? $0.responseRate : nil }

    /// The measures of latency, by the names in reports.
    private static let latencyMeasures: [(name: String, of: @Sendable (LoadRecording) -> Duration?)] =
        [("mean", { @Sendable in $0.meanLatency })]
        + LoadRecording.percentiles.map { name, value in (name, { @Sendable in $0.latency(percentile: value) }) }
        + [("max", { @Sendable in $0.maximumLatency })]

    // MARK: Text

    func text(_ screen: Screen) -> String {
        var text = line("load", loadWords, screen)
        let total = client.total
        if let system {
            text += line("httpdns", sourceWords(total), screen) + line("system", sourceWords(system.total), screen)
            text += "\n" + comparison(total, system.total, screen)
        } else {
            text += line("address", sourceWords(total), screen) + sideText(total, screen)
        }
        let bars = LatencyBars(buckets: total.buckets(atMost: Self.histogramRows), usesBlocks: usesBlocks)
        return text + bars.text(screen)
    }

    private func line(_ label: String, _ segments: [String], _ screen: Screen) -> String {
        LabelledLine.text(label, segments, labelWidth: Self.labelWidth, screen: screen)
    }

    private var loadWords: [String] {
        let kind = plan.rate.map {
            "open loop, \(LatencyText.number($0)) requests/s, at most \(Figures.count(plan.inFlight))"
        }
        let end = plan.requests.map { "\(Figures.count($0)) requests" } ?? plan.duration.map(DurationText.write) ?? ""
        return [
            "\(host):\(port)", (kind ?? "closed loop, \(Figures.count(plan.inFlight))") + " in flight",
            system == nil ? end : "\(end) each, in turns",
            warmUp > .zero ? "after \(DurationText.write(warmUp)) of warm-up" : "",
            isInterrupted ? "INTERRUPTED" : "",
        ]
    }

    private func sourceWords(_ total: LoadRecording) -> [String] {
        let most = total.endpoints.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.map(\.key)
        let addresses = most.prefix(3).joined(separator: ", ") + (most.count > 3 ? " and \(most.count - 3) more" : "")
        let source = total.resolution.map { ResolutionText(resolution: $0, providerKinds: providerKinds).source }
        let isLookedUp = total.resolution?.source == .provider || total.resolution?.source == .system
        return [
            addresses, source.map(PrintableText.line) ?? "",
            isLookedUp ? total.slowestResolve.map { "resolved in \(LatencyText.phase($0))" } ?? "" : "",
            "\(Figures.count(total.openedConnections, "connection")) opened",
        ]
    }

    private func sideText(_ total: LoadRecording, _ screen: Screen) -> String {
        let speeds = [
            "\(Figures.count(total.requests))", "\(LatencyText.number(total.responseRate))/s",
            Figures.bytes(total.wireBytes), "\(Figures.fixed(total.byteRate / 1_048_576, places: 1)) MiB/s",
            total.processorTimeEach.map { "CPU \(LatencyText.microseconds($0)) us each" } ?? "",
        ]
        let statuses = total.statuses.sorted { $0.key < $1.key }.map { "\($0.key): \(Figures.count($0.value))" }
        let latencies = Self.latencyMeasures.compactMap { name, measure in
            measure(total).map { "\(name) \(LatencyText.phase($0))" }
        }
        return line("requests", speeds, screen)
            + line("responses", statuses.isEmpty ? ["none"] : statuses, screen)
            + line("failures", failureWords(total), screen)
            + (total.unsent > 0 ? line("not begun", [unsentWords(total)], screen) : "")
            + (latencies.isEmpty ? "" : line("latency", latencies, screen))
    }

    private func failureWords(_ total: LoadRecording) -> [String] {
        let failures = total.failures.sorted { $0.key < $1.key }.map { "\($0.key): \(Figures.count($0.value))" }
        return failures.isEmpty ? ["none"] : failures
    }

    private func unsentWords(_ total: LoadRecording) -> String {
        "\(Figures.count(total.unsent)) of \(Figures.count(total.unsent + total.requests)): the responses were too slow"
    }

    /// Returns a table of both sides, with the ratio and its spread.
    private func comparison(_ ours: LoadRecording, _ theirs: LoadRecording, _ screen: Screen) -> String {
        var rows: [[String]] = [["", "httpdns", "system", "ratio", "spread"]]
        func add(_ label: String, _ own: String, _ other: String, _ ratio: Ratio? = nil) {
            let spread = ratio?.spread.map { range in
                "\(Figures.fixed(range.lowerBound, places: 2)) to \(Figures.fixed(range.upperBound, places: 2))"
            }
            rows.append([label, own, other, ratio?.whole.map { Figures.fixed($0, places: 2) } ?? "", spread ?? ""])
        }
        add(
            "requests/s",
            LatencyText.number(ours.responseRate),
            LatencyText.number(theirs.responseRate),
            ratio(Self.rateMeasure)
        )
        for (name, measure) in Self.latencyMeasures {
            func cell(_ side: LoadRecording) -> String { measure(side).map { LatencyText.milliseconds($0) } ?? "-" }
            add("\(name) ms", cell(ours), cell(theirs), ratio { measure($0)?.inSeconds })
        }
        func processor(_ side: LoadRecording) -> String {
            side.processorTimeEach.map { LatencyText.microseconds($0) } ?? "-"
        }
        add("CPU us", processor(ours), processor(theirs), ratio { $0.processorTimeEach?.inSeconds })
        add("requests", Figures.count(ours.requests), Figures.count(theirs.requests))
        add("failures", Figures.count(ours.failureCount), Figures.count(theirs.failureCount))
        if ours.unsent + theirs.unsent > 0 {
            add("not begun", Figures.count(ours.unsent), Figures.count(theirs.unsent))
        }
        return Self.table(rows, screen) + failures(ours, "httpdns", screen) + failures(theirs, "system", screen)
    }

    private func failures(_ side: LoadRecording, _ name: String, _ screen: Screen) -> String {
        side.failureCount == 0 ? "" : line("failures", ["\(name):"] + failureWords(side), screen)
    }

    /// Returns the rows with numbers at the right. On a narrow screen the spread has no column.
    private static func table(_ rows: [[String]], _ screen: Screen) -> String {
        func lines(_ rows: [[String]]) -> [String] { Columns(rows, rightAligned: Set(1..<rows[0].count)).lines() }
        let whole = lines(rows)
        let isNarrow = whole.contains { $0.count > screen.width }
        return (isNarrow ? lines(rows.map { $0.dropLast() }) : whole).map { $0 + "\n" }.joined()
    }
}

// MARK: JSON

extension BenchReport {
    func json() -> JSONValue {
        var ratios: [String: JSONValue] = ["requestsPerSecond": Self.json(ratio(Self.rateMeasure))]
        ratios["cpu"] = Self.json(ratio { $0.processorTimeEach?.inSeconds })
        for (name, measure) in Self.latencyMeasures { ratios[name] = Self.json(ratio { measure($0)?.inSeconds }) }
        return .object([
            "url": .text(url), "host": .text(host), "port": .integer(Int(port)),
            "load": .object([
                "kind": .text(plan.rate == nil ? "closed" : "open"), "inFlight": .integer(plan.inFlight),
                "rate": plan.rate.map { .decimal($0, places: 3) } ?? .null,
                "requests": .optional(plan.requests),
                "seconds": .seconds(plan.duration), "warmUpSeconds": .seconds(warmUp),
            ]),
            "client": Self.json(client), "system": system.map(Self.json) ?? .null,
            "ratio": system == nil ? .null : .object(ratios), "interrupted": .bool(isInterrupted),
        ])
    }

    private static func json(_ ratio: Ratio) -> JSONValue {
        .object([
            "value": ratio.whole.map { .decimal($0, places: 4) } ?? .null,
            "minimum": ratio.spread.map { .decimal($0.lowerBound, places: 4) } ?? .null,
            "maximum": ratio.spread.map { .decimal($0.upperBound, places: 4) } ?? .null,
        ])
    }

    private static func json(_ side: Side) -> JSONValue {
        let total = side.total
        var latencies: [String: JSONValue] = ["min": .seconds(total.minimumLatency)]
        for (name, measure) in latencyMeasures { latencies[name] = .seconds(measure(total)) }
        let statuses = total.statuses.map { ("\($0.key)", JSONValue.integer($0.value)) }
        return .object([
            "requests": .integer(total.requests), "responses": .integer(total.responses),
            "failures": .object(total.failures.mapValues(JSONValue.integer)), "unsent": .integer(total.unsent),
            "statuses": .object(Dictionary(uniqueKeysWithValues: statuses)),
            "elapsedSeconds": .seconds(total.elapsed), "cpuSeconds": .seconds(total.processorTime),
            "requestsPerSecond": .decimal(total.responseRate, places: 3),
            "bytes": .integer(total.wireBytes), "bytesPerSecond": .decimal(total.byteRate, places: 0),
            "addresses": .object(total.endpoints.mapValues(JSONValue.integer)),
            "source": .optional(total.resolution.map { "\($0.source)" }),
            "provider": .optional(total.resolution?.provider),
            "resolveSeconds": .seconds(total.slowestResolve), "connectionsOpened": .integer(total.openedConnections),
            "warmUpRequests": .integer(side.warmUp?.requests ?? 0),
            "latencySeconds": .object(latencies),
            "histogram": .array(
                total.buckets(atMost: histogramRows).map {
                    .object(["upToSeconds": .seconds($0.upTo), "count": .integer($0.count)])
                }
            ),
        ])
    }
}

/// Latencies and rates for display, with three significant digits.
enum LatencyText {
    /// Returns milliseconds without their unit: `0.142`, `1.42`, `61.9`, `2,310`.
    static func milliseconds(_ duration: Duration) -> String { number(max(0, duration.inSeconds) * 1000) }

    static func microseconds(_ duration: Duration) -> String { number(max(0, duration.inSeconds) * 1_000_000) }

    static func phase(_ duration: Duration) -> String { "\(milliseconds(duration)) ms" }

    /// Returns a number: `0.142`, `1.42`, `61.9`, `4,120`.
    static func number(_ value: Double) -> String {
        let places = value < 0.9995 ? 3 : value < 9.995 ? 2 : value < 99.95 ? 1 : 0
        guard places == 0 else { return Figures.fixed(value, places: places) }
        return Figures.count(Int(min(value, 1e15).rounded()))
    }
}

/// A histogram: a bar for each range of latencies.
struct LatencyBars: Sendable {
    var buckets: [LoadRecording.Bucket]
    /// Whether bars have block characters; else they have `#`.
    var usesBlocks: Bool

    /// The columns in a file.
    private static let defaultWidth = 80
    private static let leastBar = 8
    private static let blocks: [Character] = ["▏", "▎", "▍", "▌", "▋", "▊", "▉", "█"]

    func text(_ screen: Screen) -> String {
        guard let most = buckets.map(\.count).max(), most > 0 else { return "" }
        let whole = buckets.reduce(0) { $0 + $1.count }
        let labels = buckets.map { "to \(LatencyText.phase($0.upTo))" }
        let counts = buckets.map { bucket in
            let share = Double(bucket.count) / Double(whole) * 100
            return "\(Figures.count(bucket.count))  \(Figures.fixed(share, places: 1).paddedLeft(to: 5)) %"
        }
        let labelWidth = labels.map(\.count).max() ?? 0
        let countWidth = counts.map(\.count).max() ?? 0
        let width = min(screen.width, screen.width == .max ? Self.defaultWidth : screen.width)
        let barWidth = max(Self.leastBar, width - labelWidth - countWidth - 4)
        let lines = buckets.indices.map { index in
            let bar = bar(buckets[index].count, of: most, width: barWidth)
            return labels[index].paddedLeft(to: labelWidth) + "  " + screen.style.bar(bar)
                + String(repeating: " ", count: barWidth - bar.count) + "  " + counts[index].paddedLeft(to: countWidth)
                + "\n"
        }
        return "\n" + lines.joined()
    }

    /// Returns a bar that is not empty unless the count is zero.
    private func bar(_ count: Int, of most: Int, width: Int) -> String {
        guard count > 0 else { return "" }
        let share = Double(count) / Double(most)
        guard usesBlocks else { return String(repeating: "#", count: max(1, Int((share * Double(width)).rounded()))) }
        let eighths = max(1, Int((share * Double(width) * 8).rounded()))
        let (full, rest) = eighths.quotientAndRemainder(dividingBy: 8)
        return String(repeating: Self.blocks[7], count: full) + (rest == 0 ? "" : String(Self.blocks[rest - 1]))
    }
}
#endif
