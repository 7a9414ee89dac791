// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import HTTPDNSCurl
import Testing

struct RequestBodyTests {
    /// What the wire was given for `body`: its bytes, the length it was declared with, the content type.
    private func sent(
        _ body: HTTPDNSClient.Request.Body,
        _ fields: HTTPFields = [:]
    ) async throws -> (bytes: [UInt8], length: Int64?, type: String?) {
        let rig = try Rig()
        _ = try await rig.client.post("https://one.test/", headerFields: fields, body: body)
        let request = try #require(rig.wire.requests.first)
        let type = request.headerFields[.contentType]
        switch request.body {
        case .none: return ([], nil, type)
        case .bytes(let bytes): return (bytes, Int64(bytes.count), type)
        case .stream(let length, let chunks):
            var bytes: [UInt8] = []
            for try await chunk in chunks { bytes += chunk }
            return (bytes, length, type)
        }
    }

    private func temporaryFile(_ bytes: [UInt8]) throws -> String {
        let path = NSTemporaryDirectory() + "httpdns-body-\(UUID().uuidString)"
        try Data(bytes).write(to: URL(filePath: path))
        return path
    }

    @Test(
        "A form is encoded as browsers encode it",
        arguments: [
            ([:], ""), (["a": "1", "a": "2"], "a=1&a=2"), (["q": "a b&c=d"], "q=a+b%26c%3Dd"),
            (["ü": "*-._~"], "%C3%BC=*-._%7E"), (["n": ""], "n="), (["x": "\r\n"], "x=%0D%0A"),
        ] as [(KeyValuePairs<String, String>, String)]
    )
    func form(fields: KeyValuePairs<String, String>, text: String) async throws {
        let (bytes, length, type) = try await sent(.form(fields))
        #expect(String(decoding: bytes, as: UTF8.self) == text && length == Int64(text.utf8.count))
        #expect(type == "application/x-www-form-urlencoded")
    }

    private struct Charge: Codable, Equatable { var amount: Int }

