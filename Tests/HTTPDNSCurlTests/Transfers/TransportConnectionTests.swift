// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNSCurl
import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Testing

struct TransportConnectionTests {
    /// The call is canceled before and after the head.
    @Test("Cancellation closes the connection and resumes the caller")
    func cancellation() async throws {
        let reached = Gate()
        let server = try RawServer { number in
            number == 0
                ? [.readHead, .open(reached), .hang]
                : [.readHead, .sendText("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok"), .hang]
        }
        let fixture = TransportFixture()
        let request = try TransportFixture.request(to: server)
        let waiting = Task { try await fixture.send(request) }
        await reached.passage()
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        try await server.awaitConnections { $0[0].isClosedByClient }

        let gotSome = Gate()
        let reading = Task {
            let response = try await fixture.send(request)
            for try await _ in response.body { gotSome.open() }
        }
        await gotSome.passage()
        reading.cancel()
        await #expect(throws: CancellationError.self) { try await reading.value }
        try await server.awaitConnections { $0[1].isClosedByClient }
    }

    /// The body comes after the head was read, so that no later turn of the loop can correct what the head says.
    @Test("A head that comes before its body says whether the connection is new")
    func newConnection() async throws {
        let hasHead = (0..<2).map { _ in Gate() }
        let steps = hasHead.flatMap { gate -> [RawServer.Step] in
            [.readHead, .sendText("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n"), .wait(gate), .sendText("ok")]
        }
        let server = try RawServer { _ in steps }
        let fixture = TransportFixture()
        for (number, gate) in hasHead.enumerated() {
            let response = try await fixture.send(TransportFixture.request(to: server))
            #expect(response.reusedConnection == (number > 0))
            #expect((response.timings.connect == nil) == (number > 0))
            gate.open()
            for try await _ in response.body {}
        }
        #expect(server.connections.count == 1)
    }

