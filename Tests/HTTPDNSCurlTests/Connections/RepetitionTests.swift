// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Testing

@testable import HTTPDNSCurl

/// Requests whose kept connection ends without a byte of a response.
struct RepetitionTests {
    private func request(
        _ server: RawServer,
        _ path: String = "/",
        _ method: HTTPRequest.Method = .get
    ) throws -> TransferRequest {
        try TransportFixture.request(to: server, path, method: method, body: method == .post ? .bytes([1]) : .none)
    }

    /// The number of times that a server got a request.
    private func arrivals(_ server: RawServer, _ method: HTTPRequest.Method, _ path: String) -> Int {
        server.count(of: "\(method) \(path) ")
    }

    /// A server whose first connections have each answered one request, and end with the next one; later connections answer all.
    private func serverWithKeptConnections(_ count: Int, _ fixture: TransportFixture) async throws -> RawServer {
        let gate = Gate()
        let server = try RawServer { number in
            number < count
                ? [.readHead, .wait(gate), .respond("ok"), .readHead]
                : [.serve("ok")]
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<count { group.addTask { try await fixture.fetch(request(server)) } }
            try await server.awaitConnections { $0.count { !$0.received.isEmpty } == count }
            gate.open()
            try await group.waitForAll()
        }
        return server
    }

    @Test("A GET is sent twice when all kept connections end under it", arguments: [1, 2, 6, 16])
    func keptConnectionsEnd(count: Int) async throws {
        let fixture = TransportFixture()
        let server = try await serverWithKeptConnections(count, fixture)
        let (response, body) = try await fixture.fetch(request(server, "/again"))
        #expect(response.head.status == .ok && body == Array("ok".utf8) && !response.reusedConnection)
        #expect(arrivals(server, .get, "/again") == 2)
        #expect(server.connections.count == count + 1)
        // The handle that repeated it finds kept connections again.
        if count == 1 { #expect(try await fixture.fetch(request(server, "/next")).response.reusedConnection) }
        await fixture.transport.shutdown()
    }

    /// libcurl sends `/a` the second time when it has the URL as text alone (7.88.1).
    @Test("A repetition keeps the empty query of its URL")
    func emptyQuery() async throws {
        let fixture = TransportFixture()
        let server = try await serverWithKeptConnections(1, fixture)
        try await fixture.fetch(request(server, "/again?"))
        #expect(arrivals(server, .get, "/again?") == 2)
        await fixture.transport.shutdown()
    }

    @Test("A POST is sent once when all kept connections end under it")
    func keptConnectionsEndUnderPOST() async throws {
        let fixture = TransportFixture()
        let server = try await serverWithKeptConnections(16, fixture)
        let failure = try #require(await fixture.failure(of: request(server, "/again", .post)))
        #expect(failure.code == .connectionLost && failure.requestMayHaveBeenSent)
        #expect(arrivals(server, .post, "/again") == 1)
        await fixture.transport.shutdown()
    }

    /// A kept connection to a server that ends it two seconds after the second request. By then libcurl's entry of the pin is
    /// too old, so libcurl cannot connect again on its own.
    private func repeatedWithoutEntry(_ method: HTTPRequest.Method, body: RequestBodySource) async throws -> (
        RawServer, Result<[UInt8], any Error>
    ) {
        // The limit counts whole seconds of the calendar's time.
        let server = try RawServer { number in
            number == 0 ? [.readHead, .respond("ok"), .readHead, .pause(.milliseconds(2100))] : [.serve("ok")]
        }
        var configuration = TransportConfiguration()
        configuration.entrySeconds = 1
        let fixture = TransportFixture(Transport(configuration))
        try await fixture.fetch(request(server))
        let again = try TransportFixture.request(to: server, "/again", method: method, body: body)
        let result: Result<[UInt8], any Error>
        do {
            result = .success(try await fixture.fetch(again).body)
        } catch {
            result = .failure(error)
        }
        await fixture.transport.shutdown()
        return (server, result)
    }

    @Test("An empty POST is sent once when libcurl has lost the address of its repetition")
    func lostEntryUnderPOST() async throws {
        let (server, result) = try await repeatedWithoutEntry(.post, body: .bytes([]))
        let failure = try #require(throws: TransferFailure.self) { try result.get() }
        #expect(failure.code == .connectionLost && failure.requestMayHaveBeenSent, "\(failure)")
        #expect(arrivals(server, .post, "/again") == 1)
    }

    @Test("A GET is sent twice when libcurl has lost the address of its repetition")
    func lostEntryUnderGET() async throws {
        let (server, result) = try await repeatedWithoutEntry(.get, body: .none)
        #expect(try result.get() == Array("ok".utf8))
        #expect(arrivals(server, .get, "/again") == 2)
    }

    @Test("A GET whose repetition gets no response fails as a lost connection")
    func repetitionEnds() async throws {
        let fixture = TransportFixture()
        let server = try RawServer { number in
            number == 0 ? [.readHead, .respond("ok"), .readHead] : [.readHead]
        }
        try await fixture.fetch(request(server))
        let failure = try #require(await fixture.failure(of: request(server, "/again")))
        #expect(failure.code == .connectionLost && failure.requestMayHaveBeenSent)
        #expect(arrivals(server, .get, "/again") == 2)
        await fixture.transport.shutdown()
    }

    /// The method does not matter.
    @Test(
        "A request of which no byte was sent moves to another connection",
        arguments: [HTTPRequest.Method.post, .put, .delete, .get]
    )
    func nothingSent(method: HTTPRequest.Method) async throws {
        let (resets, fixture) = (Gate(), TransportFixture())
        let server = try RawServer { number in
            number == 0
                ? [.readHead, .respond("ok"), .wait(resets), .reset]
                : [.repeatForever([.readHead] + (method == .post ? [.read(1)] : []) + [.respond("ok")])]
        }
        try await fixture.fetch(request(server))
        resets.open()
        // The kernel has the reset once the client's socket is closed.
        try await SocketTable.awaitUnread(to: server.port) { $0 == nil }
        let (response, _) = try await fixture.fetch(request(server, "/once", method))
        #expect(response.head.status == .ok && !response.reusedConnection)
        #expect(arrivals(server, method, "/once") == 1)
        #expect(try await fixture.fetch(request(server, "/next", method)).response.reusedConnection)
        await fixture.transport.shutdown()
    }

    @Test("No GET arrives more than twice at a server that ends connections at random", arguments: [1, 2, 4])
    func faultyServer(loops: Int) async throws {
        let (rounds, lanes, perLane) = (ServerRig.hasTime ? 20 : 1, 50, ServerRig.hasTime ? 100 : 50)
        for round in 0..<rounds {
            let server = try RawServer { number in FaultyScript(UInt64(round * 1_000_003 + number)).steps }
            let fixture = TransportFixture(loops: loops)
            let failures = try await withThrowingTaskGroup(of: Int.self) { group in
                for lane in 0..<lanes {
                    group.addTask {
                        var failures = 0
                        for index in 0..<perLane {
                            do {
                                let body = try await fixture.fetch(request(server, "/\(lane).\(index)")).body
                                #expect(body == Array("ok".utf8))
                            } catch let failure as TransferFailure {
                                // A reset may come before the request.
                                let isLost = failure.code == .connectionLost && failure.requestMayHaveBeenSent
                                #expect(isLost || failure.code == .connectFailed, "\(failure)")
                                failures += 1
                            }
                        }
                        return failures
                    }
                }
                return try await group.reduce(0, +)
            }
            var arrivals: [Substring: Int] = [:]
            for connection in server.connections {
                for line in connection.text.split(separator: "\r\n") where line.hasPrefix("GET ") {
                    arrivals[line, default: 0] += 1
                }
            }
            #expect(arrivals.values.max() == 2)
            #expect(
                arrivals.count <= lanes * perLane && failures < lanes * perLane / 5,
                "\(failures) of \(arrivals.count)"
            )
            await fixture.transport.shutdown()
        }
    }

