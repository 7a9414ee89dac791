// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import HTTPDNSTesting
import ServerRig
import Testing

@testable import HTTPDNSMonitor

struct ArchiveTests {
    private static func bytes(of archive: Monitor.Archive) async -> [UInt8] {
        var bytes: [UInt8] = []
        for await chunk in archive { bytes += chunk }
        return bytes
    }

    private static func entries(of bytes: [UInt8]) throws -> [HTTPArchive.Entry] {
        try JSONDecoder().decode(HTTPArchive.self, from: Data(bytes)).log.entries
    }

    /// Calls with redirects, failures, a reused connection, coded and binary bodies, a body of a request and answers in process.
    private static func variety() async throws -> MonitoredClient {
        let gone = try RawServer(.hang)
        try await gone.refuse()
        let coded = try ContentEncoder.encoded(Array("hello".utf8), "gzip")
        let head =
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: gzip\r\nContent-Length: \(coded.count)\r\n\r\n"
        let binary = "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 4\r\n\r\n"
        let server = try RawServer(
            .readHead,
            .respond("", status: "302 Found", fields: "Location: /b?c=d%20e&token=x\r\n"),
            .readHead,
            .send(Array(head.utf8) + coded),
            .readHead,
            .send(Array(binary.utf8) + [0x89, 0x50, 0, 0xff]),
            .readHead,
            .read(3),
            .respond("\u{1}\"\\\u{2028}", fields: "Content-Type: application/octet-stream\r\n"),
            .readHead,
            .sendText("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nab")
        )
        let settings = Monitor.Settings.with {
            $0.requestBodyLimit = .kibibytes(1)
            $0.responseBodyLimit = .kibibytes(1)
        }
        let monitored = try await MonitoredClient(["one.test": server.port, "gone.test": gone.port], settings) {
            $0.schemeHandlers["app"] = { _ in HTTPDNSClient.Response(head: .init(status: .noContent), body: .bytes([]))
            }
        }
        await monitored.get("http://one.test/a")
        await monitored.get("http://one.test/image")
        await monitored.call(HTTPDNSClient.Request(method: .post, url: "http://one.test/c", body: .text("a=b")))
        await monitored.get("http://one.test/short")
        await monitored.get("http://gone.test/")
        await monitored.get("app:settings")
        return monitored
    }

    @Test("A file follows the rules of HAR 1.2, and has an entry for each hop")
    func rules() async throws {
        let monitored = try await Self.variety()
        let bytes = await Self.bytes(of: monitored.monitor.archive)
        #expect(ArchiveRules.violations(of: bytes) == [])
        let entries = try Self.entries(of: bytes)
        #expect(entries.count == 7 && entries.count == monitored.monitor.counters.calls.hops)
        #expect(entries.map(\.response.status) == [302, 200, 200, 200, 200, 0, 204])
        // Browsers and readers add the phases up.
        #expect(entries.allSatisfy { abs(($0.time ?? -1) - $0.timings.sum) < 0.001 })
        try await monitored.client.shutdown()
    }

    @Test("The address of a server has no port and no brackets")
    func addresses() async throws {
        let monitored = try await Self.variety()
        var record = try #require(monitored.monitor.records.first)
        record.hops[0].addresses.endpoint = "[2001:db8::7]:443"
        let bytes = await Self.bytes(of: Monitor.Archive([record]))
        #expect(ArchiveRules.violations(of: bytes) == [])
        #expect(try Self.entries(of: bytes).map(\.serverIPAddress) == ["2001:db8::7", "127.0.0.1"])
        try await monitored.client.shutdown()
    }

    @Test("An empty archive is a HAR file too")
    func empty() async throws {
        let bytes = await Self.bytes(of: Monitor().archive)
        #expect(ArchiveRules.violations(of: bytes) == [])
        #expect(try Self.entries(of: bytes).isEmpty)
    }