    /// The rule also holds on a loop that never ran.
    @Test("A task that is canceled before it begins sends nothing")
    func cancelledBefore() async throws {
        let server = try RawServer(.readHead, .respond("ok"))
        let fixture = TransportFixture()
        let request = try TransportFixture.request(to: server)
        for _ in 0..<2 {
            let gate = Gate()
            let task = Task {
                await gate.passage()
                return try await fixture.fetch(request)
            }
            task.cancel()
            gate.open()
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        _ = try await fixture.fetch(request)
        #expect(server.connections.count == 1)
    }

    @Test("Ten thousand transfers canceled at random moments leave no waiter behind")
    func cancellationStorm() async throws {
        // Every third connection is slow in the middle of a body.
        let server = try RawServer { number in
            let slow: [RawServer.Step] = [
                .readHead, .sendText("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no"), .pause(.milliseconds(2)),
                .sendText("k"),
            ]
            return [.repeatForever(number % 3 == 2 ? slow : [.readHead, .respond("ok")])]
        }
        let fixture = TransportFixture()
        let request = try TransportFixture.request(to: server)
        let total = 10_000
        var (whole, canceled, other) = (0, 0, [String]())
        await withTaskGroup(of: Result<[UInt8], any Error>.self) { group in
            func note(_ result: Result<[UInt8], any Error>?) {
                switch result {
                case .success(let body)? where body == Array("ok".utf8): whole += 1
                case .failure(is CancellationError)?: canceled += 1
                case .some(let result): other.append("\(result)")
                case nil: break
                }
            }
            for number in 0..<total {
                group.addTask {
                    let transfer = Task { try await fixture.fetch(request).body }
                    return await cancelAtRandom(transfer, number: number)
                }
                if number >= 32 { note(await group.next()) }
            }
            for await result in group { note(result) }
        }
        print("measured: \(whole) transfers were over, \(canceled) ended as canceled")
        #expect(whole + canceled == total && other.isEmpty, "\(other.prefix(3))")
        #expect(whole > 0 && canceled > 0, "the moments were not spread")
        #expect(try await fixture.fetch(request).body == Array("ok".utf8))
        await fixture.transport.shutdown()
        try await server.awaitConnections { $0.allSatisfy(\.isClosedByClient) }
    }

    /// The failure says that it may have been seen.
    @Test("A POST on a kept connection that dies is counted once")
    func noSilentSecondSend() async throws {
        let server = try RawServer { number in
            number == 0 ? [.readHead, .respond("ok"), .readHead] : [.readHead, .respond("ok")]
        }
        let fixture = TransportFixture()
        let request = try TransportFixture.request(to: server)
        _ = try await fixture.fetch(request)
        var post = request
        post.method = .post
        post.body = .bytes([])
        let failure = try #require(await fixture.failure(of: post))
        #expect(failure.code == .connectionLost && failure.requestMayHaveBeenSent)
        #expect(server.count(of: "POST") == 1)
    }

    @Test("A GET on a kept connection that dies moves to a new one")
    func safeSecondSend() async throws {
        let server = try RawServer { number in
            number == 0 ? [.readHead, .respond("ok"), .readHead] : [.readHead, .respond("ok")]
        }
        let fixture = TransportFixture()
        let request = try TransportFixture.request(to: server)
        _ = try await fixture.fetch(request)
        #expect(try await fixture.fetch(request).body == Array("ok".utf8))
        try await server.awaitConnections { $0.count == 2 }
    }

    @Test("A length said twice is one, and bytes behind another length are no response")
    func declaredLengths() async throws {
        let fixture = TransportFixture()
        let twice = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\ncontent-length: 2, 2\r\n\r\nok"
        let smuggled = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 0\r\n\r\n"
        let server = try RawServer { number in
            number == 0
                ? [.readHead, .sendText(twice), .readHead, .sendText(smuggled + twice), .hang]
                : [.repeatForever([.readHead, .sendText(twice)])]
        }
        let request = try TransportFixture.request(to: server, method: .post)
        #expect(try await fixture.fetch(request).body == Array("ok".utf8))
        #expect(await fixture.failure(of: request)?.code == .protocolViolation)
        #expect(try await fixture.fetch(request).response.reusedConnection == false)
        #expect(server.connections.count == 2)
    }

    /// The response that follows a head on the connection may be read at two offsets.
    @Test(
        "A connection whose response head was refused carries no other request",
        arguments: [
            "HTTP/1.1 200 OK\r\nX-A : 1\r\nContent-Length: 2\r\n\r\nok",
            "HTTP/1.1 200 OK\r\n: 1\r\nContent-Length: 2\r\n\r\nok",
            "HTTP/1.1 200 OK\r\nno colon\r\nContent-Length: 2\r\n\r\nok",
            "HTTP/1.1 200 OK\r\n folded first\r\nContent-Length: 2\r\n\r\nok",
            "HTTP/1.1 200 OK\r\n X-A: 1\r\nContent-Length: 2\r\n\r\nok",
            "HTTP/1.1 200OK\r\nContent-Length: 2\r\n\r\nok", "http/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
            "HTTP/1.1 200 OK\r\nTransfer-Encoding : chunked\r\nContent-Length: 12\r\n\r\n2\r\nok\r\n0\r\n\r\n",
            "HTTP/1.1 200 OK\r\nContent-Length : 2\r\nContent-Length: 2\r\n\r\nok",
            "HTTP/1.1 204 No Content\r\nX-A : 1\r\n\r\n",
            "HTTP/1.1 200 OK\r\n" + String(repeating: "a:b\r\n", count: 10_001) + "Content-Length: 2\r\n\r\nok",
            "HTTP/1.1 103 Early Hints\r\nX-A : 1\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        ]
    )
    func refusedHead(text: String) async throws {
        let server = try RawServer { number in
            number == 0
                ? [.readHead, .respond("ok"), .readHead, .sendText(text), .serve("ok")] : [.serve("ok")]
        }
        let fixture = TransportFixture()
        let request = try TransportFixture.request(to: server, method: .post)
        try await fixture.fetch(request)
        let failure = await fixture.failure(of: request)
        #expect(failure?.code == .protocolViolation && failure?.phase == .firstByte, "\(failure as Any)")
        #expect(failure?.requestMayHaveBeenSent == true && failure?.endpoint == request.endpoints[0])
        #expect(try await fixture.fetch(request).response.reusedConnection == false)
        try await server.awaitConnections { $0[0].isClosedByClient }
        await fixture.transport.shutdown()
    }

    /// RFC 9112 section 6.1: other recipients may read the length.
    @Test(
        "A connection whose response declared two ends carries no other request",
        arguments: ["HTTP/1.1 200 OK\r\nContent-Length: 2", "HTTP/1.0 200 OK\r\nConnection: keep-alive"]
    )
    func twoEnds(head: String) async throws {
        let chunked = head + "\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n"
        let server = try RawServer { number in
            number == 0 ? [.readHead, .sendText(chunked), .serve("ok")] : [.serve("ok")]
        }
        let fixture = TransportFixture()
        let request = try TransportFixture.request(to: server)
        #expect(try await fixture.fetch(request).body == Array("ok".utf8))
        #expect(try await fixture.fetch(request).response.reusedConnection == false)
        try await server.awaitConnections { $0[0].isClosedByClient }
        #expect(try await fixture.fetch(request).response.reusedConnection, "the option is not kept")
        await fixture.transport.shutdown()
    }

    @Test(
        "A Content-Length that is no decimal number is a protocol violation",
        arguments: ["0xC", "12abc", "+12", "-12", "1 2", "12,", ",12", "", "twelve", "12;", "12.0"]
    )
    func lengthSyntax(value: String) async throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: \(value)\r\n\r\n"
        let server = try RawServer(.readHead, .sendText(head + "hello, world"), .hang)
        let fixture = TransportFixture()
        let request = try TransportFixture.request(to: server)
        #expect(await fixture.failure(of: request)?.code == .protocolViolation)
        try await server.awaitConnections { $0[0].isClosedByClient }
    }

    /// libcurl ignores such a length, and would take a body that is cut off for the whole.
    @Test(
        "A Content-Length above the largest length is a protocol violation",
        arguments: ["9223372036854775808", "18446744073709551616", "99999999999999999999999"]
    )
    func lengthRange(value: String) async throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: \(value)\r\n\r\n"
        let server = try RawServer(.readHead, .sendText(head + "hello, w"))
        let fixture = TransportFixture()
        let request = try TransportFixture.request(to: server)
        #expect(await fixture.failure(of: request)?.code == .protocolViolation)
    }

