// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import ServerRig
import Testing

@testable import HTTPDNSTesting

@Suite("Real responses as answers", .enabled(if: ServerRig.isAvailable([.nginx])))
struct PassingThroughTests {
    /// Runs `body` with a client whose `one.test` is nginx and whose requests pass one answer.
    private func withOrigin<Value>(
        _ answer: HTTPDNSStubs.Answer,
        _ body: (HTTPDNSClient, ServerRig, Answering) async throws -> Value
    ) async throws -> Value {
        let rig = try await ServerRig.shared()
        let answering = Answering(answer)
        let client = try await answeringClient(answering, port: rig.httpPort)
        let value = try await body(client, rig, answering)
        try await client.shutdown()
        return value
    }

    @Test("The JSON of a real response is fetched once and one member is changed")
    func patchedJSON() async throws {
        let answer = try HTTPDNSStubs.Answer.passingThrough(
            mergingJSON: #"{"host": "changed", "tls": null, "new": [1]}"#
        )
        try await withOrigin(answer) { client, rig, answering in
            let mark = rig.accessLogMark()
            let url = "http://one.test:\(rig.httpPort)/echo?patched-json"
            let response = try await client.get(url)
            let body = try await response.body.collect(upTo: .mebibytes(1))
            let value = try #require(try JSONSerialization.jsonObject(with: Data(body)) as? [String: Any])
            #expect(value["host"] as? String == "changed" && value["new"] as? [Int] == [1] && value["tls"] == nil)
            #expect(value["target"] as? String == "/echo?patched-json" && value["address"] as? String == "127.0.0.2")
            #expect(response.headerFields[.contentType] == "application/json")
            #expect(response.status == .ok && response.body.declaredLength == Int64(body.count))
            // The request has passed the answer once, and reached the server once.
            #expect(answering.requests.all.count == 1)
            let lines = try await rig.awaitAccessLog(since: mark) { $0.target == "/echo?patched-json" }
            #expect(lines.count == 1)
        }
    }

    @Test("The length of a patched JSON is that of the new body")
    func patchedLength() async throws {
        let answer = try HTTPDNSStubs.Answer.passingThrough(mergingJSON: #"{"a": {"b": 12345}}"#)
        try await withOrigin(answer) { client, rig, _ in
            let path = rig.storedFile("patched.json")
            let json = Data(#"{"a": {"b": 1, "c": [2.5, null]}, "d": "x/y"}"#.utf8)
            #expect(FileManager.default.createFile(atPath: path, contents: json))
            defer { try? FileManager.default.removeItem(atPath: path) }
            let response = try await client.get("http://one.test:\(rig.httpPort)/stored/patched.json")
            let body = try await response.wholeText()
            #expect(body == #"{"a":{"b":12345,"c":[2.5,null]},"d":"x/y"}"#)
            #expect(response.headerFields[.contentLength] == "\(body.utf8.count)")
        }
    }

    @Test("Status, fields and bytes of a real response can be changed")
    func patched() async throws {
        let answer = HTTPDNSStubs.Answer.passingThrough { response in
            response.head.status = .serviceUnavailable
            response.head.headerFields[.server] = "changed"
            response.changeBody { _ in .bytes(Array("down".utf8)) }
        }
        try await withOrigin(answer) { client, rig, _ in
            let response = try await client.get("http://one.test:\(rig.httpPort)/health")
            #expect(response.status == .serviceUnavailable && response.headerFields[.server] == "changed")
            #expect(response.headerFields[.contentLength] == "4")
            #expect(try await response.wholeText() == "down")
        }
    }

    @Test("A real response without a patch stays as it is, and its exchange is the caller's")
    func unchanged() async throws {
        try await withOrigin(.passingThrough()) { client, rig, _ in
            let response = try await client.get("http://one.test:\(rig.httpPort)/health")
            #expect(try await response.wholeText() == "127.0.0.2\n")
            #expect(response.exchanges.map(\.remote.port) == [rig.httpPort])
        }
    }

    @Test("A body that is no JSON fails the call, and such a patch is refused before")
    func noJSON() async throws {
        let refused = try #require(throws: HTTPDNSStubs.AnswerError.self) {
            try HTTPDNSStubs.Answer.passingThrough(mergingJSON: "{")
        }
        #expect(refused.code == .invalidJSON)
        try await withOrigin(.passingThrough(mergingJSON: "{}")) { client, rig, _ in
            let error = try await #require(throws: HTTPDNSClientError.self) {
                try await client.get("http://one.test:\(rig.httpPort)/health")
            }
            #expect((error.underlying as? HTTPDNSStubs.AnswerError)?.code == .invalidJSON)
        }
    }