    @Test("The rules refuse a file with a missing, unknown or wrong member")
    func refused() async throws {
        let monitored = try await Self.variety()
        let text = String(decoding: await Self.bytes(of: monitored.monitor.archive), as: UTF8.self)
        for (old, new) in [
            ("\"mimeType\"", "\"mime\""), ("\"wait\":", "\"wait\":-"), ("\"cookies\":[]", "\"cookies\":0"),
            ("\"startedDateTime\":\"2", "\"startedDateTime\":\"x2"), ("\"creator\"", "\"_creator\""),
        ] {
            #expect(
                !ArchiveRules.violations(of: Array(text.replacing(old, with: new, maxReplacements: 1).utf8)).isEmpty
            )
        }
        try await monitored.client.shutdown()
    }

    @Test("Entries have sizes, times, bodies and addresses, and -1 for what is not known")
    func facts() async throws {
        let start = Date()
        let monitored = try await Self.variety()
        let entries = try Self.entries(of: await Self.bytes(of: monitored.monitor.archive))
        let records = monitored.monitor.records
        let facts = try ArchiveFacts.all(of: records)
        try #require(entries.count == 7 && facts.count == 7 && records.count == 6)
        let (moved, hello, image, post, short, gone, app) = (
            entries[0], entries[1], entries[2], entries[3], entries[4], entries[5], entries[6]
        )
        #expect(moved.response.redirectURL == "/b?c=d%20e&token=(redacted)")
        #expect(hello.request.queryString == [HTTPArchive.Pair("c", "d e"), HTTPArchive.Pair("token", "(redacted)")])
        #expect(hello.response.content.text == "hello" && hello.response.content.size == 5)
        #expect(hello.response.bodySize == records[0].hops[1].bytes.responseBody && hello.response.bodySize > 5)
        #expect(image.response.content.text == "iVAA/w==" && image.response.content.encoding == "base64")
        #expect(post.request.postData?.text == "a=b" && post.request.bodySize == 3)
        #expect(hello.request.postData == nil && post.response.content.encoding == "base64")
        #expect(short.response.content.text == "ab" && short.response.content.isIncomplete == true)
        #expect(facts[4].failure?.hasPrefix("connection-lost/body") == true)
        #expect(gone.response.status == 0 && gone.response.headersSize == -1 || gone.response.headersSize == 0)
        #expect(facts[5].failure?.hasPrefix("connect-failed/connect") == true && facts[5].failedAttempts.count == 1)
        #expect(facts[6].isAnsweredInProcess && app.timings.connect == -1 && app.response.bodySize == -1)
        #expect([moved, hello].map { $0.timings.connect == -1 } == [false, true])
        #expect(entries.allSatisfy { $0.timings.ssl == -1 })
        #expect(
            moved.serverIPAddress == "127.0.0.1" && facts[0].source == "mapping" && facts[0].mapping == "one.test"
        )
        let style = Date.ISO8601FormatStyle(includingFractionalSeconds: true)
        for entry in entries {
            let date = try Date(entry.startedDateTime, strategy: style)
            #expect(date >= start.addingTimeInterval(-1) && date <= Date().addingTimeInterval(1))
        }
        try await monitored.client.shutdown()
    }

    /// A Double holds most of them inexactly.
    @Test("The time of a request is exact to the millisecond", arguments: [0, 1_700_000_000_000, 253_402_300_799_000])
    func milliseconds(second: Int64) {
        for millisecond in 0..<1000 as Range<Int64> {
            let digits = "\(1000 + millisecond)Z".dropFirst()
            #expect(HTTPArchive.dateText(of: second + millisecond).hasSuffix(".\(digits)"))
        }
    }

    @Test("Only the hop that failed has the error of a call")
    func failedRedirect() async throws {
        let gone = try RawServer(.hang)
        try await gone.refuse()
        let server = try RawServer(.serve("", status: "302 Found", fields: "Location: http://gone.test/\r\n"))
        let monitored = try await MonitoredClient(["one.test": server.port, "gone.test": gone.port])
        await monitored.get("http://one.test/")
        let entries = try Self.entries(of: await Self.bytes(of: monitored.monitor.archive))
        try #require(entries.map(\.response.status) == [302, 0])
        let facts = try ArchiveFacts.all(of: monitored.monitor.records)
        #expect(facts[0].failure == nil && facts[1].failure?.hasPrefix("connect-failed/connect") == true)
        try await monitored.client.shutdown()
    }

    @Test("A file is private, replaces an earlier one, and has the bytes of the stream")
    func file() async throws {
        let monitored = try await Self.variety()
        let folder = try TemporaryFolder()
        let path = folder.path + "/traffic.har"
        try Data("old".utf8).write(to: URL(fileURLWithPath: path))
        try await monitored.monitor.writeHAR(to: path)
        #expect(
            try Array(Data(contentsOf: URL(fileURLWithPath: path))) == (await Self.bytes(of: monitored.monitor.archive))
        )
        let permissions = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(permissions == 0o600)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["traffic.har"])
        let error = await #expect(throws: Monitor.Error.self) {
            try await monitored.monitor.writeHAR(to: folder.path + "/none/a.har")
        }
        #expect(error?.path == folder.path + "/none/a.har" && error?.message.contains("No such file") == true)
        let canceled = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await monitored.monitor.writeHAR(to: folder.path + "/canceled.har")
        }
        await #expect(throws: CancellationError.self) { try await canceled.value }
        try await monitored.client.shutdown()
    }

    @Test("No secret is in a HAR file")
    func canaries() async throws {
        let canaries = try await Canaries()
        let bytes = await Self.bytes(of: canaries.monitored.monitor.archive)
        #expect(ArchiveRules.violations(of: bytes) == [])
        let outputs = ["HAR": String(decoding: bytes, as: UTF8.self)]
        for place in Canaries.places {
            #expect(canaries.texts(with: Canaries.secret(place), in: outputs) == [], "\(place)")
        }
        #expect(outputs["HAR"]?.contains("(redacted)") == true)
        try await canaries.monitored.client.shutdown()
    }
}
