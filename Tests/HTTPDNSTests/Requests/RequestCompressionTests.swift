// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNSCurl
import HTTPDNSTesting
import ServerRig
import Testing

@testable import HTTPDNS

/// Compressed request bodies.
struct RequestCompressionTests {
    static let codings = [HTTPDNSClient.ContentCoding.gzip, .deflate]

    /// What the wire was given: its bytes and the length it was declared with.
    private func sent(_ request: TransferRequest) async throws -> (bytes: [UInt8], length: Int64?) {
        switch request.body {
        case .none: return ([], nil)
        case .bytes(let bytes): return (bytes, Int64(bytes.count))
        case .stream(let length, let chunks):
            var bytes: [UInt8] = []
            for try await chunk in chunks { bytes += chunk }
            return (bytes, length)
        }
    }

    /// The witness is the client's decoder, which shares no code with the compressor but zlib's other half.
    private func decoded(_ bytes: [UInt8], _ coding: String) async throws -> [UInt8] {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: \(bytes.count)\r\nContent-Encoding: \(coding)\r\n\r\n"
        let server = try RawServer(.readHead, .sendText(head), .send(bytes), .readToEnd)
        let client = try await mappedClient(server.port)
        // Some of these bodies repeat one byte, and would pass for a bomb.
        let request = HTTPDNSClient.Request(url: "http://one.test/") { $0.maximumResponseBody = .mebibytes(16) }
        let body = try await client.execute(request).body.collect(upTo: .mebibytes(16))
        try await client.shutdown()
        return body
    }

    /// Bytes that do not shrink: beyond zlib's window of 32 KiB they repeat themselves.
    private static let noise = (0..<(64 * 1024)).map { _ in UInt8.random(in: .min ... .max) }

