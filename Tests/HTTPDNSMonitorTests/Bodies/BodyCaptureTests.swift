// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import ClientRig
import HTTPDNS
import HTTPDNSTesting
import ServerRig
import Testing

@testable import HTTPDNSMonitor

struct BodyCaptureTests {
    private static let redactor = HTTPDNSClient.Redaction.standard

    /// A body, and the form in which it is stored.
    struct Sample: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var bytes: [UInt8]
        var length: Int64?
        var type: String?
        var text: String?
        var base64: String?

        init(_ name: String, _ bytes: [UInt8], of length: Int64? = nil, _ type: String? = nil, text: String) {
            (testDescription, self.bytes, self.type, self.text) = (name, bytes, type, text)
            self.length = length ?? Int64(bytes.count)
        }

        init(_ name: String, _ bytes: [UInt8], _ type: String? = nil, base64: String) {
            (testDescription, self.bytes, self.type, self.base64) = (name, bytes, type, base64)
            length = Int64(bytes.count)
        }
    }

    private static let euro = Array("a€".utf8)
    private static let samples = [
        Sample("UTF-8", Array("aé€😀\r\n\t".utf8), "text/plain; charset=utf-8", text: "aé€😀\r\n\t"),
        Sample("no type", Array("plain".utf8), text: "plain"),
        Sample("cut behind a character", euro, of: 100, "text/plain", text: "a€"),
        Sample("cut in a character of 3 bytes, after 2", Array(euro.dropLast()), of: 100, "text/plain", text: "a"),
        Sample("cut in a character of 3 bytes, after 1", Array(euro.dropLast(2)), of: 100, "text/plain", text: "a"),
        Sample("cut in a character of 4 bytes", Array("b😀".utf8.dropLast()), of: 100, text: "b"),
        Sample("Latin-1", [0x61, 0xe9], "text/html; Charset=\"ISO-8859-1\"", text: "aé"),
        Sample("UTF-16 with a mark", [0xff, 0xfe, 0x61, 0, 0xac, 0x20], "text/plain;charset=utf-16", text: "a€"),
        Sample("UTF-16BE", [0, 0x61, 0x20, 0xac], "text/plain; charset=utf-16be", text: "a€"),
        Sample("binary", [0, 1, 2, 0xff], "application/octet-stream", base64: "AAEC/w=="),
        Sample("binary without a type", [0x89, 0x50, 0x4e, 0x47], base64: "iVBORw=="),
        Sample("text of no type with a NUL", [0x61, 0], base64: "YQA="),
    ]

    @Test("A text is stored as text by its charset, and other bytes as base64", arguments: samples)
    func kinds(_ sample: Sample) {
        let body = BodyText(start: sample.bytes, length: sample.length, mediaType: sample.type, isCoded: false)
            .body(isWithheld: false, Self.redactor)
        #expect(body.text == sample.text && body.base64 == sample.base64)
        #expect(body.isTruncated == (sample.length != Int64(sample.bytes.count)))
        #expect(body.length == sample.length && body.withheld == nil)
    }

    private static let damagedTexts: [(String, [UInt8])] = [
        // A whole text that ends in the middle of a character.
        ("text/plain", Array(euro.dropLast())),
        ("text/html", [0x61, 0]),
        ("Text/Plain; charset=utf-16be", [0xd8, 0, 0, 0x61]),
        ("application/json", Array("{\"password\": \"caf".utf8) + [0xe9, 0x22, 0x7d]),
        ("application/problem+json; charset=utf-8", [0xff]),
        ("application/soap+xml", [0xe9]),
        ("application/x-www-form-urlencoded", Array("password=".utf8) + [0xe9]),
    ]

    @Test("A text that is not valid in its charset is not stored", arguments: damagedTexts)
    func damaged(_ type: String, _ bytes: [UInt8]) {
        let body = BodyText(start: bytes, length: Int64(bytes.count), mediaType: type, isCoded: false)
            .body(isWithheld: false, Self.redactor)
        #expect(body.text == nil && body.base64 == nil && body.withheld?.description == "invalid-text")
    }

    @Test("A text in chunks of a byte is stored whole, and the caller gets the same chunks")
    func splitCharacters() async throws {
        let text = String(repeating: "aé€😀", count: 50)
        let chunks = text.utf8.map { [$0] }
        var configuration = HTTPDNSClient.Configuration()
        configuration.schemeHandlers["app"] = { _ in
            let stream = AsyncThrowingStream<[UInt8], any Error> { continuation in
                for chunk in chunks { continuation.yield(chunk) }
                continuation.finish()
            }
            return HTTPDNSClient.Response(head: HTTPResponse(status: .ok), body: .stream(stream))
        }
        let client = try await HTTPDNSClient(configuration: configuration)
        let monitor = try Monitor(.with { $0.responseBodyLimit = .kibibytes(4) })
        monitor.start(on: client)
        var received: [[UInt8]] = []
        for try await chunk in try await client.get("app:a").body { received.append(chunk) }
        #expect(received == chunks)
        #expect(monitor.records.first?.responseBody?.text == text)
        #expect(monitor.records.first?.responseBody?.isTruncated == false)
        try await client.shutdown()
    }

    @Test("Only the bytes up to a limit of a long body are stored, and the caller gets all")
    func longBody() async throws {
        let (size, count) = (64 * 1024, 16 * 1024)
        let chunk = Array(repeating: UInt8(ascii: "x"), count: size)
        var configuration = HTTPDNSClient.Configuration()
        configuration.schemeHandlers["app"] = { _ in
            HTTPDNSClient.Response(
                head: HTTPResponse(status: .ok),
                body: .stream(Repeated(chunk: chunk, count: count))
            )
        }
        let client = try await HTTPDNSClient(configuration: configuration)
        let monitor = try Monitor(.with { $0.responseBodyLimit = .bytes(1000) })
        monitor.start(on: client)
        var received = 0
        for try await chunk in try await client.get("app:a").body { received += chunk.count }
        // A gibibyte.
        #expect(received == size * count)
        let record = try #require(monitor.records.first)
        #expect(record.responseBody?.text?.utf8.count == 1000 && record.responseBody?.isTruncated == true)
        #expect(record.responseBody?.length == Int64(received) && record.bodyBytes == Int64(received))
        #expect(monitor.storedBytes < .kibibytes(16))
        try await client.shutdown()
    }

    /// Chunks, and nothing before they are asked for.
    private struct Repeated: AsyncSequence, Sendable {
        typealias Element = [UInt8]
        typealias Failure = any Error

        let chunk: [UInt8]
        let count: Int

        struct AsyncIterator: AsyncIteratorProtocol {
            let chunk: [UInt8]
            var count: Int

            mutating func next() async throws -> [UInt8]? {
                count -= 1
                return count < 0 ? nil : chunk
            }
        }

        func makeAsyncIterator() -> AsyncIterator { AsyncIterator(chunk: chunk, count: count) }
    }

    @Test("The caller gets a chunk before the next one is sent, and the same error")
    func notDelayed() async throws {
        let gate = Gate()
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc"
        let server = try RawServer(.readHead, .sendText(head), .wait(gate), .sendText("def"))
        let monitored = try await MonitoredClient(
            ["one.test": server.port],
            .with { $0.responseBodyLimit = .kibibytes(1) }
        )
        var body = try await monitored.client.get("http://one.test/").body.makeAsyncIterator()
        // The server sends the rest only after this.
        #expect(try await body.next() == Array("abc".utf8))
        gate.open()
        #expect(try await body.next() == Array("def".utf8))
        let error = await #expect(throws: HTTPDNSClientError.self) { try await body.next() }
        #expect(error?.code == .connectionLost)
        let record = try #require(monitored.monitor.records.first)
        #expect(record.outcome == "failed" && record.responseBody?.text == "abcdef")
        #expect(record.responseBody?.isTruncated == true && record.responseBody?.length == nil)
        try await monitored.client.shutdown()
    }

    @Test("A body in a content coding is stored as the caller reads it, after decoding")
    func decoded() async throws {
        let text = String(repeating: "hello ", count: 200)
        let coded = try ContentEncoder.encoded(Array(text.utf8), "gzip")
        let head =
            "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Encoding: gzip\r\nContent-Length: \(coded.count)\r\n\r\n"
        let server = try RawServer(.repeatForever([.readHead, .send(Array(head.utf8) + coded)]))
        let monitored = try await MonitoredClient(
            ["one.test": server.port],
            .with { $0.responseBodyLimit = .kibibytes(64) }
        )
        #expect(await monitored.get("http://one.test/") == Array(text.utf8))
        let request = HTTPDNSClient.Request(url: "http://one.test/") { $0.decodesBody = false }
        #expect(await monitored.call(request) == coded)
        let records = monitored.monitor.records
        try #require(records.count == 2)
        #expect(records[0].responseBody?.text == text && records[0].hops[0].bytes.responseBody == Int64(coded.count))
        #expect(records[0].hops[0].bytes.decodedBody == Int64(text.utf8.count))
        #expect(records[1].responseBody?.withheld == .coded && records[1].responseBody?.text == nil)
        try await monitored.client.shutdown()
    }

    @Test("Request bodies in memory are stored up to their limit, and streams arrive unread")
    func requestBodies() async throws {
        let stubs = HTTPDNSStubs()
        stubs.on(.all).respond(.status(.ok))
        let client = try await HTTPDNSClient(configuration: .stubbed(stubs))
        let monitor = try Monitor(.with { $0.requestBodyLimit = .bytes(4) })
        monitor.start(on: client)
        let (chunks, source) = AsyncStream<[UInt8]>.makeStream()
        source.yield(Array("stream".utf8))
        source.finish()
        for body in [HTTPDNSClient.Request.Body.text("abcdef"), .text("abc"), .none, .stream(chunks)] {
            _ = try await client.execute(HTTPDNSClient.Request(method: .post, url: "http://one.test/", body: body))
        }
        let bodies = monitor.records.map(\.requestBody)
        try #require(bodies.count == 4)
        #expect(bodies[0]?.text == "abcd" && bodies[0]?.isTruncated == true && bodies[0]?.length == 6)
        #expect(bodies[1]?.text == "abc" && bodies[1]?.isTruncated == false)
        #expect(bodies[2] == nil && bodies[3] == nil)
        #expect(stubs.requests.map(\.body).last == Array("stream".utf8))
        try await client.shutdown()
    }

    @Test("A HAR entry has the body that was sent, where an interceptor has changed it", arguments: [0, 1, 2])
    func changed(kind: Int) async throws {
        let bodies: [HTTPDNSClient.Request.Body] = [.text("changed"), .none, .stream(Chunks([[1]]))]
        let server = try RawServer(.serve(""))
        let settings = Monitor.Settings.with { $0.requestBodyLimit = .kibibytes(1) }
        let monitored = try await MonitoredClient(["one.test": server.port], settings) { configuration in
            configuration.networkInterceptors = [Around.before { [body = bodies[kind]] in $0.body = body }]
        }
        var request = HTTPDNSClient.Request(method: .post, url: "http://one.test/", body: .text("original"))
        request.changeOptions { $0.timeouts.total = .seconds(60) }
        await monitored.call(request)
        let record = try #require(monitored.monitor.records.first)
        #expect(record.requestBody?.text == "original")
        let entry = try #require(HTTPArchive.Entry.entries(of: record).first)
        #expect(entry.request.postData?.text == (kind == 0 ? "changed" : nil))
        #expect(record.hops.first?.requestBody?.withheld == (kind == 2 ? .notInMemory : nil))
        try await monitored.client.shutdown()
    }

    @Test("The text parts of a multipart form are redacted, and its binary parts stay")
    func multipart() {
        func form(_ secret: String, _ more: String = "") -> [UInt8] {
            Array(
                """
                --b\r
                Content-Disposition: form-data; name="operations"\r
                Content-Type: application/json\r
                \r
                {"variables":{"password":"\(secret)"}}\r
                --b\r
                Content-Disposition: form-data; name="0"; filename="a.png"\r
                Content-Type: image/png\r
                \(more)\r

                """.utf8
            ) + [0x89, 0x50, 0, 0xff] + Array("\r\n--b--\r\n".utf8)
        }
        func body(_ bytes: [UInt8]) -> HTTPDNSTrafficMonitor.Body {
            BodyText(
                start: bytes,
                length: Int64(bytes.count),
                mediaType: "multipart/form-data; boundary=b",
                isCoded: false
            )
            .body(isWithheld: false, Self.redactor)
        }
        #expect(body(form("canary")).base64 == Base64.text(form("(redacted)")))
        #expect(body(form("canary", "Content-Encoding: gzip\r\n")).withheld == .secretPart)
        let named = String(decoding: form("x").prefix { $0 != 0x89 }, as: UTF8.self).replacing(
            "\"0\"",
            with: "\"token\""
        )
        #expect(body(Array(named.utf8) + [0xff]).withheld == .secretPart)
        #expect(body(Array("no parts".utf8) + [0xff]).withheld == .secretPart)
    }

    @Test("Without limits no body is stored")
    func off() async throws {
        let stubs = HTTPDNSStubs()
        stubs.on(.all).respond(.text("secret text"))
        let client = try await HTTPDNSClient(configuration: .stubbed(stubs))
        let monitor = Monitor()
        monitor.start(on: client)
        let request = HTTPDNSClient.Request(method: .post, url: "http://one.test/", body: .text("abc"))
        _ = try await client.execute(request).body.collect(upTo: .kibibytes(1))
        #expect(monitor.records.map(\.requestBody) == [nil] && monitor.records.map(\.responseBody) == [nil])
        try await client.shutdown()
    }
}
