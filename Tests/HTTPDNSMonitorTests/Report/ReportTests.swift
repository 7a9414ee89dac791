// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import ServerRig
import Testing

@testable import HTTPDNSMonitor

struct ReportTests {
    private typealias Hop = HTTPDNSTrafficMonitor.Hop
    private typealias Record = HTTPDNSTrafficMonitor.Record

    private static func page(_ report: Monitor.Report) async -> String {
        var bytes: [UInt8] = []
        for await chunk in report { bytes += chunk }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func markup(_ records: [HTTPDNSTrafficMonitor.Record]) async throws -> PageMarkup {
        try PageMarkup(await page(Monitor.Report(records)))
    }

    @Test("A page is well-formed, loads nothing, and has no script and no link")
    func isSelfContained() async throws {
        let records = [Record.sample(), .failed(), .sample([.sample(), .sample { $0.status = 503 }])]
        let markup = try await Self.markup(records)
        let policy = "default-src 'none'; style-src 'unsafe-inline'"
        #expect(markup.tags.contains("<meta http-equiv=\"Content-Security-Policy\" content=\"\(policy)\">"))
        // The rules of the reader know no element and no attribute that loads, links or runs.
        for refused in [
            "<script>", "<p onclick=\"a\">", "<a href=\"b\">", "<p>&nbsp;", "<img src=\"a\">",
            "<p style=\"color:red\">",
        ] {
            #expect(throws: PageMarkup.Violation.self) { try PageMarkup("<!DOCTYPE html>\n\(refused)</p>") }
        }
        #expect(throws: PageMarkup.Violation.self) { try PageMarkup("<!DOCTYPE html>\n<p>\u{202e}</p>") }
        #expect(try await Self.markup([]).text.contains("No call is recorded."))
    }

    @Test("The calls, their hops, phases, addresses, fields and bodies are in the page")
    func content() async throws {
        let moved = Hop.sample { hop in
            (hop.status, hop.reason) = (302, "Found")
            hop.url = "http://two.test/"
        }
        let reused = Hop.sample { hop in
            (hop.number, hop.offset, hop.reusedConnection) = (1, .milliseconds(50), true)
            hop.phases = Monitor.Phases(resolve: .zero, firstByte: .milliseconds(4))
            hop.duration = .milliseconds(5)
            hop.addresses.attempts = []
        }
        var record = Record.sample([moved, reused])
        record.redirects = 1
        record.requestBody = Monitor.Body(mediaType: "text/plain", length: 3, text: "a\n<b", isTruncated: false)
        record.responseBody = Monitor.Body(mediaType: "image/png", length: 9, base64: "iVAA/w==", isTruncated: true)
        let markup = try await Self.markup([record])
        let text = markup.text
        for expected in [
            "Call 7 · started 2026-11-24 14:02:11.042 UTC · finished after 60 ms · response head after 44 ms · 2 hops"
                + " · 1 redirect · 5 B read",
            "Provider \"city-dns\" named the address of two.test (queried 12 s earlier, 41 s left to live).",
            "Candidates in order: 203.0.113.6:443, 203.0.113.7:443.",
            "203.0.113.6:443 failed after 1 ms in the phase connect: Connection refused.",
            "203.0.113.7:443 answered over HTTP/2 with TLSv1.3 (TLS_AES_128_GCM_SHA256) on a new connection.",
            "203.0.113.7:443 answered over HTTP/2 with TLSv1.3 (TLS_AES_128_GCM_SHA256) on a connection that had been used before.",
            "sent: head 100 B, body 0 B · received: head 50 B, body 5 B · route *.test",
            "text/plain, 3 bytes", "a\n<b", "image/png, 9 bytes, binary, in base64, only the start is stored",
            "iVAA/w==",
            "Accept", "→ 302 Found HTTP/2",
        ] {
            #expect(text.contains(expected), "\(expected)")
        }
        // Phases of connecting are empty where the connection was reused.
        #expect(text.components(separatedBy: "reused connection").count == 3)
        let titles = Set(markup.titles.filter { !$0.isEmpty })
        #expect(titles.isSuperset(of: ["resolve 10 ms", "earlier attempts 1 ms", "connect 2 ms", "TLS 3 ms"]))
        #expect(titles.isSuperset(of: ["first byte 20 ms", "blocked 4 ms", "first byte 4 ms", "receive 5 ms"]))
    }

    private static let payloads = [
        "</script><script>alert(1)</script>", "\" onload=\"alert(1)", "' onmouseover='alert(1)",
        "<img src=x onerror=alert(1)>", "javascript:alert(1)", "</style></pre></title><svg/onload=alert(1)>",
        "&lt;b&gt;&#x3c;", "--><!--", "\u{202e}\u{2066}\u{200b}abc", "\u{1b}[2J\u{0}\u{9b}\r\n", "`${alert(1)}`",
    ]

    private static let places: [(name: String, put: @Sendable (String, inout Record) -> Void)] = [
        ("method", { $1.method = $0 }),
        ("URL of the call", { $1.url = $0 }),
        ("outcome", { $1.outcome = $0 }),
        ("URL of a hop", { $1.hops[0].url = $0 }),
        ("method of a hop", { $1.hops[0].method = $0 }),
        ("route", { $1.hops[0].route = $0 }),
        ("reason", { $1.hops[0].reason = $0 }),
        ("version", { $1.hops[0].version = $0 }),
        ("cache source", { $1.hops[0].cacheSource = $0 }),
        ("request field", { $1.hops[0].requestFields[.accept] = $0 }),
        ("response field", { $1.hops[0].responseFields[.contentType] = $0 }),
        ("source", { $1.hops[0].addresses.source = $0 }),
        ("provider", { $1.hops[0].addresses.provider = $0 }),
        (
            "mapping",
            {
                $1.hops[0].addresses.source = "mapping"
                $1.hops[0].addresses.mapping = $0
            }
        ),
        ("candidates", { $1.hops[0].addresses.candidates = [$0, $0] }),
        ("endpoint", { $1.hops[0].addresses.endpoint = $0 }),
        ("proxy", { $1.hops[0].addresses.proxy = $0 }),
        ("attempt", { $1.hops[0].addresses.attempts[0].failure = $0 }),
        ("endpoint of an attempt", { $1.hops[0].addresses.attempts[0].endpoint = $0 }),
        ("failure", { $1.failure = Monitor.Failure(code: $0, phase: $0, message: $0) }),
        ("failure of a hop", { $1.hops[0].failure = Monitor.Failure(code: $0, phase: $0, message: $0) }),
        ("request body", { $1.requestBody = Monitor.Body(mediaType: $0, text: $0, isTruncated: false) }),
        ("binary body", { $1.responseBody = Monitor.Body(mediaType: $0, base64: $0, isTruncated: true) }),
    ]

    @Test("A hostile value stays text: it adds no markup and no hidden character", arguments: places.map(\.name))
    func hostile(place: String) async throws {
        let put = try #require(Self.places.first { $0.name == place }).put
        var harmless = Record.sample()
        put("harmless", &harmless)
        let expected = try await Self.markup([harmless]).tags
        for payload in Self.payloads {
            var record = Record.sample()
            put(payload, &record)
            let markup = try await Self.markup([record])
            #expect(markup.tags == expected, "\(payload)")
            // The value is there, as a reader can see it.
            let printable = String(payload.unicodeScalars.filter { ("!"..."~").contains($0) })
            let shown = markup.text.filter { $0 != "\n" && $0 != " " }.replacing(/\\u\{[0-9a-f]+\}|\\[rn]/, with: "")
            #expect(shown.contains(printable), "\(payload)")
        }
    }

    @Test("Control characters and marks of direction are shown as escapes")
    func escapes() async throws {
        let record = Record.sample { $0.url = "https://one.test/\u{202e}\u{2069}\u{1b}\u{0}'é" }
        let text = try await Self.markup([record]).text
        #expect(text.contains("/\\u{202e}\\u{2069}\\u{1b}\\u{0}'é"))
    }

    @Test("The newest calls are drawn up to a limit, and the figures are about all")
    func limit() async throws {
        let records = (1...1200).map { number in
            Record.sample([.sample { $0.duration = .milliseconds(number) }]) { record in
                record.callID = UInt64(number)
                record.startTime += Int64(number) * 2000
                record.duration = .milliseconds(number)
            }
        }
        let markup = try await Self.markup(records.shuffled())
        #expect(markup.tags.count { $0 == "<details class=\"call\">" } == Monitor.Report.defaultMaximumCalls)
        #expect(markup.text.contains("The newest 500 of 1,200 recorded calls."))
        #expect(markup.text.contains("Call 701 ·") && !markup.text.contains("Call 700 ·"))
        #expect(markup.text.contains("Durations of 1,200 calls"))
        let summary = TrafficSummary(records, counters: nil)
        #expect(summary.hosts.map(\.name) == ["one.test"] && summary.hosts[0].latencies.count == 1200)
        #expect(summary.hosts[0].latencies.maximum == .milliseconds(1200))
        let few = await Self.page(Monitor.Report(records, maximumCalls: 0))
        #expect(try PageMarkup(few).tags.count { $0 == "<details class=\"call\">" } == 0)
    }

    @Test("The sums of a monitor count calls without a record too")
    func counters() async throws {
        var counters = Monitor.Counters(of: [.sample(), .failed()])
        counters.calls.calls = 1_234_567
        let text = try PageMarkup(await Self.page(Monitor.Report([.sample()], counters: counters))).text
        #expect(text.contains("1,234,567") && text.contains("1 with a record"))
    }

    @Test("A long body and many fields are cut, and the page says so")
    func cuts() async throws {
        let body = Monitor.Body(
            mediaType: "text/plain",
            text: String(repeating: "ab", count: 20_000),
            isTruncated: false
        )
        var record = Record.sample { $0.responseBody = body }
        for number in 0..<300 { record.hops[0].responseFields.append(HTTPField(name: .via, value: "v\(number)")) }
        let page = await Self.page(Monitor.Report([record]))
        let text = try PageMarkup(page).text
        let start = String(repeating: "ab", count: ReportCall.maximumBody / 2)
        #expect(text.contains(start + "…") && !text.contains(start + "a"))
        #expect(text.contains("only the start is shown") && text.contains("101 more fields are left out."))
    }

    @Test("A file is private, replaces an earlier one, and has the bytes of the stream")
    func file() async throws {
        let server = try RawServer(.serve("hello"))
        let monitored = try await MonitoredClient(["one.test": server.port])
        await monitored.get("http://one.test/a")
        let folder = try TemporaryFolder()
        let path = folder.path + "/traffic.html"
        try Data("old".utf8).write(to: URL(fileURLWithPath: path))
        try await monitored.monitor.writeReport(to: path)
        let text = try String(contentsOfFile: path, encoding: .utf8)
        #expect(text == (await Self.page(monitored.monitor.report)) && text.contains("/a"))
        let permissions = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(permissions == 0o600)
        let error = await #expect(throws: Monitor.Error.self) {
            try await monitored.monitor.writeReport(to: folder.path + "/none/a.html")
        }
        #expect(error?.message.contains("the report cannot be written: No such file") == true)
        try await monitored.client.shutdown()
    }

    @Test("No secret is in a report or in its text form")
    func canaries() async throws {
        let canaries = try await Canaries()
        let monitor = canaries.monitored.monitor
        let text = TrafficText(.init(width: .max, isColored: false, isUnicode: true))
        let outputs = [
            "page": await Self.page(monitor.report), "waterfall": text.waterfall(monitor.records),
            "summary": text.summary(monitor.records, counters: monitor.counters),
        ]
        for place in Canaries.places {
            #expect(canaries.texts(with: Canaries.secret(place), in: outputs) == [], "\(place)")
        }
        #expect(outputs.filter { $0.value.contains("(redacted)") }.keys.sorted() == ["page", "waterfall"])
        _ = try PageMarkup(outputs["page"] ?? "")
        try await canaries.monitored.client.shutdown()
    }
}
