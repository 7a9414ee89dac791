// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import Testing

@testable import HTTPDNSMonitor

struct TrafficSummaryTests {
    private typealias Hop = HTTPDNSTrafficMonitor.Hop
    private typealias Record = HTTPDNSTrafficMonitor.Record

    @Test("Percentiles are durations that were measured, and each duration is in one bin")
    func percentiles() throws {
        let latencies = try #require(Latencies((1...1000).map { .milliseconds($0) }.shuffled()))
        #expect(latencies.median == .milliseconds(500))
        #expect(latencies.percentile90 == .milliseconds(900) && latencies.percentile99 == .milliseconds(990))
        #expect(latencies.maximum == .seconds(1) && latencies.count == 1000)
        let bins = Dictionary(uniqueKeysWithValues: latencies.usedBins.map { ($0, latencies.bins[$0]) })
        #expect(bins.map { Latencies.text(ofBin: $0.key) }.count == 10)
        let named = Dictionary(uniqueKeysWithValues: bins.map { (Latencies.text(ofBin: $0.key), $0.value) })
        #expect(named["0.5 ms to 1 ms"] == 1 && named["500 ms to 1 s"] == 500 && named["2 ms to 5 ms"] == 3)
        #expect(Latencies([]) == nil)
        let extremes = try #require(Latencies([.zero, .seconds(1 << 50), .milliseconds(-3)]))
        #expect(extremes.bins.first == 2 && extremes.bins.last == 1)
    }

    @Test("Latencies are of responses of servers, by host and by route")
    func groups() {
        let records = [
            Record.sample([
                .sample { $0.url = "http://a.test/" }, .sample { $0.isAnsweredInProcess = true },
                .sample { $0.isMerged = true },
            ]),
            .failed(), .sample(), .sample(),
        ]
        let summary = TrafficSummary(records, counters: nil)
        #expect(summary.hosts.map(\.name) == ["one.test", "a.test"])
        #expect(summary.hosts.map(\.latencies.count) == [2, 1])
        #expect(summary.routes.map(\.name) == ["*.test"] && summary.routes[0].latencies.count == 3)
        #expect(summary.counters.calls.hops == 6 && summary.counters.traffic.answeredInProcess == 2)
        #expect(summary.counters.hosts["one.test"]?.bytesUp == 200 && summary.counters.traffic.failed == 1)
    }

    @Test("Errors are grouped by kind and host, with the newest message")
    func errors() {
        let records = [
            Record.failed(at: 1000, message: "first"), .failed(at: 2000, message: "newest"),
            .failed(at: 500, message: "old"),
            .failed(at: 500, "https://other.test/"),
            .sample([.sample { $0.status = 503 }, .sample { $0.status = 503 }]),
            .sample([.sample()]) {
                $0.failure = Monitor.Failure(code: "connection-lost", phase: "body", message: "short")
            },
        ]
        let errors = TrafficSummary(records, counters: nil).errors
        #expect(
            errors.map { "\($0.count) \($0.kind) \($0.host) \($0.message)" } == [
                "3 connect-failed in the phase connect gone.test newest", "2 status 503 one.test ",
                "1 connect-failed in the phase connect other.test refused",
                "1 connection-lost in the phase body one.test short",
            ]
        )
    }

    @Test("The phases of a hop follow each other, and those of a HAR file are the same")
    func timeline() {
        let record = Record.sample()
        let timeline = HopTimeline(record.hops[0], isLast: true, of: record)
        #expect(timeline.segments.map(\.phase) == [.resolve, .blocked, .race, .connect, .tls, .wait, .receive])
        #expect(timeline.segments.map { $0.length / .milliseconds(1) } == [10, 4, 1, 2, 3, 20, 16])
        #expect(timeline.segments.map { $0.start / .milliseconds(1) } == [4, 14, 18, 19, 21, 24, 44])
        #expect(timeline.end == record.duration)
        let timings = HTTPArchive.Entry.entries(of: record)[0].timings
        #expect(timings.blocked == 5 && timings.dns == 10 && timings.connect == 5 && timings.ssl == 3)
        #expect(timings.wait == 20 && timings.receive == 16)
        // Without a response, the attempts took the time that nothing else accounts for.
        let failed = Record.failed()
        #expect(failed.timelines[0].segments.map(\.phase) == [.resolve, .race])
        #expect(failed.timelines[0][.race] == .milliseconds(30))
        var silent = Record.failed()
        silent.hops[0].failure?.phase = "first-byte"
        #expect(
            silent.timelines[0].segments.map(\.phase) == [.resolve, .wait]
                && silent.timelines[0][.wait] == .milliseconds(30)
        )
        let canceled = Record.sample([.sample { ($0.duration, $0.status, $0.phases) = (nil, nil, Monitor.Phases()) }])
        #expect(canceled.timelines[0].end == canceled.duration)
        #expect(HTTPArchive.Entry.entries(of: canceled)[0].timings.blocked == -1)
    }

    @Test("Calls share a time axis until a gap, and at most 40 of them")
    func axes() {
        func record(_ start: Int64, _ length: Int64) -> HTTPDNSTrafficMonitor.Record {
            .sample([]) { ($0.startTime, $0.duration, $0.callID) = (start, .milliseconds(length), UInt64(start)) }
        }
        let groups = CallGroup.groups([
            record(5000, 10), record(0, 100), record(50, 900), record(1940, 10), record(6500, 3000), record(11000, 1),
        ])
        // A gap of up to a second, or up to the length of the axis, is no end.
        #expect(groups.map { $0.records.map(\.startTime) } == [[0, 50, 1940], [5000], [6500, 11000]])
        #expect(groups.map { $0.length / .milliseconds(1) } == [1950, 10, 4501])
        #expect(groups[0].offset(of: groups[0].records[1]) == .milliseconds(50))
        let many = CallGroup.groups((0..<100).map { record($0, 1) })
        #expect(many.map(\.records.count) == [40, 40, 20])
    }

    @Test(
        "Figures are short, and exact where a reader compares them",
        arguments: [
            (TrafficFigures.count(1_234_567), "1,234,567"), (TrafficFigures.count(-1000), "-1,000"),
            (TrafficFigures.bytes(1023), "1023 B"), (TrafficFigures.bytes(1024), "1 KiB"),
            (TrafficFigures.bytes(1536), "1.5 KiB"), (TrafficFigures.bytes(1_048_575), "1 MiB"),
            (TrafficFigures.percent(0, of: 5), "0 %"), (TrafficFigures.percent(1, of: 100_000), "0.1 %"),
            (TrafficFigures.percent(9_999, of: 10_000), "99.9 %"), (TrafficFigures.percent(5, of: 5), "100 %"),
            (TrafficFigures.percent(7, of: 57), "12 %"), (TrafficFigures.percent(2, of: 12), "17 %"),
            (TrafficFigures.count(1, "hop"), "1 hop"),
        ]
    )
    func figures(text: String, expected: String) { #expect(text == expected) }
}