    /// What `curl` has received, byte by byte, is answered as the server answered.
    @Test(
        "A captured response of nginx is replayed with its status, fields and bytes",
        arguments: ["/health", "/bytes?count=40000", "/trailer", "/status/404", "/empty", "/big-header?bytes=3000"]
    )
    func captured(target: String) async throws {
        let rig = try await ServerRig.shared()
        let folder = try TemporaryFolder()
        let path = folder.path("captured.http")
        let address = "http://127.0.0.2:\(rig.httpPort)\(target)"
        let result = try await Command("curl", ["--silent", "--include", "--raw", "--output", path, address]).run()
        #expect(result.status == 0, "\(result)")

        let client = try await answeringClient(nil, port: rig.httpPort)
        let real = try await client.get("http://one.test:\(rig.httpPort)\(target)")
        let realBody = try await real.body.collect(upTo: .mebibytes(1))
        try await client.shutdown()
        try await withAnswer(.message(file: path)) { client in
            let replayed = try await client.get("https://shop.test/")
            #expect(replayed.status == real.status && replayed.version == .http11)
            var (fields, realFields) = (replayed.headerFields, real.headerFields)
            // The times of both differ.
            for name in [HTTPField.Name.date] { (fields[name], realFields[name]) = (nil, nil) }
            #expect(fields == realFields)
            #expect(try await replayed.body.collect(upTo: .mebibytes(1)) == realBody)
        }
    }
}

@Suite(
    "Transfers of another client as answers",
    .enabled(if: ServerRig.isAvailable([.nginx]))
)
struct PipedAnswerTests {
    /// Noise, which repeats itself at a length that no chunk has.
    private static let noise = (0..<65_521).map { _ in UInt8.random(in: .min ... .max) }

    private func withPipe(_ body: (HTTPDNSClient, ServerRig) async throws -> Void) async throws {
        let rig = try await ServerRig.shared()
        let origin = try await answeringClient(nil, port: rig.httpPort)
        let port = rig.httpPort
        let answer = HTTPDNSStubs.Answer.custom { request in
            let path = request.url.drop { $0 != "#" }.dropFirst()
            return try await origin.get("http://one.test:\(port)\(path)")
        }
        try await withAnswer(answer) { try await body($0, rig) }
        try await origin.shutdown()
    }

    // Other suites in the process would be counted as well.
    @Test(
        "A transfer of 100 MB passes through an answer unchanged, in flat memory",
        .enabled("needs its process for itself: HTTPDNS_TEST_ALONE=1") { ServerRig.hasProcessForItself }
    )
    func large() async throws {
        try await withPipe { client, rig in
            let length = 100_000_000
            let path = rig.storedFile("piped")
            #expect(FileManager.default.createFile(atPath: path, contents: nil))
            defer { try? FileManager.default.removeItem(atPath: path) }
            let file = try FileHandle(forWritingTo: URL(filePath: path))
            var written = 0
            while written < length {
                try file.write(contentsOf: Self.noise.prefix(length - written))
                written += min(Self.noise.count, length - written)
            }
            try file.close()

            // The first transfer makes what the process keeps.
            try await client.get("https://shop.test/#/bytes?count=1000000").wholeText()
            let before = try ProcessState.residentBytes()
            let response = try await client.get("https://shop.test/#/stored/piped")
            #expect(response.body.declaredLength == Int64(length))
            var (received, isEqual, peak) = (0, true, before)
            for try await chunk in response.body {
                var rest = chunk[...]
                while !rest.isEmpty {
                    let expected = Self.noise[(received % Self.noise.count)...].prefix(rest.count)
                    isEqual = isEqual && rest.starts(with: expected)
                    rest = rest.dropFirst(expected.count)
                    received += expected.count
                }
                peak = max(peak, try ProcessState.residentBytes())
            }
            #expect(received == length && isEqual)
            #expect(peak - before < 16 * 1024 * 1024, "\((peak - before) / 1024) KiB")
        }
    }

    @Test("An error of the piped transfer reaches the reader, after the bytes before it")
    func error() async throws {
        try await withPipe { client, _ in
            var chunks = try await client.get("https://shop.test/#/truncated").body.makeAsyncIterator()
            #expect(try await chunks.next() == Array("short".utf8))
            let error = try await #require(throws: HTTPDNSClientError.self) { try await chunks.next() }
            #expect(error.code == .connectionLost && error.host == "one.test")
        }
    }

    @Test("A caller that cancels ends the piped transfer")
    func canceled() async throws {
        try await withPipe { client, rig in
            let mark = rig.accessLogMark()
            let hasBegun = Gate()
            let call = Task {
                let response = try await client.get("https://shop.test/#/bytes?count=100000000")
                hasBegun.open()
                for try await _ in response.body {}
            }
            await hasBegun.passage()
            call.cancel()
            await #expect(throws: CancellationError.self) { try await call.value }
            let line = try await rig.awaitAccessLog(since: mark) { $0.target == "/bytes?count=100000000" }[0]
            #expect(line.bodySent < 100_000_000)
        }
    }
}
