// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import ServerRig
import Testing

@testable import HTTPDNSTesting

struct RecordingTests {
    private let folder: TemporaryFolder
    private var file: String { folder.path("shop.har") }

    init() throws { folder = try TemporaryFolder() }

    /// Makes requests through a recording, in front of a server that is an answer, and saves it.
    private func run<Value>(
        _ mode: HTTPDNSRecording.Mode,
        _ options: HTTPDNSRecording.Options = .init(),
        server: @escaping @Sendable (HTTPDNSClient.Request) -> HTTPDNSStubs.Answer = { _ in .error(Planned()) },
        _ body: (HTTPDNSClient) async throws -> Value
    ) async throws -> Value {
        let recording = try HTTPDNSRecording(file, mode: mode, options: options)
        var configuration = HTTPDNSClient.Configuration()
        // The order of use is the reverse of the usual one: here the answer replaces the server.
        configuration.innermost = Recorded(recording: recording, server: Answering(server))
        let client = try await HTTPDNSClient(configuration: configuration)
        let value = try await body(client)
        try recording.save()
        try await client.shutdown()
        return value
    }

    private struct Recorded: HTTPDNSClient.Interceptor {
        let recording: HTTPDNSRecording
        let server: Answering

        func intercept(
            _ request: HTTPDNSClient.Request,
            context: HTTPDNSClient.InterceptionContext,
            next: Next
        ) async throws -> HTTPDNSClient.Response {
            try await recording.intercept(request, context: context) { request, context in
                try await server.intercept(request, context: context, next: next)
            }
        }
    }

    private func recordingError(
        _ body: () async throws -> Void
    ) async throws -> HTTPDNSRecording.Error {
        let error = try await #require(throws: HTTPDNSClientError.self) { try await body() }
        #expect(error.code == .interceptorFailed)
        return try #require(error.underlying as? HTTPDNSRecording.Error)
    }

    /// JSON has no bytes.
    @Test("A header field that is not UTF-8 is played back with its bytes")
    func fieldBytes() async throws {
        let bytes = Array("attachment; filename=".utf8) + [0xfc]
        var fields = HTTPFields()
        fields.append(HTTPField(name: .contentDisposition, lenientValue: bytes))
        let answer = HTTPDNSStubs.Answer.text("a", headers: fields)
        func received(_ client: HTTPDNSClient) async throws -> [UInt8]? {
            let response = try await client.get("https://shop.test/")
            return response.headerFields[fields: .contentDisposition].first?.withUnsafeBytesOfValue { Array($0) }
        }
        let recorded = try await run(.record, server: { _ in answer }) { try await received($0) }
        let played = try await run(.playBack) { try await received($0) }
        #expect(recorded == bytes && played == bytes)
    }

    @Test("Status, fields and body of each kind are played back as they were received")
    func playedBack() async throws {
        let binary = (0..<1000).map { UInt8(truncatingIfNeeded: $0) }
        let answers: [String: HTTPDNSStubs.Answer] = [
            "/text": .text("äö\n\"\\ \u{feff}", status: .created, headers: [.eTag: "\"z\""]),
            "/binary": .bytes(binary), "/empty": .status(.noContent), "/none": .text(""),
            "/missing": .status(.init(code: 404, reasonPhrase: "Gone Fishing")),
        ]
        let paths = answers.keys.sorted()
        func responses(_ client: HTTPDNSClient) async throws -> [[String]] {
            var texts: [[String]] = []
            for path in paths {
                let response = try await client.get("https://shop.test\(path)?a=1")
                let fields = response.headerFields.map { "\($0.name.rawName): \($0.value)" }
                let body = try await response.body.collect(upTo: .mebibytes(1))
                texts.append(["\(response.status)", "\(response.version)", "\(body)"] + fields)
            }
            return texts
        }
        let recorded = try await run(
            .record,
            server: { request in
                answers[String(request.url.dropFirst("https://shop.test".count).prefix { $0 != "?" })]
                    ?? .status(.badRequest)
            }
        ) { try await responses($0) }
        #expect(Set(recorded).count == paths.count)
        #expect(try await run(.playBack) { try await responses($0) } == recorded)
        // A text stays readable in the file, and other bytes are in Base64.
        let text = try #require(folder.read("shop.har"))
        #expect(text.contains("äö") && text.contains(Data(binary).base64EncodedString()))
    }