    /// libcurl decodes no transfer coding but `chunked`, and 7.88.1 does not report the others.
    @Test(
        "A response with another transfer coding than chunked is refused",
        arguments: [
            "chunked,\r\n gzip", "chunked\r\n\tgzip",
            "gzip, chunked", "gzip", "GZip,Chunked", "chunked, gzip", "gzip\r\nTransfer-Encoding: chunked",
            "chunked;q=1", "", "\r\n gzip, chunked",
        ]
    )
    func transferCodings(value: String) async throws {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: \(value)\r\n\r\n"
        let server = try RawServer(.readHead, .sendText(head + "5\r\nhello\r\n0\r\n\r\n"), .hang)
        let fixture = TransportFixture()
        let failure = try #require(await fixture.failure(of: TransportFixture.request(to: server)))
        #expect(failure.code == .undecodable && failure.phase == .firstByte, "\(failure)")
        try await server.awaitConnections { $0[0].isClosedByClient }
        await fixture.transport.shutdown()
    }

    @Test(
        "Chunked and identity are no other transfer coding",
        arguments: [("Chunked", "5\r\nhello\r\n0\r\n\r\n"), ("identity", "hello")]
    )
    func plainTransferCodings(value: String, body: String) async throws {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: \(value)\r\n\r\n"
        let server = try RawServer(.readHead, .sendText(head + body), .shutdownSending)
        let fixture = TransportFixture()
        #expect(try await fixture.fetch(TransportFixture.request(to: server)).body == Array("hello".utf8))
        await fixture.transport.shutdown()
    }

    @Test("Refused, broken and invalid responses each have their code")
    func failures() async throws {
        let fixture = TransportFixture()
        let cases: [([RawServer.Step], TransferFailure.Code)] = [
            ([.readHead], .connectionLost),
            ([.readHead, .reset], .connectionLost),
            ([.readHead, .sendText("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhel")], .connectionLost),
            ([.readHead, .sendText("SSH-2.0-OpenSSH\r\n\r\n")], .protocolViolation),
            ([.readHead, .sendText("HTTP/1.1 2\r\n\r\n")], .protocolViolation),
            (
                [.readHead, .sendText("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n")],
                .protocolViolation
            ),
            (
                [.readHead, .sendText("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-LENGTH: 3\r\n\r\nabc")],
                .protocolViolation
            ),
            ([.readHead, .sendText("HTTP/1.1 200 OK\r\nContent-Length: 2, 3\r\n\r\nabc")], .protocolViolation),
            (
                [
                    .readHead,
                    .sendText("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x5\r\nhello\r\n0\r\n\r\n"),
                ],
                .protocolViolation
            ),
            (
                [
                    .readHead,
                    .sendText("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0x5\r\n\"a\":1\r\n0\r\n\r\n"),
                ],
                .protocolViolation
            ),
            ([.readHead, .sendText("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nnot gzip")], .undecodable),
        ]
        for (steps, code) in cases {
            let server = try RawServer { _ in steps }
            let request = try TransportFixture.request(to: server, method: .delete)
            let failure = try #require(await fixture.failure(of: request), "\(steps)")
            #expect(failure.code == code, "\(steps): \(failure)")
            #expect(failure.requestMayHaveBeenSent)
            #expect(failure.endpoint?.port == server.port)
            #expect(!"\(failure)".contains(".invalid"), "no pin name: \(failure)")
        }
        // Its port is taken on this address, so that nobody else listens there on another one.
        let holder = try RawServer(.hang)
        let request = try TransportFixture.request("http://one.test:\(holder.port)/", at: "127.0.0.77")
        let failure = try #require(await fixture.failure(of: request))
        #expect(failure.code == .connectFailed && failure.message == "Connection refused")
        #expect(!failure.requestMayHaveBeenSent)
    }