    @Test("JSON brings its content type, which a request's own field replaces")
    func json() async throws {
        let (bytes, _, type) = try await sent(.json(Charge(amount: 100)))
        #expect(String(decoding: bytes, as: UTF8.self) == #"{"amount":100}"# && type == "application/json")
        #expect(try await sent(.json([1]), [.contentType: "application/vnd.x+json"]).type == "application/vnd.x+json")

        let rig = try Rig(
            wire: ScriptedWire { request, _ in
                .ok(from: request, chunks: [Array(#"{"amount""#.utf8), Array(":7}".utf8)])
            }
        )
        let response = try await rig.client.post("https://one.test/", json: Charge(amount: 1))
        #expect(rig.wire.requests.first?.headerFields[.contentType] == "application/json")
        #expect(try await response.body.decode(Charge.self) == Charge(amount: 7))
    }

    @Test("Each verb sends its method, the header fields and the body")
    func verbs() async throws {
        let rig = try Rig()
        let (client, url, fields) = (rig.client, "https://one.test/x", [.accept: "a/b"] as HTTPFields)
        _ = try await client.get(url, headerFields: fields) { $0.timeouts.total = .seconds(60) }
        _ = try await client.head(url, headerFields: fields) { $0.timeouts.total = .seconds(60) }
        _ = try await client.delete(url, headerFields: fields) { $0.timeouts.total = .seconds(60) }
        _ = try await client.post(url, headerFields: fields, body: .text("a")) { $0.timeouts.total = .seconds(60) }
        _ = try await client.put(url, headerFields: fields, body: .text("a")) { $0.timeouts.total = .seconds(60) }
        _ = try await client.patch(url, headerFields: fields, body: .text("a")) { $0.timeouts.total = .seconds(60) }
        _ = try await client.post(url, headerFields: fields, json: [1]) { $0.timeouts.total = .seconds(60) }
        _ = try await client.put(url, headerFields: fields, json: [1]) { $0.timeouts.total = .seconds(60) }
        _ = try await client.patch(url, headerFields: fields, json: [1]) { $0.timeouts.total = .seconds(60) }
        let sent = rig.wire.requests
        #expect(sent.map(\.method) == [.get, .head, .delete, .post, .put, .patch, .post, .put, .patch])
        #expect(sent.allSatisfy { $0.headerFields[.accept] == "a/b" && $0.limits.deadline != nil })
        let types = sent.map { $0.headerFields[.contentType] }
        #expect(types.prefix(3).allSatisfy { $0 == nil } && types.suffix(3).allSatisfy { $0 == "application/json" })
    }

    @Test("Invalid JSON is a typed error with its cause, in both directions")
    func noJSON() async throws {
        let encoding = await clientError { try HTTPDNSClient.Request.Body.json(Double.infinity) }
        #expect(encoding?.code == .invalidRequest && encoding?.underlying is EncodingError)
        let rig = try Rig()
        let response = try await rig.client.get("https://one.test/")
        let decoding = await clientError { try await response.body.decode(Charge.self) }
        #expect(decoding?.code == .decodingFailed && decoding?.underlying is DecodingError)
        #expect(decoding?.host == "one.test" && decoding?.message.contains("hello") == false)
    }

    /// No name ends its line.
    @Test("A multipart form has each part once, in order, with a known length")
    func multipart() async throws {
        let path = try temporaryFile(Array("file's text".utf8))
        defer { unlink(path) }
        let body = HTTPDNSClient.Request.Body.multipart([
            .field("na\"me", "va\r\nlue"), .bytes("b", fileName: "x\r\ny.bin", contentType: "a/b\r\nX: 1", [0, 255]),
            .file("f", path: path, fileName: "f.txt", contentType: "text/plain"),
            .field("j", "{}", contentType: "application/json"),
        ])
        #expect(body.isReplayable)
        for _ in 0..<2 {
            let (bytes, length, type) = try await sent(body)
            let boundary = try #require(type?.split(separator: "=").last)
            #expect(type?.hasPrefix("multipart/form-data; boundary=httpdns-") == true && boundary.count == 40)
            let expected =
                Array("--\(boundary)\r\nContent-Disposition: form-data; name=\"na%22me\"\r\n\r\nva\r\nlue\r\n".utf8)
                + Array(
                    "--\(boundary)\r\nContent-Disposition: form-data; name=\"b\"; filename=\"x%0D%0Ay.bin\"\r\n".utf8
                )
                + Array("Content-Type: a/bX: 1\r\n\r\n".utf8) + [0, 255]
                + Array("\r\n--\(boundary)\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f.txt\"\r\n".utf8)
                + Array("Content-Type: text/plain\r\n\r\nfile's text\r\n--\(boundary)\r\n".utf8)
                + Array("Content-Disposition: form-data; name=\"j\"\r\nContent-Type: application/json\r\n\r\n{}".utf8)
                + Array("\r\n--\(boundary)--\r\n".utf8)
            #expect(bytes == expected && length == Int64(expected.count))
        }
    }

    @Test("Streams may have other elements than arrays, and may have no errors")
    func slices() async throws {
        let slices = AsyncStream<ArraySlice<UInt8>> { feed in
            feed.yield([9, 1, 2][1...])
            feed.yield([3])
            feed.finish()
        }
        #expect(try await sent(.stream(length: 3, slices)).bytes == [1, 2, 3])
    }

    /// One that grows is not followed.
    @Test("A file has the length that it has when sent, and a cut one fails")
    func file() async throws {
        let bytes = (0..<600_000).map { UInt8(truncatingIfNeeded: $0 / 7) }
        let path = try temporaryFile(bytes)
        defer { unlink(path) }
        let body = HTTPDNSClient.Request.Body.file(path)
        let whole = try await sent(body)
        #expect(whole.bytes == bytes && whole.length == 600_000 && whole.type == nil && body.isReplayable)

        let rig = try Rig()
        for (size, isWhole) in [(off_t(700_000), true), (10, false)] {
            try Data(bytes).write(to: URL(filePath: path))
            _ = try await rig.client.post("https://one.test/", body: body)
            let request = try #require(rig.wire.requests.last)
            guard case .stream(600_000, let chunks) = request.body else { throw CancellationError() }
            // In its place: another file under the same name would not be the one that is open.
            truncate(path, size)
            var count = 0
            var fault: FileFault?
            do {
                for try await chunk in chunks { count += chunk.count }
            } catch {
                fault = error as? FileFault
            }
            #expect((count == 600_000) == isWhole && (fault == nil) == isWhole)
        }
    }

    @Test(
        "A path without a readable regular file fails before anything is sent",
        // The kernel's files say that they are empty, whatever is in them.
        arguments: ["/nonexistent/body", "/tmp", "/dev/zero", "", "/proc/version"]
    )
    func noFile(path: String) async throws {
        let rig = try Rig()
        let error = await clientError { try await rig.client.post("https://one.test/", body: .file(path)) }
        #expect(error?.code == .requestBodyFailed && error?.phase == .request && error?.hint != nil)
        #expect(error?.requestMayHaveBeenSent == false && rig.wire.requests.isEmpty)
        #expect(path.isEmpty || error?.message.contains(path) == true)
    }

    @Test("A body that reports its progress is a stream of known length, also in memory")
    func reported() async throws {
        let bytes = [UInt8](repeating: 7, count: 200_000)
        let body = HTTPDNSClient.Request.Body.bytes(bytes).reportingProgress { _ in }
        #expect(body.isReplayable)
        let whole = try await sent(body)
        #expect(whole.bytes == bytes && whole.length == 200_000)
    }
}