    /// Some requests are answered, then one meets an end.
    private struct FaultyScript: RandomNumberGenerator {
        private var state: UInt64

        init(_ seed: UInt64) { state = seed &* 0x9e37_79b9_7f4a_7c15 | 1 }

        mutating func next() -> UInt64 {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return state
        }

        var steps: [RawServer.Step] {
            var random = self
            let answered = Array(
                repeating: [RawServer.Step.readHead, .respond("ok")],
                count: Int.random(in: 0...12, using: &random)
            )
            let end: [RawServer.Step] =
                switch Int.random(in: 0..<6, using: &random) {
                case 0: [.readHead]
                case 1: [.readHead, .reset]
                case 2: [.reset]
                case 3: []
                case 4: [.read(5), .reset]
                default: [.readHead, .pause(.milliseconds(1)), .shutdownSending]
                }
            return answered.flatMap { $0 } + end
        }
    }
}

@Suite("Repetition at HAProxy", .enabled(if: ServerRig.isAvailable([.haproxy])))
struct RepetitionAtTimeoutTests {
    @Test("No GET fails at the edge of the server's time limit for idle connections")
    func keepAliveTimeout() async throws {
        let server = try await HAProxyServer(settings: ["timeout http-keep-alive 20ms"])
        let fixture = TransportFixture()
        try await concurrently(30) { lane in
            for index in 0..<50 {
                let request = try TransportFixture.request("http://one.test:\(server.port)/", at: "127.0.0.1")
                #expect(try await fixture.fetch(request).response.head.status == .ok)
                try await Task.sleep(for: .microseconds(18_000 + (lane * 50 + index) * 3))
            }
        }
        await fixture.transport.shutdown()
    }
}
