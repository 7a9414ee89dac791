// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSCurl
import ServerRig
import Testing

struct ResponseBodyTests {
    private func body(_ chunks: [[UInt8]], endingWith failure: TransferFailure? = nil) async throws
        -> HTTPDNSClient.Response.Body
    {
        let rig = try Rig(wire: ScriptedWire { request, _ in .ok(from: request, chunks: chunks, endingWith: failure) })
        return try await rig.client.get("https://one.test/").body
    }

    @Test("Chunks come in order, and collect puts them together")
    func chunks() async throws {
        var seen: [[UInt8]] = []
        for try await chunk in try await body([[1, 2], [3]]) { seen.append(chunk) }
        #expect(seen == [[1, 2], [3]])
        #expect(try await body([[1, 2], [3]]).collect(upTo: .bytes(3)) == [1, 2, 3])
        #expect(try await body([]).collect(upTo: .bytes(0)) == [])
    }

    @Test("A long body from the network is collected into an array of its length")
    func collectedOnce() async throws {
        let bytes = (0..<3 << 20).map { UInt8(truncatingIfNeeded: $0 / 251) }
        let server = try RawServer(
            .readHead,
            .sendText("HTTP/1.1 200 OK\r\nContent-Length: \(bytes.count)\r\n\r\n"),
            .send(bytes)
        )
        let client = try await mappedClient(server.port)
        let body = try await client.get("http://one.test/").body.collect(upTo: .mebibytes(16))
        // An array that grows by chunks has room for twice as much, or has been copied often.
        #expect(body == bytes && body.capacity < bytes.count + 64 * 1024)
        try await client.shutdown()
    }

    @Test("A long body of an observed call is collected as others, and counted", arguments: [false, true])
    func collectedAndObserved(isCut: Bool) async throws {
        let bytes = (0..<3 << 20).map { UInt8(truncatingIfNeeded: $0 / 251) }
        let sent = isCut ? Array(bytes.prefix(1 << 20)) : bytes
        let server = try RawServer(
            .readHead,
            .sendText("HTTP/1.1 200 OK\r\nContent-Length: \(bytes.count)\r\n\r\n"),
            .send(sent)
        )
        let (client, records) = (try await mappedClient(server.port), Journal<HTTPDNSClient.CallRecord>())
        client.recordCalls { records.write($0) }
        let body = try? await client.get("http://one.test/").body.collect(upTo: .mebibytes(16))
        #expect(body.map { $0 == bytes && $0.capacity < bytes.count + 64 * 1024 } ?? isCut)
        let record = try #require(records.all.first)
        #expect(record.bodyBytes == sent.count && record.isBodyComplete == !isCut && records.all.count == 1)
        try await client.shutdown()
    }

    @Test("The collect function stops at its limit", arguments: [[[1, 2, 3, 4]], [[1, 2], [3, 4]]] as [[[UInt8]]])
    func limit(chunks: [[UInt8]]) async throws {
        let body = try await body(chunks)
        let error = await clientError { try await body.collect(upTo: .bytes(3)) }
        #expect(error?.code == .responseTooLarge && error?.phase == .body)
        #expect(error?.host == "one.test" && error?.requestMayHaveBeenSent == true)
    }

    @Test("A second reader gets an error, whatever the body is made of")
    func readTwice() async throws {
        for body in [try await body([[1]]), .bytes([1]), .stream(Chunks([[1]]))] {
            #expect(try await body.collect(upTo: .bytes(9)) == [1])
            #expect(await clientError { try await body.collect(upTo: .bytes(9)) }?.code == .bodyConsumedTwice)
        }
    }

    @Test("An error while reading is the client's, with host and address")
    func brokenBody() async throws {
        var failure = TransferFailure(code: .connectionLost, phase: .body, message: "the connection broke")
        failure.endpoint = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 203, 0, 113, 1), port: 443)
        let broken = try await body([[1]], endingWith: failure)
        var iterator = broken.makeAsyncIterator()
        #expect(try await iterator.next() == [1])
        var caught: HTTPDNSClientError?
        do { _ = try await iterator.next() } catch { caught = error as? HTTPDNSClientError }
        #expect(caught?.code == .connectionLost && caught?.phase == .body)
        #expect(caught?.attempts.count == 1 && caught?.requestMayHaveBeenSent == true)
        #expect(try await iterator.next() == nil)
    }

    @Test("A request for a range asks for no coding, and its body comes as it is sent", arguments: [nil, "bytes=2-4"])
    func part(range: String?) async throws {
        let wire = ScriptedWire { request, _ in
            let fields: HTTPFields = [.contentLength: "3", .contentEncoding: "gzip"]
            return .ok(from: request, status: .partialContent, fields: fields, chunks: [[1, 2, 3]])
        }
        let rig = try Rig(wire: wire)
        let fields: HTTPFields = range.map { [.accept: "x/y", .range: $0] } ?? [.accept: "x/y"]
        let body = try await rig.client.get("https://one.test/", headerFields: fields).body
        #expect(rig.wire.requests.first?.decodes == (range == nil))
        #expect(body.declaredLength == (range == nil ? nil : 3))
    }

    @Test("An interceptor's stream may throw its own error, which is wrapped")
    func foreignStream() async throws {
        struct Broken: Error {}
        let body = HTTPDNSClient.Response.Body.stream(Chunks([[1]], endingWith: Broken()))
        let error = await clientError { try await body.collect(upTo: .bytes(9)) }
        #expect(error?.code == .interceptorFailed && error?.underlying is Broken)
        let canceled = HTTPDNSClient.Response.Body.stream(Chunks([], endingWith: CancellationError()))
        await #expect(throws: CancellationError.self) { try await canceled.collect(upTo: .bytes(9)) }
    }
}
