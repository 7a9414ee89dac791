// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Testing

@testable import HTTPDNSCurl

/// Fields after the body (RFC 9110 section 6.5).
struct TrailerTests {
    private static let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n"

    private func text(_ fields: HTTPFields?) -> [String]? {
        fields.map { $0.map { "\($0.name.rawName): \($0.value)" } }
    }

    @Test(
        "Trailers over HTTP/1.1 are there once the body has ended, and not before",
        arguments: [
            ("0\r\nX-End: bye\r\nx-sum:  7 \r\n\r\n", ["X-End: bye", "x-sum: 7"]),
            ("0\r\nX-End: a\r\n b\r\n\r\n", ["X-End: a b"]), ("0\r\nContent-Length: 9\r\n\r\n", ["Content-Length: 9"]),
            ("0\r\n\r\n", nil),
        ] as [(String, [String]?)]
    )
    func delivered(end: String, expected: [String]?) async throws {
        let gate = Gate()
        let server = try RawServer(.readHead, .sendText(Self.chunked), .wait(gate), .sendText(end), .hang)
        let fixture = TransportFixture()
        let response = try await fixture.send(try TransportFixture.request(to: server))
        var reader = response.body.makeAsyncIterator()
        #expect(try await reader.next() == Array("ok".utf8))
        #expect(response.body.trailers == nil)
        gate.open()
        #expect(try await reader.next() == nil)
        #expect(text(response.body.trailers?.fields) == expected)
        #expect(response.head.headerFields.count == 1, "trailers are no header fields")
        await fixture.transport.shutdown()
    }

    @Test("The trailers of one response are not those of the next one on the connection")
    func notKept() async throws {
        let server = try RawServer(
            .readHead,
            .sendText(Self.chunked + "0\r\nX-End: bye\r\n\r\n"),
            .readHead,
            .sendText(Self.chunked + "0\r\n\r\n"),
            .hang
        )
        let fixture = TransportFixture()
        let request = try TransportFixture.request(to: server)
        #expect(text(try await fixture.fetch(request).response.body.trailers?.fields) == ["X-End: bye"])
        let second = try await fixture.fetch(request).response
        #expect(second.reusedConnection && second.body.trailers == nil)
        await fixture.transport.shutdown()
    }

    @Test(
        "A trailer section that breaks the rules fails the body",
        arguments: [
            "0\r\n: no name\r\n\r\n", "0\r\n folded: first\r\n\r\n",
            "0\r\n" + String(repeating: "X: \(String(repeating: "a", count: 1000))\r\n", count: 310) + "\r\n",
            "0\r\n" + String(repeating: "X:\r\n", count: 10_001) + "\r\n",
        ]
    )
    func violation(end: String) async throws {
        let server = try RawServer(.readHead, .sendText(Self.chunked + end), .hang)
        let fixture = TransportFixture()
        let response = try await fixture.send(try TransportFixture.request(to: server))
        let failure = await #expect(throws: TransferFailure.self) { for try await _ in response.body {} }
        #expect(failure?.code == .protocolViolation && failure?.phase == .body, "\(failure as Any)")
        #expect(response.body.trailers == nil)
        try await server.awaitConnections { $0[0].isClosedByClient }
        await fixture.transport.shutdown()
    }

    /// libcurl quirk "Trailers after a length are lost over HTTP/2".
    @Test(
        "Trailers over HTTP/2 are delivered",
        .enabled(if: ServerRig.isAvailable([.nginx, .openssl]))
    )
    func http2() async throws {
        let frames =
            HTTP2Frames.head("200", endsStream: false) + HTTP2Frames.data(Array("ok".utf8), endsStream: false)
            + HTTP2Frames.trailers([("grpc-status", "0"), ("grpc-message", "fine")])
        let (server, relay) = try await TLSRelay.saying(frames)
        defer { withExtendedLifetime(server) {} }
        let fixture = try await TransportFixture.trustingRig()
        let request = try TransportFixture.request("https://one.test:\(relay.port)/", at: "127.0.0.1")
        let (response, body) = try await fixture.fetch(request)
        #expect(response.version == .http2 && body == Array("ok".utf8))
        #expect(text(response.body.trailers?.fields) == ["grpc-status: 0", "grpc-message: fine"])
        await fixture.transport.shutdown()
    }
}
