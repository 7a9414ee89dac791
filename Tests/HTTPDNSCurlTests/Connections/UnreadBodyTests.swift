// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import ServerRig
import Testing

@testable import HTTPDNSCurl

/// Connections of responses whose bodies are dropped before they have arrived whole.
struct UnreadBodyTests {
    /// A connection permit, which is returned when its transfer ends on the loop.
    private final class Permit: Sendable {
        private let isReturned: Gate
        init(_ isReturned: Gate) { self.isReturned = isReturned }
        deinit { isReturned.open() }
    }

    private let group = TransferGroup(maximum: 10)

    /// - Parameter time: The maximum time for the rest of a body.
    private func fixture(discardTime time: Duration) -> TransportFixture {
        var configuration = TransportConfiguration()
        configuration.discardTime = time
        return TransportFixture(Transport(configuration))
    }

    /// Waits until the loop knows that the body was dropped: it takes a later request after that. The group knows it before.
    private func dropNoticed(_ fixture: TransportFixture) async throws {
        #expect(group.inFlight == 0)
        let other = try RawServer(.readHead, .respond("other"))
        _ = try await fixture.fetch(TransportFixture.request(to: other))
    }

    private static let zeros = String(repeating: "0", count: 15_000)

    @Test(
        "A connection is kept when the rest of a dropped body is short",
        arguments: [
            ("Content-Length: 5\r\n\r\nhe", "llo"), ("Content-Length: 5\r\n\r\n", "hello"),
            ("Content-Length: 20000\r\n\r\n" + zeros, String(zeros.prefix(5_000))),
            ("Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n", "3\r\nllo\r\n0\r\nX-End: bye\r\n\r\n"),
        ],
        [false, true]
    )
    func kept(texts: (head: String, rest: String), isBegun: Bool) async throws {
        let gate = Gate()
        let server = try RawServer(
            .readHead,
            .sendText("HTTP/1.1 404 Not Found\r\n" + texts.head),
            .wait(gate),
            .sendText(texts.rest),
            .serve("again")
        )
        let fixture = fixture(discardTime: .seconds(600))
        let request = try TransportFixture.request(to: server)
        let isReturned = Gate()
        weak var permit: Permit?
        do {
            var first = request
            let own = Permit(isReturned)
            permit = own
            first.permit = own
            let response = try await fixture.transport.execute(first, in: group)
            #expect(response.head.statusCode == 404)
            // Dropping an iterator is the same as dropping the body.
            if isBegun { _ = response.body.makeAsyncIterator() }
        }
        // The client has room for the next request while the rest is read. The connection is still in use.
        try await dropNoticed(fixture)
        #expect(permit != nil)
        gate.open()
        await isReturned.passage()
        let (second, body) = try await fixture.fetch(request)
        #expect(second.reusedConnection && body == Array("again".utf8))
        #expect(server.connections.count == 1)
        await fixture.transport.shutdown()
    }

    @Test(
        "A dropped body whose rest is long, or ends the connection, closes it",
        arguments: [
            "HTTP/1.1 404 Not Found\r\nContent-Length: 16390\r\n\r\nhe",
            "HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\nConnection: x, close\r\n\r\nhe",
            "HTTP/1.1 404 Not Found\r\n\r\nhe", "HTTP/1.0 404 Not Found\r\nContent-Length: 5\r\n\r\nhe",
        ]
    )
    func closed(text: String) async throws {
        let server = try RawServer(.readHead, .sendText(text), .hang)
        let fixture = fixture(discardTime: .seconds(600))
        do { _ = try await fixture.transport.execute(try TransportFixture.request(to: server), in: group) }
        try await server.awaitConnections { $0[0].isClosedByClient }
        #expect(group.inFlight == 0)
        await fixture.transport.shutdown()
    }

    @Test("A body that was dropped in part has no summary and no trailers")
    func incomplete() async throws {
        let gate = Gate()
        let server = try RawServer(
            .readHead,
            .sendText("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n"),
            .wait(gate),
            .sendText("3\r\nllo\r\n0\r\nX-End: bye\r\n\r\n"),
            .hang
        )
        let fixture = fixture(discardTime: .seconds(600))
        var request = try TransportFixture.request(to: server)
        let isReturned = Gate()
        request.permit = Permit(isReturned)
        let response = try await fixture.transport.execute(request, in: group)
        request.permit = nil
        do { _ = response.body.makeAsyncIterator() }
        try await dropNoticed(fixture)
        gate.open()
        await isReturned.passage()
        #expect(response.body.summary == nil && response.body.trailers == nil)
        await fixture.transport.shutdown()
    }

    @Test("The rest of a chunked body is read for 16 KiB at most")
    func longChunks() async throws {
        let gate = Gate()
        let chunk = RawServer.Step.sendText("3a98\r\n\(Self.zeros)\r\n")
        let server = try RawServer(
            .readHead,
            .sendText("HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\n"),
            .wait(gate),
            chunk,
            chunk,
            .hang
        )
        let fixture = fixture(discardTime: .seconds(600))
        do { _ = try await fixture.transport.execute(try TransportFixture.request(to: server), in: group) }
        // Bytes that arrive before the loop knows of the drop are no part of the rest.
        try await dropNoticed(fixture)
        gate.open()
        try await server.awaitConnections { $0[0].isClosedByClient }
        await fixture.transport.shutdown()
    }

    @Test("A slow rest of a dropped body, or a canceled reader, closes the connection")
    func slow() async throws {
        let text = "HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nhe"
        let server = try RawServer(.readHead, .sendText(text), .hang)
        let fixture = fixture(discardTime: .milliseconds(50))
        do { _ = try await fixture.transport.execute(try TransportFixture.request(to: server), in: group) }
        try await server.awaitConnections { $0[0].isClosedByClient }
        await fixture.transport.shutdown()
        let patient = self.fixture(discardTime: .seconds(600))
        let request = try TransportFixture.request(to: server)
        let reading = Task { try await patient.fetch(request) }
        try await server.awaitConnections { $0.count == 2 && $0[1].sent > 0 }
        reading.cancel()
        _ = await reading.result
        try await server.awaitConnections { $0[1].isClosedByClient }
        await patient.transport.shutdown()
    }
}
