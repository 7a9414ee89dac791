// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Testing

/// Kept connections that die under a request, in ways that TCP tells and in ways that it does not.
struct DeadConnectionTests {
    private struct Pair {
        let old: RawServer
        let good: RawServer
        let transport: Transport

        func request(
            _ method: HTTPRequest.Method = .get,
            both: Bool = true,
            _ change: (inout TransferLimits) -> Void = { _ in }
        ) throws -> TransferRequest {
            let body = method == .post ? RequestBodySource.bytes([1]) : .none
            var request = try TransportFixture.request(to: old, method: method, body: body, change)
            if both {
                request.endpoints.append(HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 3), port: good.port))
            }
            return request
        }

        func failure(of request: TransferRequest) async throws -> TransferFailure {
            try #require(await #expect(throws: TransferFailure.self) { try await transport.fetch(request) })
        }

        var sentToOld: Int { old.count(of: " / HTTP/1.1") }
        var sentToGood: Int { good.count(of: " / HTTP/1.1") }
    }

    /// - Parameter steps: What the old server does after its first answer.
    private func pair(delay: Duration = .milliseconds(250), _ steps: RawServer.Step...) throws -> Pair {
        var configuration = TransportConfiguration()
        configuration.attemptDelay = delay
        // Else the kernel would find a dead connection too, after half a minute.
        configuration.unacknowledgedLimit = nil
        return Pair(
            old: try RawServer(address: "127.0.0.2") { _ in [.readHead, .respond("ok")] + steps },
            good: try RawServer(address: "127.0.0.3", .serve("ok")),
            transport: Transport(configuration)
        )
    }

    // MARK: it ends without an answer

    /// The connection ends without a byte, and the next endpoint serves the GET.
    @Test("A GET goes on when its kept connection ends and its endpoint then refuses")
    func refused() async throws {
        let (reached, end) = (Gate(), Gate())
        let pair = try pair(delay: .seconds(60), .readHead, .open(reached), .wait(end))
        let request = try pair.request()
        try await pair.transport.fetch(request)
        async let answer = pair.transport.fetch(request)
        await reached.passage()
        try await pair.old.refuse()
        end.open()
        let response = try await answer
        #expect(response.endpoint == request.endpoints[1])
        #expect(response.failedAttempts.map(\.endpoint) == [request.endpoints[0]])
        #expect(response.failedAttempts.first?.code == .connectFailed)
        #expect(pair.sentToGood == 1)
        #expect(pair.transport.endpointRecords.first { $0.endpoint == request.endpoints[0] }?.state == .cooling)
        await pair.transport.shutdown()
    }

    /// A black hole by then. It does not wait for a time-out.
    @Test("A GET goes on after the delay when its kept connection's endpoint is silent")
    func blackHoleBehind() async throws {
        let (reached, end) = (Gate(), Gate())
        let pair = try pair(.readHead, .open(reached), .wait(end))
        let request = try pair.request { $0.connect = .seconds(60) }
        try await pair.transport.fetch(pair.request(both: false))
        async let answer = pair.transport.fetch(request)
        await reached.passage()
        try await pair.old.swallow(.ofNewConnections)
        end.open()
        #expect(try await answer.endpoint == request.endpoints[1])
        #expect(pair.sentToGood == 1)
        await pair.transport.shutdown()
    }

    @Test("A GET without another endpoint fails as refused, and it may have been sent")
    func refusedAlone() async throws {
        let (reached, end) = (Gate(), Gate())
        let pair = try pair(.readHead, .open(reached), .wait(end))
        let request = try pair.request(both: false)
        try await pair.transport.fetch(request)
        async let failing = pair.failure(of: request)
        await reached.passage()
        try await pair.old.refuse()
        end.open()
        let failure = try await failing
        #expect(failure.code == .connectFailed && failure.requestMayHaveBeenSent)
        await pair.transport.shutdown()
    }

    /// It is counted once, with a typed error.
    @Test("A POST whose kept connection ends reaches no other endpoint")
    func post() async throws {
        let pair = try pair(.readHead, .read(1))
        let request = try pair.request(.post)
        try await pair.transport.fetch(pair.request(both: false))
        let failure = try await pair.failure(of: request)
        #expect(failure.code == .connectionLost && failure.requestMayHaveBeenSent)
        #expect(pair.old.count(of: "POST") == 1)
        #expect(pair.old.connections.count == 1, "not even a connection is made to send it again")
        #expect(pair.sentToGood == 0)
        // Nothing is left of it in what libcurl sends the next ones with.
        for next in [request, try pair.request(), request] {
            #expect(try await pair.transport.fetch(next).failedAttempts.isEmpty)
            pair.transport.retireConnections()
        }
        await pair.transport.shutdown()
    }

    // MARK: it falls silent

    /// Twenty GETs follow each other.
    @Test("GETs past a black-holed warm connection are answered, and only the first waits")
    func blackHole() async throws {
        let pair = try pair(.serve("ok"))
        let request = try pair.request()
        let warming = try pair.request(both: false)
        for _ in 0..<50 { try await pair.transport.fetch(warming) }
        #expect(pair.sentToOld == 50)
        try await pair.old.swallow(.all)
        for number in 0..<20 {
            let response = try await pair.transport.fetch(request)
            // No time limit of the first endpoint has passed: its end would be a failed attempt in the trail.
            #expect(response.endpoint == request.endpoints[1] && response.failedAttempts.isEmpty)
            #expect(response.reusedConnection == (number > 0), "\(number)")
        }
        #expect(pair.sentToGood == 20)
        #expect(pair.transport.endpointRecords.first { $0.endpoint == request.endpoints[0] }?.state != .healthy)
        await pair.transport.shutdown()
    }

    @Test("A dead connection to the only endpoint is replaced by a new one")
    func deadConnectionOnly() async throws {
        let reached = Gate()
        let server = try RawServer(address: "127.0.0.2") { number in
            number == 0
                ? [.readHead, .respond("ok"), .open(reached), .swallow, .hang]
                : [.serve("ok")]
        }
        let fixture = TransportFixture()
        let request = try TransportFixture.request(to: server)
        try await fixture.fetch(request)
        await reached.passage()
        let (response, body) = try await fixture.fetch(request)
        #expect(!response.reusedConnection && body == Array("ok".utf8))
        #expect(server.connections.count == 2)
        #expect(try await fixture.fetch(request).response.reusedConnection)
        await fixture.transport.shutdown()
    }

    /// The failure says that it may have been sent.
    @Test("A POST on a dead connection is sent once, and its endpoint is left")
    func silentPost() async throws {
        let pair = try pair(.serve("ok"))
        try await pair.transport.fetch(pair.request(both: false))
        try await pair.old.swallow(.all)
        let post = try pair.request(.post) { $0.firstByte = .seconds(2) }
        let failure = try await pair.failure(of: post)
        #expect(failure.code == .timedOut && failure.requestMayHaveBeenSent)
        #expect(pair.sentToGood == 0)
        let response = try await pair.transport.fetch(pair.request(.post))
        #expect(response.endpoint == post.endpoints[1] && pair.sentToGood == 1)
        await pair.transport.shutdown()
    }

    @Test("A server that is only slow keeps its request")
    func slow() async throws {
        let (reached, answer) = (Gate(), Gate())
        let pair = try pair(
            delay: .milliseconds(250),
            .readHead,
            .open(reached),
            .wait(answer),
            .respond("ok")
        )
        let request = try pair.request()
        try await pair.transport.fetch(pair.request(both: false))
        async let response = pair.transport.fetch(request)
        await reached.passage()
        // Several times the delay, for nothing to happen in.
        try await Task.sleep(for: .seconds(1))
        answer.open()
        #expect(try await response.endpoint == request.endpoints[0])
        #expect(pair.good.connections.isEmpty)
        await pair.transport.shutdown()
    }

    // MARK: hedges

    /// When there is no response in time.
    @Test("A hedged GET goes to the next endpoint too, and the first response counts")
    func hedge() async throws {
        let pair = try pair(delay: .seconds(60), .readHead, .hang)
        var request = try pair.request()
        try await pair.transport.fetch(request)
        request.hedgeAfter = .milliseconds(30)
        let response = try await pair.transport.fetch(request)
        #expect(response.endpoint == request.endpoints[1] && response.hedges == 1)
        try await pair.old.awaitConnections { $0[0].isClosedByClient }
        #expect(pair.sentToOld == 2 && pair.sentToGood == 1)
        await pair.transport.shutdown()
    }

    @Test("The hedged request's own endpoint may still be the first to answer")
    func hedgeLoses() async throws {
        let (hedged, answer) = (Gate(), Gate())
        let pair = try pair(delay: .seconds(60), .readHead, .wait(answer), .respond("ok"))
        let second = try RawServer(address: "127.0.0.3", .readHead, .open(hedged), .hang)
        var request = try pair.request(both: false)
        try await pair.transport.fetch(request)
        request.endpoints.append(HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 3), port: second.port))
        request.hedgeAfter = .milliseconds(30)
        let task = Task { [request] in try await pair.transport.fetch(request) }
        await hedged.passage()
        answer.open()
        #expect(try await task.value.endpoint == request.endpoints[0])
        try await second.awaitConnections { $0[0].isClosedByClient }
        await pair.transport.shutdown()
    }

    @Test("A method that is not safe is never hedged", arguments: [HTTPRequest.Method.put, .delete, .post, .patch])
    func noHedge(method: HTTPRequest.Method) async throws {
        let pair = try pair(delay: .seconds(60), .readHead, .hang)
        var request = try pair.request(method) { $0.firstByte = .milliseconds(300) }
        try await pair.transport.fetch(pair.request())
        request.hedgeAfter = .milliseconds(10)
        #expect(try await pair.failure(of: request).requestMayHaveBeenSent)
        #expect(pair.sentToGood == 0)
        await pair.transport.shutdown()
    }

    @Test("A safe method is hedged", arguments: [HTTPRequest.Method.get, .head, .options, .trace])
    func hedgedMethods(method: HTTPRequest.Method) async throws {
        let pair = try pair(delay: .seconds(60), .readHead, .hang)
        var request = try pair.request(method)
        try await pair.transport.fetch(pair.request())
        request.hedgeAfter = .milliseconds(10)
        let response = try await pair.transport.fetch(request)
        #expect(response.hedges == 1 && response.endpoint == request.endpoints[1])
        #expect(pair.sentToOld == 2 && pair.sentToGood == 1)
        await pair.transport.shutdown()
    }

    @Test("At most four of a few requests are hedged at a time when everything is slow")
    func budget() async throws {
        // On a busy machine a short time may be over before the hedges are sent: then the same with a longer one.
        for seconds in [2, 10, 50] where try await areFourHedged(within: .seconds(seconds)) { return }
        Issue.record("fewer than four requests were hedged")
    }

    private func areFourHedged(within limit: Duration) async throws -> Bool {
        let slow = try RawServer(address: "127.0.0.2", .readHead, .hang)
        let second = try RawServer(address: "127.0.0.3", .readHead, .hang)
        var request = try TransportFixture.request(to: slow) { $0.firstByte = limit }
        request.endpoints.append(HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 3), port: second.port))
        request.hedgeAfter = .milliseconds(50)
        var configuration = TransportConfiguration()
        configuration.attemptDelay = .seconds(60)
        let transport = Transport(configuration)
        try await concurrently(16) { [request] _ in _ = try? await transport.execute(request) }
        let hedged = second.connections.count
        #expect(hedged <= 4 && slow.connections.count <= 16)
        await transport.shutdown()
        return hedged == 4 && slow.connections.count == 16
    }

    @Test("A canceled request with two sendings leaves no connection behind")
    func canceled() async throws {
        let reached = Gate()
        let pair = try pair(delay: .seconds(60), .readHead, .hang)
        let second = try RawServer(address: "127.0.0.3", .readHead, .open(reached), .hang)
        var request = try pair.request(both: false)
        try await pair.transport.fetch(request)
        request.endpoints.append(HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 3), port: second.port))
        request.hedgeAfter = .milliseconds(10)
        let task = Task { [request] in try await pair.transport.fetch(request) }
        await reached.passage()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        try await second.awaitConnections { $0.allSatisfy(\.isClosedByClient) }
        try await pair.old.awaitConnections { $0.allSatisfy(\.isClosedByClient) }
        await pair.transport.shutdown()
    }
}