    /// The table of libcurl holds few entries meanwhile.
    @Test("Hundreds of pins, used twice concurrently, all reach their address")
    func manyPins() async throws {
        let servers = try (2...4).map {
            try RawServer(address: "127.0.0.\($0)", .serve("\($0)"))
        }
        let fixture = TransportFixture()
        for _ in 0..<2 {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<900 {
                    let server = servers[number % 3]
                    let request = try TransportFixture.request(
                        "http://n\(number / 3).test:\(server.port)/",
                        at: server.address
                    )
                    group.addTask {
                        let (response, body) = try await fixture.fetch(request)
                        #expect(body == Array(server.address.suffix(1).utf8))
                        #expect(response.endpoint == request.endpoints[0])
                    }
                    if number >= 64 { try await group.next() }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test("A transport that may keep no connection keeps none")
    func noIdleConnections() async throws {
        let server = try RawServer(.serve("ok"))
        var configuration = TransportConfiguration()
        configuration.maximumIdleConnections = 0
        let transport = Transport(configuration)
        let request = try TransportFixture.request(to: server)
        for _ in 0..<2 {
            #expect(try await !transport.fetch(request).reusedConnection)
        }
        try await server.awaitConnections { $0.count == 2 && $0.allSatisfy(\.isClosedByClient) }
        await transport.shutdown()
    }

    @Test("A shutdown drains what it can, cuts the rest and refuses new transfers")
    func shutdown() async throws {
        let inFlight = Gate()
        let mayAnswer = Gate()
        let server = try RawServer { number in
            number == 0
                ? [.readHead, .open(inFlight), .wait(mayAnswer), .respond("ok")] : [.readHead, .respond("ok")]
        }
        let fixture = TransportFixture()
        let request = try TransportFixture.request(to: server)
        let first = Task { try await fixture.fetch(request).body }
        await inFlight.passage()
        let shutdown = Task { await fixture.transport.shutdown(drainingFor: .seconds(60)) }
        // Once one is refused, draining has begun.
        while (try? await fixture.send(request)) != nil {}
        mayAnswer.open()
        #expect(try await first.value == Array("ok".utf8))
        await shutdown.value
        let failure = try #require(await fixture.failure(of: request))
        #expect(failure.code == .shutDown)
        await fixture.transport.shutdown()
    }

    @Test(
        "A paused body is read to its end from a transport that drains or was dropped",
        arguments: [true, false]
    )
    func readingWhileDraining(isDropped: Bool) async throws {
        let size = 4 << 20
        let server = try RawServer(
            .readHead,
            .sendText("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n"),
            .send(Array(repeating: 1, count: size))
        )
        var fixture: TransportFixture? = TransportFixture()
        let request = try TransportFixture.request(to: server)
        let response = try #require(try await fixture?.send(request))
        var shutdown: Task<Void, Never>?
        if !isDropped, let transport = fixture?.transport {
            shutdown = Task { await transport.shutdown(drainingFor: .seconds(60)) }
            while (try? await fixture?.send(request)) != nil {}
        }
        fixture = nil
        var count = 0
        for try await chunk in response.body { count += chunk.count }
        #expect(count == size)
        await shutdown?.value
    }

    @Test("Canceling works while a transport drains")
    func cancelWhileDraining() async throws {
        let inFlight = Gate()
        let server = try RawServer { number in
            number == 0 ? [.readHead, .open(inFlight), .hang] : [.readHead, .respond("ok")]
        }
        let fixture = TransportFixture()
        let request = try TransportFixture.request(to: server)
        let waiting = Task { try await fixture.send(request) }
        await inFlight.passage()
        let shutdown = Task { await fixture.transport.shutdown(drainingFor: .seconds(60)) }
        while (try? await fixture.send(request)) != nil {}
        waiting.cancel()
        await #expect(throws: CancellationError.self) { try await waiting.value }
        await shutdown.value
    }

    @Test("Shutdown without draining cuts what is in flight")
    func cut() async throws {
        let inFlight = Gate()
        let server = try RawServer(.readHead, .open(inFlight), .hang)
        let fixture = TransportFixture()
        let request = try TransportFixture.request(to: server)
        let transfer = Task { try await fixture.fetch(request) }
        await inFlight.passage()
        await fixture.transport.shutdown()
        let failure = await #expect(throws: TransferFailure.self) { try await transfer.value }
        #expect(failure?.code == .shutDown)
        try await server.awaitConnections { $0[0].isClosedByClient }
    }

    @Test("A transport that is dropped ends its thread once nothing is in flight")
    func dropped() async throws {
        let server = try RawServer(.serve("ok"))
        let name = "dropped-loop"
        do {
            let fixture = TransportFixture(threadName: name)
            _ = try await fixture.fetch(
                try TransportFixture.request(to: server)
            )
        }
        try await server.awaitConnections { $0[0].isClosedByClient }
        while try ProcessState.threadNames().contains(name), !Task.isCancelled { await Task.yield() }
    }
}
