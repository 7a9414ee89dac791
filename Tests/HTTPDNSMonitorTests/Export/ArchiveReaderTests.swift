// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import ServerRig
import Testing

@testable import HTTPDNSMonitor

/// The findings of `Scripts/har-readers`.
private struct Readings: Decodable {
    struct HAR: Decodable {
        var version: String
        var urls: [String]
        var statuses: [Int]
        var bodySizes: [Int64]
    }

    struct Proxy: Decodable {
        var urls: [String]
        var statuses: [Int]
        var decodedSizes: [Int]
    }

    var violations: [String]
    var haralyzer: HAR
    var mitmproxy: Proxy

    static let script = Repository.path("Scripts/har-readers")

    /// Whether the readers are there, or may be installed.
    static var areAvailable: Bool {
        ServerRig.isRequired || FileManager.default.fileExists(atPath: Repository.path(".build/har-readers"))
    }

    static func of(_ path: String) async throws -> Readings {
        // The first run installs the readers.
        let result = try await Command(script, [path]).run(within: .seconds(600))
        try #require(result.status == 0, "\(result.error)")
        return try JSONDecoder().decode(Readings.self, from: Data(result.output.utf8))
    }
}

@Suite(
    "HAR files beside other readers and nginx's log",
    .enabled(if: ServerRig.isAvailable([.nginx]) && Readings.areAvailable)
)
struct ArchiveReaderTests {
    private static let host = "har.wild.test"

    /// Makes 1,000 calls in turn, most of them on one connection, with redirects, retries, coded and chunked bodies, and failures.
    private static func traffic(_ rig: ServerRig) async throws -> MonitoredClient {
        let gone = try RawServer(.hang)
        try await gone.refuse()
        let settings = Monitor.Settings.with {
            $0.maximumRecords = 2000
            $0.responseBodyLimit = .kibibytes(4)
        }
        let monitored = try await MonitoredClient(["gone.test": gone.port], settings) { configuration in
            configuration.resolver.mappings[try HTTPDNSMapping.Key(host)] = .addresses(["127.0.0.2"])
            configuration.retryBudget.percent = 1000
        }
        let origin = "http://\(host):\(rig.httpPort)"
        var retries = HTTPDNSClient.RetryPolicy.standard
        retries.limit = 1
        retries.delay = .microseconds(1)
        let texts = [
            "/health", "/gzip/text.txt", "/redirect/307?to=\(origin)/health", "/drip?count=3&every=0", "/empty",
            "/bytes?count=40000", "/status/404", "/status/503", "/truncated", "/close",
        ]
        for number in 0..<1000 {
            var request = HTTPDNSClient.Request(url: origin + texts[number % texts.count])
            if request.url.hasSuffix("503") { request.changeOptions { [retries] in $0.retries = retries } }
            if number % 50 == 4 {
                let body = HTTPDNSClient.Request.Body.bytes(Array(repeating: 7, count: number))
                request = HTTPDNSClient.Request(method: .post, url: "\(origin)/upload", body: body)
            }
            if number % 200 == 6 { request.url = "http://gone.test/" }
            await monitored.call(request)
        }
        return monitored
    }

    /// Returns the bytes that the framing of chunks adds to a body; nil for a response without chunks of known sizes.
    private static func framing(of target: String, _ response: HTTPArchive.Response) -> Int64? {
        let names = response.headers.map { $0.name.lowercased() }
        guard names.contains("transfer-encoding"), !names.contains("content-encoding") else { return nil }
        // Each chunk has its size in hexadecimal and two line ends, and the last one is `0` with two line ends.
        if target.hasPrefix("/drip") { return 3 * (1 + 4) + 5 }
        if target.hasPrefix("/bytes") { return 3 * (4 + 4) + 5 }
        return Int64(String(response.bodySize, radix: 16).utf8.count) + 4 + 5
    }

