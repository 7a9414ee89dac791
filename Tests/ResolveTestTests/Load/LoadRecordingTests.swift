// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine
import HTTPDNS
import Testing

@testable import resolve_test

struct LoadRecordingTests {
    /// Returns a recording with these latencies.
    static func recording(_ latencies: some Sequence<Duration>, status: Int = 200) -> LoadRecording {
        var recording = LoadRecording()
        for latency in latencies {
            recording.add(
                LoadRecording.Sample(
                    status: status,
                    wireBytes: 1000,
                    endpoint: "203.0.113.8:443",
                    opensConnection: recording.responses == 0,
                    resolve: recording.responses == 0 ? .microseconds(8100) : .microseconds(1),
                    resolution: try? Samples.provided(["203.0.113.8"])
                ),
                latency: latency
            )
        }
        recording.elapsed = .seconds(10)
        return recording
    }

    @Test("Percentiles are those of the latencies, to three significant digits")
    func percentiles() throws {
        let recording = Self.recording((1...1000).map { .milliseconds($0) })
        for (percentile, expected) in [(50, 500), (90, 900), (99, 990), (99.9, 999)] as [(Double, Double)] {
            let latency = try #require(recording.latency(percentile: percentile)) / .milliseconds(1)
            #expect(abs(latency - expected) <= expected / 1000, "\(percentile): \(latency)")
        }
        #expect(recording.maximumLatency == .milliseconds(1000) && recording.minimumLatency == .milliseconds(1))
        let mean = try #require(recording.meanLatency) / .milliseconds(1)
        #expect(abs(mean - 500.5) < 1)
    }

    @Test("Without responses there is no latency and no range")
    func empty() {
        var recording = LoadRecording()
        recording.add(CommandFailure.failed(code: "timed-out", "too late"))
        #expect(recording.latency(percentile: 50) == nil && recording.meanLatency == nil)
        #expect(recording.buckets(atMost: 10).isEmpty)
        #expect(recording.requests == 1 && recording.failures == ["timed-out": 1] && recording.responseRate == 0)
    }

    @Test(
        "The ranges of the histogram hold every response, and are few",
        arguments: [
            [.nanoseconds(1)], [.microseconds(1), .seconds(3600)], (1...12).map { .microseconds($0 * $0 * 37) },
            [.milliseconds(1), .milliseconds(1)], [.seconds(10_000)],
        ] as [[Duration]]
    )
    func buckets(latencies: [Duration]) {
        let recording = Self.recording(latencies)
        let buckets = recording.buckets(atMost: 14)
        #expect((1...14).contains(buckets.count))
        #expect(buckets.reduce(0) { $0 + $1.count } == latencies.count)
        #expect(zip(buckets, buckets.dropFirst()).allSatisfy { $0.upTo < $1.upTo })
        #expect(buckets.last.map { $0.count > 0 } == true)
    }

    @Test("Parts of a load add up, and a warm-up adds only resolving and connecting")
    func sums() {
        var whole = Self.recording([.milliseconds(1), .milliseconds(2)])
        whole.add(Self.recording([.milliseconds(30)], status: 404))
        whole.addConnections(of: Self.recording([.seconds(9)]))
        #expect(whole.responses == 3 && whole.statuses == [200: 2, 404: 1] && whole.wireBytes == 3000)
        #expect(whole.elapsed == .seconds(20) && whole.maximumLatency == .milliseconds(30))
        #expect(whole.openedConnections == 3 && whole.slowestResolve == .microseconds(8100))
        #expect(whole.endpoints == ["203.0.113.8:443": 3])
    }
}
#endif
