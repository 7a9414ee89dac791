// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Synchronization
import Testing

struct TransportStreamTests {
    @Test("A body in memory is sent whole, with its length")
    func bytes() async throws {
        let server = try RawServer(.readHead, .read(5), .respond("ok"))
        let fixture = TransportFixture()
        let request = try TransportFixture.request(to: server, "/a?b", method: .post, body: .bytes(Array("hello".utf8)))
        #expect(try await fixture.fetch(request).body == Array("ok".utf8))
        let text = try #require(server.connections.first?.text)
        #expect(text.hasPrefix("POST /a?b HTTP/1.1\r\nHost: one.test:\(server.port)\r\n"))
        #expect(text.contains("Content-Length: 5\r\n") && text.hasSuffix("\r\n\r\nhello"))
        #expect(!text.lowercased().contains("expect:") && !text.contains("invalid"))
    }

    /// Servers answer 411 otherwise. An empty body always declares it.
    @Test(
        "An empty or absent body declares its length where one is expected",
        arguments: ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"],
        [true, false]
    )
    func emptyBody(method: String, isThere: Bool) async throws {
        let server = try RawServer(.readHead, .respond("ok"))
        let fixture = TransportFixture()
        let request = try TransportFixture.request(
            to: server,
            method: .init(method)!,
            body: isThere ? .bytes([]) : .none
        )
        _ = try await fixture.fetch(request)
        let text = try #require(server.connections.first?.text)
        let fields = text.split(separator: "\r\n").filter { $0.lowercased().hasPrefix("content-length:") }
        let isExpected = isThere || ["POST", "PUT", "PATCH"].contains(method)
        #expect(text.hasPrefix("\(method) / HTTP/1.1\r\n") && fields == (isExpected ? ["Content-Length: 0"] : []))
    }

    @Test("A request after a POST, PUT, HEAD or DELETE carries nothing of it")
    func noLeftovers() async throws {
        let server = try RawServer(.serve())
        let fixture = TransportFixture()
        let plain = try TransportFixture.request(to: server)
        _ = try await fixture.fetch(plain)
        for method in [HTTPRequest.Method.head, .delete, .options] {
            var other = plain
            other.method = method
            other.headerFields[.accept] = "x/y"
            _ = try await fixture.fetch(other)
            _ = try await fixture.fetch(plain)
        }
        let requests = try #require(server.connections.first?.text).split(separator: "\r\n\r\n").map(String.init)
        #expect(server.connections.count == 1 && requests.count == 7)
        #expect(Set([0, 2, 4, 6].map { requests[$0] }).count == 1)
        #expect(requests[1].hasPrefix("HEAD ") && requests[3].hasPrefix("DELETE ") && requests[5].hasPrefix("OPTIONS "))
    }

    @Test("A stream of unknown length is sent in chunks as it comes")
    func chunked() async throws {
        let got = Gate()
        let server = try RawServer(.readHead, .read(8), .open(got), .readToEnd)
        let fixture = TransportFixture()
        let fed = HandFedStream()
        let request = try TransportFixture.request(to: server, method: .put, body: .stream(length: nil, fed.stream))
        let sending = Task { try await fixture.fetch(request) }
        fed.feed.yield(Array("one".utf8))
        await got.passage()
        let text = try #require(server.connections.first?.text)
        #expect(text.contains("Transfer-Encoding: chunked\r\n") && text.contains("\r\n\r\n3\r\none\r\n"))
        sending.cancel()
        await #expect(throws: CancellationError.self) { try await sending.value }
        try await server.awaitConnections { $0[0].isClosedByClient }
    }

    @Test("A stream that throws, ends early or runs over fails the request")
    func brokenStreams() async throws {
        struct Broken: Error {}
        let server = try RawServer(.readHead, .readToEnd)
        let fixture = TransportFixture()
        for (length, bytes, error) in [(nil, 3, Broken()), (10, 3, nil), (2, 3, nil)] as [(Int64?, Int, Broken?)] {
            let fed = HandFedStream()
            fed.feed.yield(Array(repeating: 65, count: bytes))
            fed.feed.finish(throwing: error)
            let request = try TransportFixture.request(
                to: server,
                method: .post,
                body: .stream(length: length, fed.stream)
            )
            let failure = try #require(await fixture.failure(of: request))
            #expect(failure.code == .requestBodyFailed, "\(failure)")
        }
    }

