// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Testing

/// Packets of open connections that are dropped without a word, for requests that the transport must not send twice or has
/// nowhere else to send to.
struct DeadPathTests {
    private func failure(of request: TransferRequest, _ fixture: TransportFixture) async throws -> TransferFailure {
        try #require(await fixture.failure(of: request))
    }

    @Test("A POST on a black-holed warm connection ends within the connect limit")
    func post() async throws {
        let server = try RawServer(.serve("ok"))
        let fixture = TransportFixture()
        let url = "http://one.test:\(server.port)/"
        try await fixture.fetch(try TransportFixture.request(url, at: "127.0.0.1"))
        try await server.swallow(.all)
        let request = try TransportFixture.request(url, at: "127.0.0.1", method: .post, body: .bytes([1])) {
            $0.connect = .seconds(2)
        }
        let failure = try await failure(of: request, fixture)
        #expect(failure.code == .connectionLost && failure.phase == .firstByte && failure.requestMayHaveBeenSent)
        #expect(failure.message.contains("nothing that was sent was acknowledged for 2000 ms"))
        // The limit for the response is a minute; on a busy machine the loop may be late.
        #expect(failure.elapsed >= .seconds(1.9) && failure.elapsed < .seconds(60))
        #expect(server.connections.count == 1)
        await fixture.transport.shutdown()
    }

    /// Its kept connection leads into a black hole, too.
    @Test("A GET with black holes at all addresses ends within the connect limit")
    func get() async throws {
        let server = try RawServer(address: "127.0.0.2", .serve("ok"))
        let hole = try BlackHole(address: "127.0.0.3")
        let fixture = TransportFixture()
        var request = try TransportFixture.request(to: server) { $0.connect = .seconds(2) }
        try await fixture.fetch(TransportFixture.request(to: server))
        try await server.swallow(.all)
        request.endpoints.append(HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 3), port: hole.port))
        let failure = try await failure(of: request, fixture)
        #expect(failure.requestMayHaveBeenSent && failure.attempts.count >= 2)
        #expect(failure.elapsed >= .seconds(1.9) && failure.elapsed < .seconds(60))
        await fixture.transport.shutdown()
    }
}

/// A server that does not read for a while: its window is closed, and it acknowledges each probe of that.
struct SlowReaderTests {
    /// The time in which the server does not read. With `HTTPDNS_TEST_LONG=1` (`make endurance`) that is more than the
    /// default of `tcpUserTimeout`.
    private static let pause: Duration = ServerRig.hasTime ? .seconds(40) : .seconds(5)

    @Test("An upload to a server that stops reading for a while is answered")
    func upload() async throws {
        let (reached, goesOn) = (Gate(), Gate())
        let count = 16 << 20
        let server = try RawServer(
            .readHead,
            .open(reached),
            .waitWithoutReading(goesOn),
            .read(count),
            .respond("ok")
        )
        var configuration = TransportConfiguration()
        if !ServerRig.hasTime { configuration.unacknowledgedLimit = .seconds(1) }
        let fixture = TransportFixture(Transport(configuration))
        let long = RequestBodySource.bytes(Array(repeating: 7, count: count))
        let request = try TransportFixture.request(to: server, method: .post, body: long) {
            $0.idle = .seconds(300)
        }
        async let answer = fixture.fetch(request)
        await reached.passage()
        try await Task.sleep(for: Self.pause)
        goesOn.open()
        let (response, body) = try await answer
        #expect(response.head.status == .ok && body == Array("ok".utf8))
        await fixture.transport.shutdown()
    }
}