    private static func noise(_ count: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + noise.count)
        while bytes.count < count { bytes += noise }
        return Array(bytes.prefix(count))
    }

    private static let bodies: [[UInt8]] = [
        [], [7], Array(repeating: 7, count: 3 << 20), noise(1_500_000),
        Array((0..<50_000).map { "line \($0)\n" }.joined().utf8),
    ]

    @Test(
        "A body in memory is compressed whole, and goes out with its length",
        arguments: bodies,
        codings
    )
    func memory(bytes: [UInt8], coding: HTTPDNSClient.ContentCoding) async throws {
        let rig = try Rig()
        _ = try await rig.client.post("https://one.test/", body: .bytes(bytes).compressed(coding))
        let request = try #require(rig.wire.requests.first)
        guard case .bytes(let compressed) = request.body else { throw Unexpected() }
        #expect(request.headerFields[values: .contentEncoding] == [coding.description])
        #expect(compressed != bytes)
        #expect(compressed.count < 1_600_000, "\(bytes.count) bytes grew to \(compressed.count)")
        #expect(try await decoded(compressed, coding.description) == bytes)
    }

    @Test("The magic numbers are those of the formats: RFC 1952, RFC 1950")
    func formats() async throws {
        for (coding, magic) in [(HTTPDNSClient.ContentCoding.gzip, [0x1f, 0x8b, 8]), (.deflate, [0x78])]
            as [(_, [UInt8])]
        {
            let rig = try Rig()
            _ = try await rig.client.post("https://one.test/", body: .text("hello").compressed(coding))
            let bytes = try await sent(#require(rig.wire.requests.first)).bytes
            #expect(bytes.starts(with: magic), "\(coding): \(bytes)")
        }
    }

    /// Their length is unknown.
    @Test("Files, multipart forms and streams are compressed as they are read", arguments: codings)
    func pieces(coding: HTTPDNSClient.ContentCoding) async throws {
        let bytes = Self.noise(700_001)
        let path = NSTemporaryDirectory() + "httpdns-compressed-\(UUID().uuidString)"
        try Data(bytes).write(to: URL(filePath: path))
        defer { unlink(path) }
        let parts = HTTPDNSClient.Request.Body.multipart(
            [.file("f", path: path, fileName: "f.bin"), .field("a", "b")],
            boundary: "b"
        )
        let head = "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"f.bin\"\r\n"
        let expected =
            Array("\(head)Content-Type: application/octet-stream\r\n\r\n".utf8) + bytes
            + Array("\r\n--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nb\r\n--b--\r\n".utf8)
        let halves = Chunks([Array(bytes.prefix(11)), [], Array(bytes.dropFirst(11))])
        for (body, source, isReplayable) in [
            (.file(path), bytes, true), (parts, expected, true), (.stream(length: 700_001, halves), bytes, false),
            (.stream(halves), bytes, false), (.stream(length: 0, Chunks([])), [], false),
        ] as [(HTTPDNSClient.Request.Body, [UInt8], Bool)] {
            let body = body.compressed(coding)
            #expect(body.isReplayable == isReplayable)
            for number in 0..<(isReplayable ? 2 : 1) {
                let rig = try Rig()
                _ = try await rig.client.post("https://one.test/", body: body)
                let request = try #require(rig.wire.requests.first)
                let (compressed, length) = try await sent(request)
                #expect(length == nil && request.headerFields[.contentEncoding] == coding.description, "\(number)")
                #expect(try await decoded(compressed, coding.description) == source)
            }
        }
    }

    @Test("A compressed body keeps its content type, and no body gets no coding")
    func otherFields() async throws {
        let rig = try Rig()
        _ = try await rig.client.post("https://one.test/", body: .form(["q": "a b"]).compressed())
        _ = try await rig.client.post("https://one.test/", body: HTTPDNSClient.Request.Body.none.compressed())
        let requests = rig.wire.requests
        #expect(requests[0].headerFields[.contentType] == "application/x-www-form-urlencoded")
        #expect(try await decoded(sent(requests[0]).bytes, "gzip") == Array("q=a+b".utf8))
        guard case .none = requests[1].body else { throw Unexpected() }
        #expect(!requests[1].headerFields.contains(.contentEncoding))
    }

    /// The refusal comes before anything is asked.
    @Test("A request's or default Content-Encoding is refused for a compressed body", arguments: [true, false])
    func ownField(isOwn: Bool) async throws {
        let rig = try Rig {
            if !isOwn { $0.headers = HTTPDNSClient.Configuration.DefaultHeaders([.contentEncoding: "br"]) }
        }
        let fields: HTTPFields = isOwn ? [.contentEncoding: "br"] : [:]
        let error = await clientError {
            try await rig.client.post("https://one.test/", headerFields: fields, body: .text("x").compressed())
        }
        #expect(error?.code == .invalidRequest && error?.phase == .request && error?.hint?.isEmpty == false)
        #expect(error?.message.contains("Content-Encoding") == true)
        #expect(rig.wire.requests.isEmpty && rig.provider.queries.isEmpty)
        // Without the client's compressing the caller compresses, or nobody does.
        _ = try await rig.client.post("https://one.test/", headerFields: fields, body: .text("x"))
        #expect(rig.wire.requests.first?.headerFields[.contentEncoding] == "br")
    }

    @Test("A stream fails that throws or misses its declared length")
    func brokenStreams() async throws {
        for (length, words) in [(4, "longer than the 4 bytes"), (6, "ended after 5 of the 6 bytes")]
            as [(Int64, String)]
        {
            let rig = try Rig()
            let body = HTTPDNSClient.Request.Body.stream(length: length, Chunks([[1, 2, 3], [4, 5]])).compressed()
            _ = try await rig.client.post("https://one.test/", body: body)
            let request = try #require(rig.wire.requests.first)
            let fault = await #expect(throws: DeclaredLengthMissed.self) { try await sent(request) }
            #expect(fault?.description.contains(words) == true, "\(fault as Any)")
        }
        // On a real wire it is the typed error, and the server does not see the end of a body.
        let begun = Gate()
        let server = try RawServer(.readHead, .open(begun), .readToEnd)
        let client = try await mappedClient(server.port)
        // The stream breaks when the server has the head.
        let source = AsyncThrowingStream<[UInt8], any Error>(unfolding: {
            await begun.passage()
            throw Unexpected()
        })
        let body = HTTPDNSClient.Request.Body.stream(source).compressed()
        let error = await clientError { try await client.post("http://one.test/", body: body) }
        #expect(error?.code == .requestBodyFailed && error?.message.contains("Unexpected") == true, "\(error as Any)")
        #expect(error?.underlying is Unexpected)
        try await client.shutdown()
        #expect(server.connections.first?.text.hasSuffix("0\r\n\r\n") == false)
    }

    @Test("A compressed stream is read only as far as its bytes are asked for")
    func bounded() async throws {
        let read = Lock(0)
        let source = AsyncStream<[UInt8]>(unfolding: {
            read.withLock { $0 += Self.noise.count }
            return Self.noise
        })
        let rig = try Rig()
        _ = try await rig.client.post("https://one.test/", body: .stream(source).compressed())
        guard case .stream(nil, let chunks) = try #require(rig.wire.requests.first).body else { throw Unexpected() }
        // An endless stream: who gathers it first never gets here.
        var given = 0
        for try await chunk in chunks {
            given += chunk.count
            #expect(chunk.count <= 128 * 1024)
            #expect(read.withLock { $0 } - given <= 256 * 1024, "\(read.withLock { $0 }) read, \(given) given")
            if given > 16 << 20 { break }
        }
    }

    /// Redirects and retries send it again. A 303 leaves body and coding behind.
    @Test("A compressed body is sent again where a plain one could be")
    func again() async throws {
        let wire = ScriptedWire(
            .status(.serviceUnavailable),
            .redirect(307, to: "https://two.test/again"),
            .redirect(303, to: "https://two.test/seen")
        )
        var retries = HTTPDNSClient.RetryPolicy()
        retries.delay = .zero
        let rig = try Rig(wire: wire) { [retries] in $0.retries = retries }
        let text = Array("sent three times".utf8)
        let response = try await rig.client.execute(
            HTTPDNSClient.Request(method: .put, url: "https://one.test/", body: .bytes(text).compressed())
        )
        #expect(response.status == .ok)
        let requests = rig.wire.requests
        #expect(requests.map(\.method) == [.put, .put, .put, .get])
        #expect(requests.map { $0.headerFields[.contentEncoding] } == ["gzip", "gzip", "gzip", nil])
        for request in requests.prefix(3) { #expect(try await decoded(sent(request).bytes, "gzip") == text) }
        guard case .none = requests[3].body else { throw Unexpected() }

        let spent = ScriptedWire { request, _ in
            if case .stream(_, let chunks) = request.body { for try await _ in chunks {} }
            return .redirect(307, to: "/again", from: request)
        }
        let other = try Rig(wire: spent)
        let error = await clientError {
            try await other.client.post("https://one.test/", body: .stream(Chunks([text])).compressed())
        }
        #expect(error?.code == .redirectRefused && other.wire.requests.count == 1)
    }

    @Test("The loop's thread neither reads nor compresses a streamed body")
    func offTheLoop() async throws {
        // The end of a chunked body looks like that of a head.
        let server = try RawServer(.readHead, .readHead, .respond(), .readToEnd)
        let client = try await mappedClient(server.port)
        let names = Lock<Set<String>>([])
        let source = AsyncStream<[UInt8]>(unfolding: {
            names.withLock { names in
                guard names.isEmpty else { return nil }
                names.insert(ProcessState.threadName())
                return [1, 2, 3]
            }
        })
        let status = try await client.post("http://one.test/", body: .stream(source).compressed()).status
        #expect(status == .ok)
        try await client.shutdown()
        #expect(names.withLock { $0 }.isDisjoint(with: ["httpdns-loop"]) && names.withLock { $0.count } == 1)
    }

    /// It ends as canceled.
    @Test("A call that is canceled while its body is compressed sends nothing")
    func canceled() async throws {
        let rig = try Rig()
        let body = HTTPDNSClient.Request.Body.bytes(Self.noise(8 << 20)).compressed()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await rig.client.post("https://map.test/", body: body)
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(rig.wire.requests.isEmpty)
    }

    private struct Unexpected: Error {}
}