    /// The stream has something to give, or nothing.
    @Test(
        "An early response ends the caller's stream",
        arguments: ["", "Connection: close\r\n"]
    )
    func earlyAnswer(field: String) async throws {
        let server = try RawServer(
            .readHead,
            .read(8),
            // By then libcurl has asked for more in vain.
            .pause(.milliseconds(50)),
            .sendText("HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\(field)\r\nno"),
            .readToEnd
        )
        let fixture = TransportFixture()
        let ended = Gate()
        let fed = HandFedStream()
        fed.feed.onTermination = { _ in ended.open() }
        fed.feed.yield([1, 2, 3])
        let request = try TransportFixture.request(to: server, method: .post, body: .stream(length: nil, fed.stream))
        let (response, body) = try await fixture.fetch(request)
        #expect(response.head.status.code == 413 && body == Array("no".utf8))
        await ended.passage()
    }

    @Test("A body that is not read stops the server", arguments: [0, 1 << 20])
    func backPressure(gathering: Int) async throws {
        let size = 256 << 20
        let server = try RawServer(
            .readHead,
            .sendText("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n"),
            .repeatForever([.send(Array(repeating: 1, count: 1 << 20))])
        )
        let fixture = TransportFixture()
        let response = try await fixture.send(
            try TransportFixture.request(to: server)
        )
        var iterator = response.body.makeAsyncIterator()
        iterator.gather(gathering)
        var count = 0
        while count < size / 8, let chunk = try await iterator.next() {
            #expect(chunk.count <= max(64 * 1024, gathering))
            count += chunk.count
        }
        // The loop turns on with other transfers; what it took meanwhile without being asked would show in the sum.
        let other = try RawServer(.serve("ok"))
        for _ in 0..<200 {
            _ = try await fixture.fetch(try TransportFixture.request("http://two.test:\(other.port)/", at: "127.0.0.1"))
        }
        // The caller's window, and what the kernel holds in its socket buffers on both sides (tens of MiB at most).
        let ahead = try #require(server.connections.first).sent - count
        #expect(ahead < 64 << 20, "\(ahead) bytes were sent ahead of the reader")
    }

    /// From the second body on libcurl reads larger pieces.
    @Test("Long bodies arrive whole in chunks of at most 64 KiB, also with a slow reader")
    func longBodies() async throws {
        let bytes = (0..<3 << 20).map { UInt8(truncatingIfNeeded: $0 / 251) }
        let head = "HTTP/1.1 200 OK\r\nContent-Length: \(bytes.count)\r\n\r\n"
        let server = try RawServer(.repeatForever([.readHead, .sendText(head), .send(bytes)]))
        let fixture = TransportFixture()
        let request = try TransportFixture.request(to: server)
        for pause in [nil, Duration.milliseconds(1), nil] {
            var body: [UInt8] = []
            for try await chunk in try await fixture.send(request).body {
                #expect(!chunk.isEmpty && chunk.count <= 64 * 1024)
                body += chunk
                if let pause { try await Task.sleep(for: pause) }
            }
            #expect(body == bytes)
        }
        #expect(server.connections.count == 1)
    }

