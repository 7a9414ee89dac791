// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Testing

struct TransportDeadlineTests {
    /// The other limits of each request, at which it ends if its own one does not hold.
    private static let ceiling = Duration.seconds(60)

    private static let bound = Duration.seconds(1)

    /// Runs a test that a response must end. On a busy machine a short bound may be over before it: then the same with
    /// a longer one.
    private func withBounds(_ test: (Duration) async throws -> Void) async throws {
        for bound in [Self.bound, Self.bound * 8] {
            do {
                return try await test(bound)
            } catch let failure as TransferFailure where failure.code == .timedOut {
                continue
            }
        }
        try await test(Self.bound * 60)
    }

    @Test("The connect limit ends an attempt without a TCP connection")
    func connect() async throws {
        let hole = try BlackHole()
        let fixture = TransportFixture()
        let request = try TransportFixture.request("http://one.test:\(hole.port)/", at: hole.address) {
            $0.connect = Self.bound
        }
        let failure = try #require(await fixture.failure(of: request))
        #expect(failure.code == .timedOut && failure.phase == .connect)
        #expect(failure.limit == Self.bound && (Self.bound..<Self.ceiling) ~= failure.elapsed)
        #expect(!failure.requestMayHaveBeenSent)
        #expect(failure.endpoint?.port == hole.port)
    }

    /// Connecting itself may take longer.
    @Test("The TLS limit ends a silent handshake")
    func tls() async throws {
        let server = try RawServer(.hang)
        let fixture = TransportFixture()
        let request = try TransportFixture.request("https://one.test:\(server.port)/", at: "127.0.0.1") {
            $0.connect = .seconds(60)
            $0.tls = Self.bound
        }
        let failure = try #require(await fixture.failure(of: request))
        #expect(failure.code == .timedOut && failure.phase == .tls)
        #expect(failure.limit == Self.bound && (Self.bound..<Self.ceiling) ~= failure.elapsed)
        #expect(!failure.requestMayHaveBeenSent)
    }

    /// The request may have been seen.
    @Test("The limit of the first byte counts from the sending")
    func firstByte() async throws {
        let server = try RawServer(.readHead, .hang)
        let fixture = TransportFixture()
        let request = try TransportFixture.request(to: server) { $0.firstByte = Self.bound }
        let failure = try #require(await fixture.failure(of: request))
        #expect(failure.code == .timedOut && failure.phase == .firstByte)
        #expect(failure.requestMayHaveBeenSent && (Self.bound..<Self.ceiling) ~= failure.elapsed)
    }