    @Test("Repeated requests get their responses in order, and then the last one")
    func sequence() async throws {
        let numbers = Journal<Int>()
        try await run(
            .record,
            server: { _ in
                numbers.write(0)
                return .text("\(numbers.all.count)")
            }
        ) { client in
            for _ in 1...3 { try await client.get("https://shop.test/a").wholeText() }
            try await client.post("https://shop.test/a", body: .none).wholeText()
        }
        try await run(.playBack) { client in
            let last = try await client.post("https://shop.test/a", body: .none)
            #expect(try await last.wholeText() == "4")
            for expected in ["1", "2", "3", "3", "3"] {
                #expect(try await client.get("https://shop.test/a").wholeText() == expected)
            }
        }
    }

    @Test("A redirect is recorded as its hops and followed again")
    func redirect() async throws {
        func get(_ client: HTTPDNSClient) async throws -> String {
            try await client.get("https://shop.test/old").wholeText()
        }
        let server: @Sendable (HTTPDNSClient.Request) -> HTTPDNSStubs.Answer = { request in
            request.url.hasSuffix("/old") ? .redirect(to: "https://other.test/new") : .text(request.url)
        }
        #expect(try await run(.record, server: server) { try await get($0) } == "https://other.test/new")
        #expect(try await run(.playBack) { try await get($0) } == "https://other.test/new")
        #expect(try HTTPDNSRecording(file, mode: .playBack).count == 2)
    }

    @Test("A request that is not in the file fails with the file, the method and the URL")
    func notRecorded() async throws {
        try await run(.record, server: { _ in .text("x") }) { client in
            _ = try await client.get("https://shop.test/a?b=1").wholeText()
        }
        try await run(.playBack) { client in
            for (method, url) in [
                (HTTPRequest.Method.get, "https://shop.test/b"), (.post, "https://shop.test/a?b=1"),
                (.get, "https://shop.test/a?b=2"), (.get, "https://shop.test/a"), (.get, "http://shop.test/a?b=1"),
            ] {
                let error = try await recordingError {
                    _ = try await client.execute(HTTPDNSClient.Request(method: method, url: url))
                }
                #expect(error.code == .notRecorded && error.file == file)
                #expect(error.description.hasPrefix("\(file): "))
                #expect(error.message.contains("\(method.rawValue) \(url);"), "\(error)")
            }
            // Other spellings of the same URL.
            for url in ["HTTPS://SHOP.test:443/a?b=1", "https://shop.test./a?b=1#c", "https://u:p@shop.test/a?b=1"] {
                #expect(try await client.get(url).wholeText() == "x")
            }
        }
    }

    @Test("Ignored query items are recorded and not compared, matched fields are compared")
    func matching() async throws {
        var options = HTTPDNSRecording.Options()
        options.ignoredQueryItems = ["time"]
        options.matchedFields = [.accept]
        let server: @Sendable (HTTPDNSClient.Request) -> HTTPDNSStubs.Answer = { request in
            .text(request.headerFields[.accept] ?? "none")
        }
        try await run(.record, options, server: server) { client in
            for type in ["text/a", "text/b"] {
                try await client.get("https://shop.test/?a=1&Time=1&b=2", headerFields: [.accept: type]).wholeText()
            }
        }
        #expect(folder.read("shop.har")?.contains("Time=1") == true)
        try await run(.playBack, options) { client in
            for type in ["text/b", "text/a"] {
                let url = "https://shop.test/?a=1&%74ime=99&b=2"
                #expect(try await client.get(url, headerFields: [.accept: type]).wholeText() == type)
            }
            let error = try await recordingError {
                _ = try await client.get("https://shop.test/?a=1&b=2", headerFields: [.accept: "text/c"])
            }
            #expect(error.code == .notRecorded && error.message.contains("Accept"))
        }
    }

