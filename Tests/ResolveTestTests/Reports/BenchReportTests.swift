// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import HTTPDNS
import Testing

@testable import resolve_test

struct BenchReportTests {
    /// A thousand responses between 1 and 100 ms in ten seconds, and two failures.
    private func report() -> BenchReport {
        var recording = LoadRecordingTests.recording((0..<1000).map { .milliseconds($0 / 10 + 1) })
        recording.add(LoadRecordingTests.recording([.milliseconds(5)], status: 503))
        (recording.elapsed, recording.processorTime) = (.seconds(10), .milliseconds(200))
        for code in ["timed-out", "connection-lost", "timed-out"] {
            recording.add(CommandFailure.failed(code: code, "\(code) of one.test"))
        }
        return BenchReport(
            url: "https://api.shop.example/v1",
            host: "api.shop.example",
            port: 443,
            plan: LoadPlan(inFlight: 50, duration: .seconds(10)),
            warmUp: .seconds(1),
            client: BenchReport.Side(slices: [recording]),
            providerKinds: Samples.kinds
        )
    }

    /// Twice the load, and half the latency, with the system resolver.
    private func comparison() -> BenchReport {
        var report = report()
        func slice(_ milliseconds: Int, seconds: Int) -> LoadRecording {
            var slice = LoadRecordingTests.recording((0..<100).map { _ in .milliseconds(milliseconds) })
            (slice.elapsed, slice.processorTime) = (.seconds(seconds), .milliseconds(milliseconds))
            return slice
        }
        report.client.slices = [slice(10, seconds: 2), slice(10, seconds: 2)]
        report.system = BenchReport.Side(slices: [slice(5, seconds: 1), slice(4, seconds: 2)])
        return report
    }

    @Test("The text of bench is that of its files")
    func golden() throws {
        try Golden.check("bench", report().text)
        try Golden.check("bench-against", comparison().text)
    }

    @Test("Lines fit the screen", arguments: [40, 80])
    func width(columns: Int) {
        for report in [report(), comparison()] {
            let lines = report.text(Screen(width: columns, style: .plain)).split(separator: "\n")
            #expect(lines.allSatisfy { $0.count <= columns }, "\(lines.joined(separator: "\n"))")
        }
    }

    @Test("On 40 columns a comparison has no column for the spread")
    func narrowComparison() {
        let text = comparison().text(Screen(width: 40, style: .plain))
        #expect(text.contains("\n            httpdns  system  ratio\n"), "\(text)")
        #expect(!text.contains("spread"))
    }

    @Test("The JSON is one object that has always the same keys")
    func json() throws {
        let alone = try JSONObject(report().json().oneLine)
        let both = try JSONObject(comparison().json().oneLine)
        #expect(
            alone.names == ["client", "host", "interrupted", "load", "port", "ratio", "system", "url"]
                && both.names == alone.names
        )
        #expect(alone["system"] == .null && alone["ratio"] == .null)
        let (client, ratio): (JSONObject?, JSONObject?) = (alone["client"], both["ratio"])
        #expect(
            client?.names == [
                "addresses", "bytes", "bytesPerSecond", "connectionsOpened", "cpuSeconds", "elapsedSeconds", "failures",
                "histogram",
                "latencySeconds", "provider", "requests", "requestsPerSecond", "resolveSeconds", "responses", "source",
                "statuses", "unsent", "warmUpRequests",
            ]
        )
        #expect(client?["requests"] == .integer(1004) && client?["responses"] == .integer(1001))
        #expect(client?["requestsPerSecond"] == .number(100.1) && client?["resolveSeconds"] == .number(0.0081))
        let latency: JSONObject? = client?["latencySeconds"]
        #expect(latency?.names == ["max", "mean", "min", "p50", "p90", "p99", "p99.9"])
        #expect(latency?["max"] == .number(0.1) && latency?["min"] == .number(0.001))
        #expect(ratio?.names == ["cpu", "max", "mean", "p50", "p90", "p99", "p99.9", "requestsPerSecond"])
        let rates: JSONObject? = ratio?["requestsPerSecond"]
        #expect(
            rates?["value"] == .number(0.75) && rates?["minimum"] == .number(0.5) && rates?["maximum"] == .integer(1)
        )
    }

    @Test("Block characters have an eighth of a column as their least part")
    func blocks() {
        let buckets = [(1, 80), (2, 1), (3, 0), (4, 43)].map { bound, count in
            LoadRecording.Bucket(upTo: .milliseconds(bound), count: count)
        }
        let text = LatencyBars(buckets: buckets, usesBlocks: true).text(Screen(width: 40, style: .plain))
        #expect(
            text == """

                to 1.00 ms  ███████████████  80   64.5 %
                to 2.00 ms  ▎                 1    0.8 %
                to 3.00 ms                    0    0.0 %
                to 4.00 ms  ████████▏        43   34.7 %

                """
        )
        let colored = LatencyBars(buckets: buckets, usesBlocks: true).text(
            Screen(width: 40, style: Style(isColoured: true))
        )
        #expect(colored.contains("to 2.00 ms  \u{1B}[36m▎\u{1B}[0m                 1    0.8 %\n"))
    }

    @Test("A name from a server moves no cursor")
    func hostile() {
        var report = report()
        report.host = "a.test"
        report.client.slices[0].add(CommandFailure.failed(code: "timed-out", "\u{1B}[2J"))
        #expect(!report.text(.plain).contains("\u{1B}"))
    }
}
#endif
