// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if YAML
internal import BenchmarkOrigin
internal import Foundation
internal import HTTPDNS
internal import HTTPDNSConfiguration
internal import HTTPDNSPrimitives

/// The figures of a client that follows a file of 10,000 rules while the file changes.
struct FollowedFileFigures: Codable, Sendable {
    /// Milliseconds of processor time of the whole process from the change of the file until the rules are in use and the
    /// former ones are freed: the median change, and the longest. No request is in flight.
    var processorP50: Double
    var processorLongest: Double
    /// Microseconds of requests at a steady rate without changes: the median, the hundredth from the top, and the longest.
    var usual: Double
    var usualP99: Double
    var usualLongest: Double
    /// The same while the file changes again and again.
    var meanwhile: Double
    var meanwhileP99: Double
    var meanwhileLongest: Double
    /// Microseconds of the longest of requests without pauses, 64 in flight, beside two busy processes for each processor: without
    /// changes, and with one each second.
    var loadedLongest: Double
    var loadedLongestMeanwhile: Double

    /// The longest request while the file changed, as a multiple of the usual hundredth from the top.
    var longestOverUsualP99: Double { meanwhileLongest / usualP99 }
}

/// 10,000 rules in a file that a client follows: the time that a change costs, and what requests notice of it.
enum FollowedFileScenario {
    /// The pause between two requests of the steady load.
    private static let pace = Duration.milliseconds(2)
    /// Longer than the former rules take to be freed.
    private static let settling = Duration.milliseconds(50)
    /// The seconds of each part under full load.
    private static let loadedSeconds = 10

    /// - Parameter changes: The number of changes in each of the two parts.
    static func run(changes: Int) async throws -> FollowedFileFigures {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("httpdns-bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let file = folder.appendingPathComponent("httpdns.yaml")
        try text(0).write(to: file, atomically: true, encoding: .utf8)
        let client = try await HTTPDNSClient(configuration: .file(file.path))
        let url = "http://bench.test:\(try startOrigin())/1k"

        // Writing a content takes as long as reading it, and is no part of a reload.
        let contents = try (1...2 * changes + loadedSeconds).map { number in
            let content = folder.appendingPathComponent("content\(number)")
            try text(number).write(to: content, atomically: false, encoding: .utf8)
            return content
        }
        var times: [Double] = []
        for content in contents.prefix(changes) {
            let before = processorSeconds()
            try await replace(file, by: content, client)
            try await Task.sleep(for: settling)
            times.append((processorSeconds() - before) * 1e3)
        }

        _ = try await latencies(client, url) { try await Task.sleep(for: .milliseconds(200)) }
        let usual = try await latencies(client, url) { try await Task.sleep(for: .seconds(3)) }
        let meanwhile = try await latencies(client, url) {
            for content in contents.dropFirst(changes).prefix(changes) {
                try await replace(file, by: content, client)
                try await Task.sleep(for: settling)
            }
        }
        let busy = try (0..<2 * ProcessInfo.processInfo.activeProcessorCount).map { _ in
            // It ends with this process, however that ends.
            try Process.run(URL(fileURLWithPath: "/bin/sh"), arguments: ["-c", "while kill -0 $PPID; do :; done"])
        }
        // SIGTERM is blocked in what Foundation starts from a thread of the runtime.
        defer { for process in busy { kill(process.processIdentifier, SIGKILL) } }
        let loaded = try await latencies(client, url, inFlight: 64, pace: nil) {
            try await Task.sleep(for: .seconds(loadedSeconds))
        }
        let loadedMeanwhile = try await latencies(client, url, inFlight: 64, pace: nil) {
            for content in contents.suffix(loadedSeconds) {
                async let second: Void = Task.sleep(for: .seconds(1))
                try await replace(file, by: content, client)
                try await second
            }
        }
        try await client.shutdown()
        return FollowedFileFigures(
            processorP50: times.median,
            processorLongest: times.max() ?? .nan,
            usual: usual.median,
            usualP99: quantile(0.99, of: usual),
            usualLongest: usual.max() ?? .nan,
            meanwhile: meanwhile.median,
            meanwhileP99: quantile(0.99, of: meanwhile),
            meanwhileLongest: meanwhile.max() ?? .nan,
            loadedLongest: loaded.max() ?? .nan,
            loadedLongestMeanwhile: loadedMeanwhile.max() ?? .nan
        )
    }

    /// Another address in every rule, so that no rule stays as it was.
    private static func text(_ number: Int) -> String {
        "version: 1\nmappings:\n  bench.test: 127.0.0.1\n"
            + (0..<ReloadScenario.ruleCount)
            .map { "  rule\($0).bench.example: 203.0.113.\(number % 250 + 1)\n" }
            .joined()
    }

    /// Renames a content over the followed file, and returns once its rules are in use.
    private static func replace(_ file: URL, by content: URL, _ client: HTTPDNSClient) async throws {
        let before = client.reloads.successes
        guard rename(content.path, file.path) == 0 else { throw CocoaError(.fileWriteUnknown) }
        let end = ContinuousClock.now + .seconds(30)
        // No event reports it. A reading of the counter in 2 ms does not show in the processor time.
        while client.reloads.successes == before {
            precondition(ContinuousClock.now < end, "the file's rules are not used: \(client.reloads)")
            try await Task.sleep(for: .milliseconds(2))
        }
    }

    /// Sends requests while `work` runs.
    /// - Parameter pace: The pause after each request; nil for none.
    /// - Returns: The microseconds of each.
    private static func latencies(
        _ client: HTTPDNSClient,
        _ url: String,
        inFlight: Int = 1,
        pace: Duration? = FollowedFileScenario.pace,
        during work: () async throws -> Void
    ) async throws -> [Double] {
        let isOver = StopFlag()
        let loads = (0..<inFlight).map { _ in
            Task {
                var times: [Double] = []
                while !isOver.isSet {
                    let before = Measurement.now()
                    let response = try await client.get(url)
                    let bytes = try await response.body.collect(upTo: .mebibytes(1)).count
                    times.append(Double(Measurement.now() - before) / 1e3)
                    precondition(
                        response.status == .ok && bytes == 1024,
                        "the origin sent \(response.status), \(bytes) bytes"
                    )
                    if let pace { try await Task.sleep(for: pace) }
                }
                return times
            }
        }
        defer { isOver.set() }
        try await work()
        isOver.set()
        var times: [Double] = []
        for load in loads { times += try await load.value }
        return times
    }

    private static func quantile(_ share: Double, of times: [Double]) -> Double {
        let sorted = times.sorted()
        return sorted.isEmpty ? .nan : sorted[min(Int(share * Double(sorted.count)), sorted.count - 1)]
    }

    private static func startOrigin() throws -> Int32 {
        var port: Int32 = 0
        let listener = benchmark_origin_listen("127.0.0.1", &port)
        precondition(listener >= 0, "nothing can listen on 127.0.0.1")
        Thread { _ = benchmark_origin_serve(listener, 0, 1024) }.start()
        return port
    }
}
#endif