    @Test("Excluded fields and query items, and user information, are not on the disk")
    func excluded() async throws {
        var options = HTTPDNSRecording.Options()
        options.excludedFields.insert(try #require(HTTPField.Name("X-Api-Key")))
        options.excludedQueryItems = ["token"]
        func get(_ client: HTTPDNSClient) async throws -> String {
            try await client.get(
                "https://canary-user:canary-password@shop.test/?a=1&Token=canary-1&%74oken=canary-2",
                headerFields: [
                    .authorization: "canary-3", .cookie: "a=canary-4", #require(.init("x-api-key")): "canary-5",
                    .referer: "https://a.test/?token=canary-6&b=kept-1", .accept: "kept-2",
                ]
            )
            .wholeText()
        }
        let recorded = try await run(
            .record,
            options,
            server: { request in
                guard request.url.contains("?a=1") else { return .text(request.url) }
                var fields: HTTPFields = [.setCookie: "b=canary-7", .location: "/next?token=canary-8&c=kept-3"]
                fields[.proxyAuthorization] = "canary-9"
                return .status(.found, headers: fields)
            }
        ) { try await get($0) }
        #expect(recorded == "https://shop.test/next?token=canary-8&c=kept-3")
        let text = try #require(folder.read("shop.har"))
        #expect(!text.replacing(recorded, with: "").contains("canary"))
        for kept in ["kept-1", "kept-2", "kept-3"] { #expect(text.contains(kept)) }
        // The redirect leads to a URL without the token, which is the same request for the recording.
        let playedBack = try await run(.playBack, options) { try await get($0) }
        #expect(playedBack == recorded.replacing("canary-8", with: "(redacted)"))
    }

    @Test("An update records what is missing and sends nothing that is there")
    func update() async throws {
        let sent = Journal<String>()
        let server: @Sendable (HTTPDNSClient.Request) -> HTTPDNSStubs.Answer = { request in
            sent.write(request.url)
            return .text("\(request.url) \(sent.all.count)")
        }
        func get(_ client: HTTPDNSClient, _ names: String...) async throws -> [String] {
            var texts: [String] = []
            for name in names { texts.append(try await client.get("https://shop.test/\(name)").wholeText()) }
            return texts
        }
        // The file is missing.
        let first = try await run(.update, server: server) { try await get($0, "a", "b") }
        let second = try await run(.update, server: server) { try await get($0, "a", "c", "b", "c") }
        #expect(sent.all.map { $0.suffix(1) } == ["a", "b", "c", "c"])
        #expect([second[0], second[2]] == first)
        #expect(try await run(.playBack) { try await get($0, "a", "c", "b", "c") } == second)
        // Nothing was added: the file is left alone.
        let before = try FileManager.default.attributesOfItem(atPath: file)[.systemFileNumber] as? Int
        _ = try await run(.update, server: server) { try await get($0, "a") }
        #expect(try FileManager.default.attributesOfItem(atPath: file)[.systemFileNumber] as? Int == before)
    }

    @Test("A body that was not read to its end is played back so far, and then fails")
    func incomplete() async throws {
        try await run(.record, server: { _ in .stream { Chunks([[1], [2], [3]]) } }) { client in
            var chunks = try await client.get("https://shop.test/").body.makeAsyncIterator()
            #expect(try await [chunks.next(), chunks.next()] == [[1], [2]])
        }
        try await run(.playBack) { client in
            var chunks = try await client.get("https://shop.test/").body.makeAsyncIterator()
            #expect(try await chunks.next() == [1, 2])
            let error = try await recordingError { _ = try await chunks.next() }
            #expect(error.code == .incompleteBody && error.file == file)
        }
    }

    @Test("A body above the limit passes whole and is recorded as incomplete")
    func long() async throws {
        var options = HTTPDNSRecording.Options()
        options.maximumBody = .bytes(4)
        try await run(.record, options, server: { _ in .text("hello") }) { client in
            let text = try await client.get("https://shop.test/").wholeText()
            #expect(text == "hello")
        }
        try await run(.playBack, options) { client in
            var chunks = try await client.get("https://shop.test/").body.makeAsyncIterator()
            #expect(try await chunks.next() == Array("hell".utf8))
            #expect(try await recordingError { _ = try await chunks.next() }.code == .incompleteBody)
        }
    }

    @Test("A request that fails is not recorded")
    func failed() async throws {
        await #expect(throws: HTTPDNSClientError.self) {
            _ = try await run(.record) { try await $0.get("https://shop.test/").wholeText() }
        }
        let recording = try HTTPDNSRecording(file, mode: .update)
        #expect(recording.count == 0)
    }

    /// A broken file, and a part of the error that leads to the position.
    static let malformed: [(String, String)] = [
        ("", "line 1"), ("{\"log\": {\"version\": \"1.2\",\n  oops", "line 2"), ("[]", "is not of type"),
        ("{}", "log is missing"),
        (#"{"log": {"version": "1.2", "creator": {"name": "a", "version": "1"}}}"#, "log.entries is missing"),
        (entry(#""status": "ok""#), "log.entries[0].response.status"),
        (entry(#""status": 600"#), "log.entries[0].response.status"),
        (entry(#""status": 200"#, #""text": "?", "encoding": "base64""#), "log.entries[0].response.content.text"),
        (entry(#""status": 200"#, #""text": "?", "encoding": "rot13""#), "log.entries[0].response.content.text"),
    ]

    private static func entry(_ status: String, _ content: String = #""text": """#) -> String {
        #"""
        {"log": {"version": "1.2", "creator": {"name": "a", "version": "1"}, "entries": [{
          "startedDateTime": "2026-01-01T00:00:00Z", "time": 1, "cache": {}, "timings": {"send": 0, "wait": 1, "receive": 0},
          "request": {"method": "GET", "url": "https://shop.test/", "httpVersion": "h2", "cookies": [], "headers": [],
                      "postData": {"params": [{"name": "password", "value": "canary-params"}], "comment": ""},
                      "queryString": [], "headersSize": -1, "bodySize": 0},
          "response": {\#(status), "statusText": "OK", "httpVersion": "h2", "cookies": [],
                       "headers": [{"name": ":status", "value": "200"}, {"name": "x-a", "value": "b"}],
                       "content": {"size": 0, "mimeType": "text/plain", \#(content)}, "redirectURL": "",
                       "headersSize": -1, "bodySize": -1, "_transferSize": 7}}], "pages": []}}
        """#
    }

    @Test("A broken file is refused with its path and the position", arguments: malformed)
    func broken(text: String, part: String) throws {
        try folder.write(text, to: "shop.har")
        let error = try #require(throws: HTTPDNSRecording.Error.self) { try HTTPDNSRecording(file, mode: .update) }
        #expect(error.code == .malformed && error.file == file)
        #expect(error.message.contains(part), "\(error)")
    }

    @Test("A log of a browser, with members of its own, is played back")
    func browser() async throws {
        try folder.write(Self.entry(#""status": 200"#, #""text": "aGVsbG8=", "encoding": "base64""#), to: "shop.har")
        try await run(.playBack) { client in
            let response = try await client.get("https://shop.test/")
            #expect(response.version == .http2 && response.headerFields.map(\.value) == ["b"])
            #expect(try await response.wholeText() == "hello")
        }
    }

    @Test("An update writes no request body of a browser's log")
    func bodiesOfBrowser() async throws {
        let text = Self.entry(#""status": 200"#).replacing(
            #""postData": {"#,
            with: #""postData": {"mimeType": "text/plain", "text": "canary-text", "#
        )
        try folder.write(text, to: "shop.har")
        try await run(.update, server: { _ in .text("new") }) { client in
            let text = try await client.get("https://shop.test/new").wholeText()
            #expect(text == "new")
        }
        let written = try String(contentsOfFile: file, encoding: .utf8)
        #expect(written.contains("https://shop.test/new") && written.contains("\"https://shop.test/\""))
        #expect(!written.contains("canary"))
    }

    @Test("Secrets are not in a recording, and what is left can be decoded")
    func secrets() async throws {
        struct Reply: Codable, Equatable {
            var accessToken = "canary-1"
            var pin = 1234
            var session = ["id": "canary-2"]
            var maxTokens = 9
            var nextToken = ""
        }
        func get(_ client: HTTPDNSClient, _ secret: String) async throws -> HTTPDNSClient.Response {
            let names = try ["X-Api-Key", "X-Any"].map { try #require(HTTPField.Name($0)) }
            let fields: HTTPFields = [names[0]: secret, names[1]: "Bearer \(secret)"]
            let url = "https://shop.test/token=\(secret)/a?access_token=\(secret)&b=c"
            let body = try HTTPDNSClient.Request.Body.json(["client_secret": secret])
            return try await client.post(url, headerFields: fields, body: body)
        }
        let recorded = try await run(.record, server: { _ in (try? .json(Reply())) ?? .status(.badRequest) }) {
            try await get($0, "canary-0").body.decode(Reply.self)
        }
        #expect(recorded == Reply())
        let text = try #require(folder.read("shop.har"))
        #expect(!text.contains("canary") && text.contains("access_token=(redacted)&b=c"))
        // A secret of another environment.
        let played = try await run(.playBack) { client in
            let response = try await get(client, "other")
            let length = response.headerFields[.contentLength].flatMap { Int($0) }
            let body = try await response.body.collect(upTo: .kibibytes(4))
            #expect(length == nil || length == body.count)
            return try JSONDecoder().decode(Reply.self, from: Data(body))
        }
        let expected = Reply(accessToken: "(redacted)", pin: 0, session: ["id": "(redacted)"])
        #expect(played == expected)
        var options = HTTPDNSRecording.Options()
        options.matchedFields = [try #require(.init("X-Api-Key"))]
        let error = try #require(throws: HTTPDNSRecording.Error.self) {
            try HTTPDNSRecording(file, mode: .record, options: options)
        }
        #expect(error.code == .configuration && error.message.contains("X-Api-Key"))
    }

    @Test("Requests with different bodies get their own responses, in any order")
    func bodies() async throws {
        func post(_ client: HTTPDNSClient, _ body: HTTPDNSClient.Request.Body) async throws -> String {
            try await client.post("https://shop.test/graphql", body: body).wholeText()
        }
        let queries = [#"{"query":"{a}","id":1}"#, #"{"query":"{b}","id":1}"#]
        func json(_ text: String) -> HTTPDNSClient.Request.Body { .text(text) }
        let server: @Sendable (HTTPDNSClient.Request) -> HTTPDNSStubs.Answer = { request in
            let body = request.body.startInMemory(upTo: 100).map { String(decoding: $0, as: UTF8.self) } ?? "stream"
            return .text("to \(body)")
        }
        try await run(.record, server: server) { client in
            for query in queries { _ = try await post(client, json(query)) }
            _ = try await post(client, .multipart([.field("a", "b")]))
        }
        #expect(folder.read("shop.har")?.contains("query") == true, "in the responses")
        try await run(.playBack) { client in
            // The second one has another order of members, and the boundary of the last one is another one.
            let texts = [queries[1], #"{"id": 1, "query": "{a}"}"#, queries[0]]
            var played: [String] = []
            for text in texts { played.append(try await post(client, json(text))) }
            #expect(played == ["to \(queries[1])", "to \(queries[0])", "to \(queries[0])"])
            let form = try await post(client, .multipart([.field("a", "b")]))
            #expect(form.hasPrefix("to --"))
        }
        var options = HTTPDNSRecording.Options()
        options.comparesBodies = false
        let first = try await run(.playBack, options) { try await post($0, json("{}")) }
        #expect(first == "to \(queries[0])")
    }

    @Test("A request with a body that is not recorded is refused with its URL and its secrets replaced")
    func otherBody() async throws {
        _ = try await run(.record, server: { _ in .text("x") }) { client in
            try await client.post("https://shop.test/?token=canary&a=b", body: .text("one")).wholeText()
        }
        try await run(.playBack) { client in
            let error = try await recordingError {
                _ = try await client.post("https://shop.test/?token=canary&a=b", body: .text("two"))
            }
            #expect(error.code == .notRecorded && error.message.contains("comparesBodies"))
            #expect(error.message.contains("POST https://shop.test/?token=(redacted)&a=b with this body;"), "\(error)")
        }
    }

    @Test(
        "Entries of a log that are no responses are skipped and counted, and kept by an update",
        arguments: [
            #""status": 0"#, #""status": 101"#, #""status": 103"#, #""status": -1"#, #""time": null, "status": 200"#,
        ]
    )
    func skipped(member: String) async throws {
        let isTime = member.contains("time")
        var text = Self.entry(isTime ? #""status": 200"# : member)
        if isTime { text = text.replacing(#""time": 1"#, with: #""time": null"#) }
        try folder.write(text, to: "shop.har")
        let recording = try HTTPDNSRecording(file, mode: .playBack)
        #expect(recording.count == 0 && recording.skippedEntries == 1)
        try await run(.update, server: { _ in .text("new") }) { client in
            let text = try await client.get("https://shop.test/").wholeText()
            #expect(text == "new")
        }
        let updated = try HTTPDNSRecording(file, mode: .playBack)
        #expect(updated.count == 1 && updated.skippedEntries == 1)
    }

    @Test("A log without times, sizes and texts that a browser leaves out is played back")
    func sparse() async throws {
        try folder.write(
            #"""
            {"log": {"version": "1.2", "creator": {"name": "a", "version": "1"}, "entries": [{
              "startedDateTime": "2026-01-01T00:00:00Z", "time": 1, "timings": {},
              "request": {"method": "GET", "url": "https://shop.test/", "headers": []},
              "response": {"status": 204, "headers": [], "content": {"size": 0}}}, {
              "time": 1, "timings": {"wait": 1},
              "request": {"method": "GET", "url": "https://shop.test/b", "headers": []},
              "response": {"status": 200, "headers": [{"name": "Content-Length", "value": "7"}], "content": {"size": 7}}}]}}
            """#,
            to: "shop.har"
        )
        try await run(.playBack) { client in
            #expect(try await client.get("https://shop.test/").status == .noContent)
            // It was exported without its body.
            let response = try await client.get("https://shop.test/b")
            let error = try await recordingError { _ = try await response.body.collect(upTo: .kibibytes(1)) }
            #expect(error.code == .incompleteBody && error.message.contains("exported without bodies"))
        }
    }

    @Test("A missing file and contradicting settings are refused, and a file that cannot be written too")
    func refused() async throws {
        var error = try #require(throws: HTTPDNSRecording.Error.self) { try HTTPDNSRecording(file, mode: .playBack) }
        #expect(error.code == .unreadable && error.file == file)
        var options = HTTPDNSRecording.Options()
        options.matchedFields = [.cookie]
        error = try #require(throws: HTTPDNSRecording.Error.self) {
            try HTTPDNSRecording(file, mode: .record, options: options)
        }
        #expect(error.code == .configuration && error.message.contains("Cookie"))
        let recording = try HTTPDNSRecording(folder.path("absent/a.har"), mode: .record)
        error = try #require(throws: HTTPDNSRecording.Error.self) { try recording.save() }
        #expect(error.code == .unwritable)
    }

    @Test("The file is a HAR 1.2 log with the times of the entry")
    func format() async throws {
        let clock = JumpingClock()
        let recording = try HTTPDNSRecording(
            file,
            mode: .record,
            options: .init(),
            clock: clock,
            wallClock: WallClock { 1_767_225_600_123 }
        )
        var configuration = HTTPDNSClient.Configuration()
        let server = HTTPDNSStubs.Answer.json(text: "[]").delayed(by: .milliseconds(250)).lasting(.seconds(1))
        configuration.innermost = Recorded(recording: recording, server: Answering(server.timed(on: clock)))
        let client = try await HTTPDNSClient(configuration: configuration)
        try await client.post("https://shop.test/?a=b+c&d", body: .text("12345")).wholeText()
        try recording.save()
        try await client.shutdown()
        let archive = try JSONDecoder().decode(HTTPArchive.self, from: Data(contentsOf: URL(filePath: file)))
        let entry = try #require(archive.log.entries.first)
        #expect(archive.log.version == "1.2" && entry.startedDateTime == "2026-01-01T00:00:00.123Z")
        #expect(entry.time == 1250 && entry.timings.wait == 250 && entry.timings.receive == 1000)
        #expect(entry.timings.connect == -1 && entry.timings.dns == -1 && entry.serverIPAddress == nil)
        #expect(entry.request.queryString == [.init("a", "b c"), .init("d", "")])
        #expect(entry.request.bodySize == 5 && entry.request.url == "https://shop.test/?a=b+c&d")
        #expect(entry.response.content == .init(size: 2, mimeType: "application/json", text: "[]"))
    }

    @Test("Stubs that were set before are asked first, and their answers are not recorded")
    func behindStubs() async throws {
        let recording = try HTTPDNSRecording(file, mode: .record)
        var configuration = HTTPDNSClient.Configuration()
        configuration.innermost = Answering { $0.url.hasSuffix("/stub") ? .text("stub") : .passingThrough() }
        configuration.use(recording)
        configuration.schemeHandlers = [
            "app": { request in
                HTTPDNSClient.Response(head: HTTPResponse(status: .ok), body: .bytes(Array(request.url.utf8)))
            }
        ]
        let client = try await HTTPDNSClient(configuration: configuration)
        #expect(try await client.get("https://shop.test/stub").wholeText() == "stub")
        #expect(recording.count == 0)
        #expect(try await client.get("app://real").wholeText() == "app://real")
        #expect(recording.count == 1)
        try await client.shutdown()
    }
}
