// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Testing

@testable import HTTPDNSCurl

struct TransportAnswerTests {
    private static func failure(
        answering text: String,
        then bytes: [UInt8] = [],
        method: HTTPRequest.Method = .get
    ) async throws -> TransferFailure {
        let server = try RawServer(.readHead, .sendText(text), .send(bytes), .hang)
        let request = try TransportFixture.request(to: server, method: method)
        return try #require(await TransportFixture().failure(of: request))
    }

    @Test("An unrequested switch of protocols fails immediately, however much follows")
    func switchingProtocols() async throws {
        let failure = try await Self.failure(
            answering: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
            then: Array(repeating: 65, count: 4 * Transfer.window)
        )
        #expect(failure.code == .protocolViolation && failure.message.contains("101"))
        #expect(failure.requestMayHaveBeenSent)
    }

    @Test("A head without an end is cut, and the error names it")
    func longHeads() async throws {
        let text = String(repeating: "a", count: 1_000)
        let heads = [
            "HTTP/1.1 200 OK\r\nX: " + String(repeating: text, count: 200) + "\r\n\r\n",
            "HTTP/1.1 200 OK\r\n" + String(repeating: "X: \(text)\r\n", count: 500) + "\r\n",
            String(repeating: "HTTP/1.1 103 Early Hints\r\nX: \(text)\r\n\r\n", count: 500),
        ]
        for head in heads {
            let failure = try await Self.failure(answering: head)
            #expect(failure.code == .protocolViolation && failure.message.contains("head is too long"), "\(failure)")
        }
    }

    /// The end of its response would be unknown.
    @Test("A HEAD request with a body is refused")
    func headWithBody() async throws {
        let server = try RawServer(.readHead, .sendText("HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n"), .hang)
        let request = try TransportFixture.request(to: server, method: .head, body: .bytes([1]))
        let failure = try #require(await TransportFixture().failure(of: request))
        #expect(failure.code == .invalidRequest && !failure.requestMayHaveBeenSent)
        #expect(server.connections.isEmpty)
    }

    @Test("The size limit holds for bytes that libcurl kept back from a paused reader")
    func limitAfterPause() async throws {
        // libcurl hands over 16 KiB at a time: the window is full after 17 of them, less the head, and the rest is kept.
        let size = Transfer.window + 16_384 + 5_000
        let server = try RawServer(
            .readHead,
            .sendText("HTTP/1.1 200 OK\r\nContent-Length: \(size * 2)\r\n\r\n"),
            .send(Array(repeating: 1, count: size)),
            .hang
        )
        let request = try TransportFixture.request(to: server) { $0.maximumResponseBytes = size - 1_000 }
        let response = try await TransportFixture().send(request)
        // Nothing tells when libcurl has paused; on a machine too slow for this the test is only easier.
        try await SystemTimeSource().sleep(until: SystemTimeSource().now() + .milliseconds(50))
        let failure = await #expect(throws: TransferFailure.self) { for try await _ in response.body {} }
        #expect(failure?.code == .responseTooLarge)
    }
}