    @Test("HAR file, monitor, nginx's log and other readers agree over 1,000 requests")
    func agree() async throws {
        let rig = try await ServerRig.start()
        let monitored = try await Self.traffic(rig)
        let folder = try TemporaryFolder()
        let path = folder.path("traffic.har")
        try await monitored.monitor.writeHAR(to: path)
        let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
        let entries = try JSONDecoder().decode(HTTPArchive.self, from: Data(bytes)).log.entries

        // The monitor: an entry for each hop, in order, with the same sums.
        let (counters, hops) = (monitored.monitor.counters, monitored.monitor.records.flatMap(\.hops))
        #expect(counters.calls.calls == 1000 && counters.calls.hops == entries.count && hops.count == entries.count)
        #expect(entries.count >= 1200 && counters.calls.failed == 205)
        #expect(entries.reduce(0) { $0 + max(0, $1.response.bodySize) } == counters.traffic.responseBodyBytes)
        #expect(entries.reduce(0) { $0 + max(0, $1.request.headersSize) } == counters.traffic.requestHeadBytes)

        try await Self.compare(entries, rig)

        // Other programs.
        let readings = try await Readings.of(path)
        #expect(readings.violations == [])
        #expect(readings.haralyzer.version == "1.2" && readings.haralyzer.urls == entries.map(\.request.url))
        #expect(readings.haralyzer.statuses == entries.map(\.response.status))
        #expect(readings.haralyzer.bodySizes == entries.map(\.response.bodySize))
        #expect(readings.mitmproxy.urls == entries.map(\.request.url))
        #expect(readings.mitmproxy.statuses == entries.map(\.response.status))
        for (size, entry) in zip(readings.mitmproxy.decodedSizes, entries) where entry.response.content.text != nil {
            let isWhole = entry.response.content.isIncomplete != true
            #expect(isWhole ? size == entry.response.content.size : size <= entry.response.content.size)
        }
        try await monitored.client.shutdown()
        try await rig.stop()
    }

    /// Compares entries with the lines of nginx's log about the same requests.
    private static func compare(_ entries: [HTTPArchive.Entry], _ rig: ServerRig) async throws {
        let sent = entries.filter { $0.request.url.contains(host) }
        let lines = try await rig.awaitAccessLog(count: sent.count) { $0.host.hasPrefix(host) }
        func isClosed(_ url: String) -> Bool { url.hasSuffix("/close") }
        // The transport may repeat a request whose connection was closed, so these are compared by their sums.
        let (answered, logged) = (sent.filter { !isClosed($0.request.url) }, lines.filter { !isClosed($0.target) })
        #expect(answered.count == logged.count && answered.count > 1000)
        var kinds: [String: Int] = [:]
        for (entry, line) in zip(answered, logged) {
            let (request, response) = (entry.request, entry.response)
            #expect(request.url.hasSuffix(line.target) && request.method == line.method)
            #expect(request.headersSize + request.bodySize == Int64(line.received))
            #expect(response.status == line.status)
            if line.target.hasPrefix("/truncated") {
                kinds["failed", default: 0] += 1
                #expect(response.headersSize + response.bodySize <= Int64(line.sent))
            } else if let framing = framing(of: line.target, response) {
                kinds["chunked", default: 0] += 1
                #expect(response.bodySize == Int64(line.bodySent) - framing)
                #expect(response.headersSize == Int64(line.sent - line.bodySent))
                #expect(response.content.size == response.bodySize)
            } else if response.headers.contains(where: { $0.name.lowercased() == "transfer-encoding" }) {
                // The number of nginx's chunks is not known, but each has a framing.
                kinds["coded", default: 0] += 1
                #expect(response.bodySize < Int64(line.bodySent) && response.bodySize < response.content.size)
            } else {
                kinds["fixed", default: 0] += 1
                #expect(response.bodySize == Int64(line.bodySent))
                #expect(response.headersSize + response.bodySize == Int64(line.sent))
            }
        }
        #expect(kinds["failed"] == 100 && kinds["chunked"] ?? 0 >= 200 && kinds["coded"] == 100)
        #expect(kinds["fixed"] ?? 0 >= 300)
        let closed = (sent.filter { isClosed($0.request.url) }, lines.filter { isClosed($0.target) })
        #expect(closed.0.count == 100 && closed.0.allSatisfy { $0.response.status == 0 })
        #expect(closed.1.count >= 100)
        #expect(
            closed.0.reduce(0) { $0 + max(0, $1.request.headersSize) } <= closed.1.reduce(0) { $0 + Int64($1.received) }
        )
        #expect(closed.0.allSatisfy { $0.response.bodySize <= 0 })
    }

    @Test("The schema refuses a file with a missing, unknown or wrong member")
    func refused() async throws {
        let folder = try TemporaryFolder()
        var text = ""
        for await chunk in Monitor.Archive([.sample(), .failed()]) { text += String(decoding: chunk, as: UTF8.self) }
        #expect(try await Readings.of(try folder.write(text, to: "good.har")).violations == [])
        for (number, change) in [
            ("\"redirectURL\"", "\"redirect\""), ("\"version\":\"1.2\"", "\"version\":\"1.3\""),
            ("\"send\":0", "\"send\":-1"),
            ("\"serverIPAddress\":\"203.0.113.7\"", "\"serverIPAddress\":\"203.0.113.7:443\""),
        ].enumerated() {
            let broken = text.replacing(change.0, with: change.1, maxReplacements: 1)
            let path = try folder.write(broken, to: "\(number).har")
            #expect(try await Readings.of(path).violations.isEmpty == false, "\(change)")
        }
    }
}
