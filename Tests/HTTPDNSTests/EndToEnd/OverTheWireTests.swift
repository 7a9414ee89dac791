// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSCore
import HTTPDNSCurl
import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Testing

struct OverTheWireTests {
    @Test("A mapped name is reached under its own name, and the connection is kept")
    func mapped() async throws {
        let server = try RawServer(.serve("hello"))
        let client = try await mappedClient(server.port)
        var destinations: [String] = []
        for _ in 0..<3 {
            let response = try await client.get("http://ONE.test./a?b#c", headerFields: [.accept: "text/plain"])
            #expect(response.status == .ok && response.version == .http11)
            #expect(try await response.body.collect(upTo: .bytes(5)) == Array("hello".utf8))
            #expect(response.body.summary?.bodyBytes == 5)
            destinations.append(response.destination)
        }
        try await client.shutdown()
        #expect(destinations.first == "127.0.0.1:\(server.port) · mapping one.test · no expiry · new connection")
        #expect(destinations.last?.hasSuffix("reused connection") == true)
        #expect(server.connections.count == 1)
        let text = server.connections[0].text
        let third = text.utf8.count / 3
        let head = String(decoding: text.utf8.prefix(third), as: UTF8.self)
        #expect(head.hasPrefix("GET /a?b HTTP/1.1\r\nHost: one.test\r\n") && head.hasSuffix("\r\n\r\n"))
        #expect(text == head + head + head)
    }

    @Test("The bytes on the wire do not depend on the source of the address")
    func wireImage() async throws {
        let server = try RawServer(.readHead, .respond("hello"))
        let client = try await mappedClient(server.port)
        let pin: [HTTPDNSClient.Request.Target] = ["127.0.0.1:\(server.port)"]
        _ = try await client.get("http://one.test/x").body.collect(upTo: .bytes(5))
        _ = try await client.get("http://one.test/x", { $0.addresses = .only(pin) }).body.collect(upTo: .bytes(5))
        let rewritten = try await client.rewrite("http://one.test/x")
        _ = try await client.execute(rewritten).body.collect(upTo: .bytes(5))
        try await client.shutdown()
        #expect(server.connections.count == 3 && Set(server.connections.map(\.text)).count == 1)
    }

    @Test("A changed mapping holds for the next request despite the old connection")
    func moved() async throws {
        let first = try RawServer(.serve("hello"))
        let second = try RawServer(.serve("hello"))
        let client = try await mappedClient(first.port)
        let before = try await client.get("http://one.test/")
        try client.mappings.apply { $0["one.test"] = .addresses(["127.0.0.1:\(second.port)"]) }
        let after = try await client.get("http://one.test/")
        #expect(try await before.body.collect(upTo: .bytes(5)).count == 5)
        #expect(try await after.body.collect(upTo: .bytes(5)).count == 5)
        #expect(after.exchanges.first?.remote.port == second.port)
        try await client.shutdown()
    }

    @Test("A closed port is connectFailed with the address, and the request was not sent")
    func refused() async throws {
        let gone = try RawServer(.hang)
        let port = gone.port
        try await gone.refuse()
        let client = try await mappedClient(port)
        let error = await clientError { try await client.post("http://one.test/", body: .text("x")) }
        #expect(error?.code == .connectFailed)
        #expect(error?.phase == .connect && error?.requestMayHaveBeenSent == false)
        #expect(error?.attempts.map(\.endpoint.description) == ["127.0.0.1:\(port)"])
        #expect(error?.description.contains(".invalid") == false)
        try await client.shutdown()
    }

    @Test("Silence after the request is a time-out of a call that may have been sent")
    func silence() async throws {
        let server = try RawServer(.readHead, .hang)
        let client = try await mappedClient(server.port)
        // On a busy machine a short time may be over before the request is sent: then the same with a longer one.
        var (limit, error) = (Duration.zero, HTTPDNSClientError?.none)
        for next in [Duration.seconds(2), .seconds(10), .seconds(50)] where error?.phase != .firstByte {
            limit = next
            error = await clientError { try await client.get("http://one.test/") { $0.timeouts.total = next } }
        }
        #expect(error?.code == .timedOut && error?.phase == .firstByte && error?.isCallDeadline == true)
        #expect(error?.limit == limit && error?.requestMayHaveBeenSent == true)
        #expect(error?.attempts.count == 1)
        try await client.shutdown()
    }

    @Test("A body that breaks off is connectionLost while it is read")
    func brokenBody() async throws {
        let server = try RawServer(.readHead, .sendText("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhello"))
        let client = try await mappedClient(server.port)
        let error = await clientError { try await client.get("http://one.test/").body.collect(upTo: .bytes(9)) }
        #expect(error?.code == .connectionLost && error?.requestMayHaveBeenSent == true)
        #expect(error?.host == "one.test")
        try await client.shutdown()
    }

    @Test("A streamed body arrives whole, and a second reader of the response gets an error")
    func streamed() async throws {
        let server = try RawServer(.readHead, .read(6), .respond("hello"))
        let client = try await mappedClient(server.port)
        let body = HTTPDNSClient.Request.Body.stream(length: 6, Chunks([Array("abc".utf8), Array("def".utf8)]))
        let response = try await client.post("http://one.test/", body: body)
        #expect(try await response.body.collect(upTo: .bytes(5)) == Array("hello".utf8))
        #expect(await clientError { try await response.body.collect(upTo: .bytes(5)) }?.code == .bodyConsumedTwice)
        #expect(server.connections[0].text.hasSuffix("\r\n\r\nabcdef"))
        try await client.shutdown()
    }

    @Test("A draining shutdown lets a body end, and refuses new calls meanwhile")
    func draining() async throws {
        let gate = Gate()
        let server = try RawServer(
            .readHead,
            .sendText("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe"),
            .wait(gate),
            .sendText("llo")
        )
        let client = try await mappedClient(server.port)
        let response = try await client.get("http://one.test/")
        async let ended: Void = client.shutdown(drainingFor: .seconds(30))
        while await clientError({ try await client.rewrite("http://one.test/") }) == nil, !Task.isCancelled {
            await Task.yield()
        }
        gate.open()
        #expect(try await response.body.collect(upTo: .bytes(5)) == Array("hello".utf8))
        try await ended
    }

    @Test("A shutdown without draining cuts a body, and the reader gets the client's error")
    func cutting() async throws {
        let server = try RawServer(.readHead, .sendText("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe"), .hang)
        let client = try await mappedClient(server.port)
        let response = try await client.get("http://one.test/")
        try await client.shutdown()
        let error = await clientError { try await response.body.collect(upTo: .bytes(5)) }
        #expect(error?.code == .shutDown && error?.requestMayHaveBeenSent == true)
    }

    @Test("A canceled task gets CancellationError, at the head and in the body")
    func canceled() async throws {
        let arrived = Gate()
        let server = try RawServer(.readHead, .open(arrived), .hang)
        let client = try await mappedClient(server.port)
        let call = Task { try await client.get("http://one.test/") }
        await arrived.passage()
        call.cancel()
        await #expect(throws: CancellationError.self) { try await call.value }
        try await server.awaitConnections { $0.first?.isClosedByClient == true }
        try await client.shutdown()
    }
}