    @Test("The idle limit ends a body that stops, after the bytes that came")
    func idle() async throws {
        let server = try RawServer(.readHead, .sendText("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"), .hang)
        let fixture = TransportFixture()
        let request = try TransportFixture.request(to: server) { $0.idle = Self.bound }
        let response = try await fixture.send(request)
        var received: [UInt8] = []
        let failure = await #expect(throws: TransferFailure.self) {
            for try await chunk in response.body { received += chunk }
        }
        #expect(received == Array("hello".utf8))
        #expect(failure?.code == .timedOut && failure?.phase == .body)
        #expect(failure.map { (Self.bound..<Self.ceiling) ~= $0.elapsed } == true)
        #expect(response.body.summary == nil)
    }

    @Test("The idle limit ends the sending to a server that takes no bytes")
    func sending() async throws {
        let server = try RawServer(.hangWithoutReading)
        let fixture = TransportFixture()
        let request = try TransportFixture.request(
            to: server,
            method: .post,
            body: .bytes(Array(repeating: 7, count: 64 << 20))
        ) { $0.idle = Self.bound }
        let failure = try #require(await fixture.failure(of: request))
        #expect(failure.code == .timedOut && failure.phase == .send)
        #expect((Self.bound..<Self.ceiling) ~= failure.elapsed)
    }

    enum Upload: CaseIterable, Sendable { case none, bytes, late }

    /// The lines come more often than the idle limit, and a body may end after the head has begun.
    @Test("The time for the head ends with its last line, not with its first", arguments: Upload.allCases)
    func headInDrops(upload: Upload) async throws {
        // Beside hundreds of other tests a request may begin only after its deadline, and then shows nothing.
        for _ in 1...20 {
            let failure = try await failureOfHeadInDrops(upload)
            guard upload != .none || failure.requestMayHaveBeenSent else { continue }
            #expect(failure.code == .timedOut && failure.phase == .head && failure.requestMayHaveBeenSent)
            // A body that ends late waits for its stream, and the ceiling is the idle limit.
            #expect((Self.bound..<Duration.seconds(600)) ~= failure.elapsed, "\(failure.elapsed)")
            return
        }
        Issue.record("no request began before its deadline")
    }

    private func failureOfHeadInDrops(_ upload: Upload) async throws -> TransferFailure {
        let server = try RawServer(
            .readHead,
            .sendText("HTTP/1.1 200 OK\r\n"),
            .repeatForever([.sendText("X: y\r\n"), .pause(.milliseconds(50))])
        )
        let fixture = TransportFixture()
        let fed = HandFedStream()
        let body: RequestBodySource =
            switch upload {
            case .none: .none
            case .bytes: .bytes([1, 2, 3])
            case .late: .stream(length: 3, fed.stream)
            }
        let method: HTTPRequest.Method = upload == .none ? .get : .post
        let request = try TransportFixture.request(to: server, method: method, body: body) {
            $0.idle = .seconds(600)
            if upload == .none {
                // Connecting is within it.
                $0.headDeadline = SystemTimeSource().now() + Self.bound * 3
            } else {
                $0.headAfterBody = Self.bound
            }
        }
        async let ended = fixture.failure(of: request)
        if upload == .late {
            try await server.awaitConnections { ($0.first?.sent ?? 0) > 40 }
            fed.feed.yield([1, 2, 3])
            fed.feed.finish()
        }
        return try #require(await ended)
    }

    @Test("The deadline of the whole ends a response in drops, which never idles")
    func total() async throws {
        let server = try RawServer(
            .readHead,
            .sendText("HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"),
            .repeatForever([.sendText("."), .pause(.milliseconds(20))])
        )
        let fixture = TransportFixture()
        let request = try TransportFixture.request(to: server) {
            $0.idle = .seconds(60)
            $0.deadline = SystemTimeSource().now() + Self.bound
        }
        let failure = try #require(await fixture.failure(of: request))
        #expect(failure.code == .timedOut && failure.phase == .total && failure.elapsed < Self.ceiling)
    }

    @Test("A caller that does not read causes no idle time of the server")
    func pausedReading() async throws {
        let size = 32 << 20
        let server = try RawServer(
            .readHead,
            .sendText("HTTP/1.1 200 OK\r\nContent-Length: \(size)\r\n\r\n"),
            .send(Array(repeating: 1, count: size)),
            .hang
        )
        try await withBounds { bound in
            let fixture = TransportFixture()
            let request = try TransportFixture.request(to: server) { $0.idle = bound }
            let response = try await fixture.send(request)
            var iterator = response.body.makeAsyncIterator()
            var count = try await iterator.next()?.count ?? 0
            // While this test waits it reads nothing, and longer than the idle bound.
            try await SystemTimeSource().sleep(until: SystemTimeSource().now() + bound * 2)
            while let chunk = try await iterator.next() { count += chunk.count }
            #expect(count == size)
        }
    }

    /// The moment at which the loop fell asleep does not count.
    @Test("Idle time counts from the last byte")
    func idleAfterLongSleep() async throws {
        try await withBounds { bound in
            let server = try RawServer(
                .readHead,
                .pause(bound * 2),
                .sendText("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\no"),
                .pause(bound / 3),
                .sendText("k")
            )
            let fixture = TransportFixture()
            let request = try TransportFixture.request(to: server) {
                $0.firstByte = .seconds(600)
                $0.idle = bound
            }
            #expect(try await fixture.fetch(request).body == Array("ok".utf8))
        }
    }

    /// The rule also holds when there was none to send.
    @Test(
        "Once no body is left to send, only the limit of the first byte counts",
        arguments: [
            .bytes([]), .bytes([1, 2, 3]), .stream(length: 0, []), .stream(length: 3, [1, 2, 3]),
            .stream(length: nil, [1, 2, 3]),
        ] as [SentBody]
    )
    func firstByteAfterBody(body: SentBody) async throws {
        let server = try RawServer(.readHead, .hang)
        let fixture = TransportFixture()
        let request = try TransportFixture.request(to: server, method: .post, body: body.source) {
            $0.firstByte = Self.bound
            $0.idle = nil
            $0.deadline = SystemTimeSource().now() + .seconds(600)
        }
        let failure = try #require(await fixture.failure(of: request))
        #expect(failure.code == .timedOut && failure.phase == .firstByte)
    }

    enum SentBody {
        case bytes([UInt8])
        case stream(length: Int64?, [UInt8])

        var source: RequestBodySource {
            switch self {
            case .bytes(let bytes): return .bytes(bytes)
            case .stream(let length, let bytes):
                let fed = HandFedStream()
                fed.feed.yield(bytes)
                fed.feed.finish()
                return .stream(length: length, fed.stream)
            }
        }
    }

    @Test(
        "An interim response (1xx) does not end the limit of the first byte",
        arguments: ["100 Continue", "103 Early Hints"]
    )
    func interim(status: String) async throws {
        let server = try RawServer(.readHead, .sendText("HTTP/1.1 \(status)\r\nLink: </a>\r\n\r\n"), .hang)
        let fixture = TransportFixture()
        let request = try TransportFixture.request(to: server) {
            $0.firstByte = Self.bound
            $0.idle = .seconds(60)
            $0.deadline = SystemTimeSource().now() + .seconds(600)
        }
        let failure = try #require(await fixture.failure(of: request))
        #expect(failure.code == .timedOut && failure.phase == .firstByte)
    }

    /// A caller's stream may pause as before it; half of the final head is the server's pause.
    @Test(
        "A stream may pause after an interim response, and a head may not stop halfway",
        arguments: [true, false]
    )
    func pausedSending(answers: Bool) async throws {
        guard answers else { return try await pauseSending(answers: false, bound: Self.bound) }
        try await withBounds { try await pauseSending(answers: true, bound: $0) }
    }

    private func pauseSending(answers: Bool, bound: Duration) async throws {
        let halves = ["HTTP/1.1 200 OK\r\n", "Content-Length: 2\r\n\r\nok"]
        let server = try RawServer { _ in
            [.readHead, .sendText("HTTP/1.1 100 Continue\r\n\r\n")]
                + (answers ? [.read(5), .sendText(halves.joined())] : [.sendText(halves[0])]) + [.hang]
        }
        let fixture = TransportFixture()
        let fed = HandFedStream()
        let request = try TransportFixture.request(to: server, method: .post, body: .stream(length: 5, fed.stream)) {
            $0.firstByte = .seconds(600)
            $0.idle = bound
        }
        guard answers else {
            let failure = try #require(await fixture.failure(of: request))
            #expect(failure.code == .timedOut && failure.phase == .body)
            return
        }
        async let answer = fixture.fetch(request)
        try await server.awaitConnections { ($0.first?.sent ?? 0) > 0 }
        // The caller has nothing to send for longer than the idle bound.
        try await SystemTimeSource().sleep(until: SystemTimeSource().now() + bound * 2)
        fed.feed.yield(Array("hello".utf8))
        fed.feed.finish()
        #expect(try await answer.body == Array("ok".utf8))
    }

    @Test("A request whose deadline has passed is not sent, on a kept connection too")
    func passedDeadline() async throws {
        let server = try RawServer(.serve("ok"))
        let fixture = TransportFixture()
        let request = try TransportFixture.request(to: server)
        _ = try await fixture.fetch(request)
        var late = request
        late.limits.deadline = SystemTimeSource().now()
        let failure = try #require(await fixture.failure(of: late))
        #expect(failure.code == .timedOut && failure.phase == .total && !failure.requestMayHaveBeenSent)
        _ = try await fixture.fetch(request)
        #expect(server.text.split(separator: "\r\n\r\n").count == 2)
    }
}