    @Test("A reader of larger chunks gets full ones, and of the whole body one", arguments: [1 << 20, Int.max])
    func gathering(size: Int) async throws {
        let bytes = (0..<3 << 20).map { UInt8(truncatingIfNeeded: $0 / 251) }
        let head = "HTTP/1.1 200 OK\r\nContent-Length: \(bytes.count)\r\n\r\n"
        let server = try RawServer(.repeatForever([.readHead, .sendText(head), .send(bytes)]))
        let fixture = TransportFixture()
        let request = try TransportFixture.request(to: server)
        for pause in [nil, Duration.milliseconds(20), nil] {
            let response = try await fixture.send(request)
            // What has arrived before the reader asks is a part of its first chunk.
            if let pause { try await Task.sleep(for: pause) }
            var chunks: [[UInt8]] = []
            var iterator = response.body.makeAsyncIterator()
            iterator.gather(size)
            while let chunk = try await iterator.next() { chunks.append(chunk) }
            #expect(chunks.flatMap(\.self) == bytes)
            // A piece that does not fit begins the next chunk.
            #expect(
                chunks.allSatisfy { $0.count <= size } && chunks.dropLast().allSatisfy { $0.count > size - 256 * 1024 }
            )
            #expect(size < bytes.count || chunks.count == 1)
        }
        #expect(server.connections.count == 1)
        await fixture.transport.shutdown()
    }

    @Test("A length that is only declared takes no memory", arguments: [1 << 50, Int.max], [true, false])
    func declaredLength(length: Int, isLimited: Bool) async throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: \(length)\r\n\r\n"
        let asked = Gate()
        let bytes = Array(repeating: UInt8(7), count: 150_000)
        let server = try RawServer(.readHead, .sendText(head), .send(bytes), .wait(asked), .send(bytes))
        let fixture = TransportFixture()
        let request = try TransportFixture.request(to: server) { if isLimited { $0.maximumResponseBytes = 200_000 } }
        var iterator = try await fixture.send(request).body.makeAsyncIterator()
        iterator.gather(Int.max)
        asked.open()
        await #expect {
            while try await iterator.next() != nil {}
        } throws: {
            ($0 as? TransferFailure)?.code == (isLimited ? .responseTooLarge : .connectionLost)
        }
        await fixture.transport.shutdown()
    }

    @Test("A reader of larger chunks that leaves ends its transfer", arguments: [true, false])
    func gatheringThenLeaving(isCanceled: Bool) async throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"
        let server = try RawServer(.readHead, .sendText(head), .send(Array(repeating: 7, count: 300_000)), .hang)
        let fixture = TransportFixture()
        let body = try await fixture.send(TransportFixture.request(to: server)).body
        let reading = Task {
            var iterator = body.makeAsyncIterator()
            iterator.gather(Int.max)
            if isCanceled { while try await iterator.next() != nil {} }
        }
        if isCanceled {
            reading.cancel()
            await #expect(throws: CancellationError.self) { try await reading.value }
        } else {
            try await reading.value
        }
        try await server.awaitConnections { $0[0].isClosedByClient }
        await fixture.transport.shutdown()
    }

    @Test(
        "Larger chunks come over HTTP/2 too",
        .enabled(if: ServerRig.isAvailable([.nginx])),
        arguments: [1 << 20, Int.max]
    )
    func gatheringOverHTTP2(size: Int) async throws {
        let rig = try await ServerRig.shared()
        let fixture = TransportFixture(trust: .file(rig.certificateAuthorityFile))
        let url = "https://one.test:\(rig.tlsPort)/bytes?count=\(5 << 20)"
        let response = try await fixture.send(try TransportFixture.request(url, at: "127.0.0.2"))
        #expect(response.version == .http2)
        var counts: [Int] = []
        var iterator = response.body.makeAsyncIterator()
        iterator.gather(size)
        while let chunk = try await iterator.next() {
            counts.append(chunk.count)
            // The loop comes to a pause meanwhile.
            try await Task.sleep(for: .milliseconds(5))
        }
        #expect(counts.reduce(0, +) == 5 << 20 && counts.dropFirst().dropLast().allSatisfy { $0 > size - 256 * 1024 })
        await fixture.transport.shutdown()
    }

    @Test("A reader of larger chunks gets what came before a failure", arguments: [true, false])
    func gatheringUntilFailure(isLengthDeclared: Bool) async throws {
        let bytes = Array(repeating: UInt8(7), count: 300_000)
        let field = isLengthDeclared ? "Content-Length: 1000000" : "Transfer-Encoding: chunked\r\n\r\nfffff"
        let end = isLengthDeclared ? "\r\n\r\n" : "\r\n"
        let server = try RawServer(.readHead, .sendText("HTTP/1.1 200 OK\r\n\(field)\(end)"), .send(bytes))
        let fixture = TransportFixture()
        var iterator = try await fixture.send(TransportFixture.request(to: server)).body.makeAsyncIterator()
        iterator.gather(Int.max)
        var count = 0
        await #expect(throws: TransferFailure.self) {
            while let chunk = try await iterator.next() { count += chunk.count }
        }
        #expect(count == bytes.count)
        await fixture.transport.shutdown()
    }

    @Test(
        "A body over HTTP/2 that is not read stops the server at its stream's window",
        .enabled(if: ServerRig.isAvailable([.nginx]))
    )
    func backPressureOverHTTP2() async throws {
        let rig = try await ServerRig.shared()
        let relay = try TCPRelay(to: "127.0.0.2", port: rig.tlsPort)
        let fixture = TransportFixture(trust: .file(rig.certificateAuthorityFile))
        let url = "https://one.test:\(relay.port)"
        let response = try await fixture.send(
            try TransportFixture.request("\(url)/bytes?count=\(256 << 20)", at: "127.0.0.1")
        )
        #expect(response.version == .http2)
        // Other requests on the connection make libcurl read on, for as long as the stream's window lets the server send.
        let other = try TransportFixture.request("\(url)/health", at: "127.0.0.1")
        var ahead = 0
        repeat {
            ahead = relay.answeredBytes
            for _ in 0..<100 { #expect(try await fixture.fetch(other).response.reusedConnection) }
        } while relay.answeredBytes - ahead > 1 << 20
        // libcurl's window is 32 MiB (7.88); the rest is the heads of the others, and what the kernel holds. With 8.14.1 it is 10
        // MiB, and libcurl itself holds as much again.
        let expected = CurlLibrary.hasLargeStreamWindow ? (30 << 20)..<(48 << 20) : (18 << 20)..<(30 << 20)
        #expect(expected.contains(ahead), "\(ahead) bytes were sent ahead of the reader")
        await fixture.transport.shutdown()
    }

    @Test("A response longer than the limit is cut, a decompression bomb too")
    func sizeLimit() async throws {
        let server = try RawServer(.readHead, .respond("hello world"), .hang)
        let fixture = TransportFixture()
        let request = try TransportFixture.request(to: server) { $0.maximumResponseBytes = 10 }
        let failure = try #require(await fixture.failure(of: request))
        #expect(failure.code == .responseTooLarge && failure.message.contains("10 bytes"))
        try await server.awaitConnections { $0[0].isClosedByClient }
    }

    @Test("A body is read once; dropping it unread ends the transfer")
    func singlePass() async throws {
        let server = try RawServer(.readHead, .sendText("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello"), .hang)
        let fixture = TransportFixture()
        let request = try TransportFixture.request(to: server)
        do {
            let response = try await fixture.send(request)
            var first = response.body.makeAsyncIterator()
            var second = response.body.makeAsyncIterator()
            #expect(try await first.next() == Array("hello".utf8))
            let failure = await #expect(throws: TransferFailure.self) { try await second.next() }
            #expect(failure?.code == .bodyConsumedTwice)
        }
        try await server.awaitConnections { $0[0].isClosedByClient }
        do { _ = try await fixture.send(request) }
        try await server.awaitConnections { $0.count == 2 && $0[1].isClosedByClient }
    }

    @Test("Interim responses are skipped unless they are wanted")
    func interim() async throws {
        let server = try RawServer(
            .readHead,
            .sendText(
                "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            ),
            .sendText("2\r\nok\r\n0\r\nX-End: bye\r\n\r\n")
        )
        let fixture = TransportFixture()
        let request = try TransportFixture.request(to: server)
        let (response, body) = try await fixture.fetch(request)
        #expect(response.head.status == .ok && response.head.headerFields[HTTPField.Name("link")!] == nil)
        #expect(body == Array("ok".utf8))
    }

    @Test("The caller's stream and the reading of the body never run on the loop's thread")
    func threads() async throws {
        let server = try RawServer(.readHead, .read(3), .respond("ok"))
        let fixture = TransportFixture(threadName: "loop-under-test")
        let seen = Mutex<Set<String>>([])
        let stream = AsyncThrowingStream<[UInt8], any Error> {
            seen.withLock { _ = $0.insert(ProcessState.threadName()) }
            return nil
        }
        let request = try TransportFixture.request(to: server, method: .post, body: .stream(length: nil, stream))
        let response = try await fixture.send(request)
        seen.withLock { _ = $0.insert(ProcessState.threadName()) }
        for try await _ in response.body { seen.withLock { _ = $0.insert(ProcessState.threadName()) } }
        let names = seen.withLock { $0 }
        #expect(!names.isEmpty && !names.contains("loop-under-test"))
        let all = try ProcessState.threadNames()
        #expect(all.contains("loop-under-test"), "the loop has a thread of that name")
    }
}
