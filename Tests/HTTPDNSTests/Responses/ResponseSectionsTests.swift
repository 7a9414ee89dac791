// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import ServerRig
import Testing

@testable import HTTPDNS

/// The parts of a response besides its head and body: interim responses and trailers.
struct ResponseSectionsTests {
    private static let beginning = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n"
    private static let end = "0\r\nX-Sum: 7\r\n\r\n"
    private static let sum = HTTPField.Name("X-Sum")

    @Test("A body and a collected response have the trailers", arguments: [false, true])
    func trailers(inPieces: Bool) async throws {
        let gate = Gate()
        let name = try #require(Self.sum)
        let server = try RawServer(
            .readHead,
            .sendText(inPieces ? Self.beginning : Self.beginning + Self.end),
            .wait(gate),
            .sendText(inPieces ? Self.end : ""),
            .hang
        )
        let client = try await mappedClient(server.port)
        let response = try await client.get("http://one.test/")
        if inPieces { #expect(response.body.trailers == nil) }
        gate.open()
        let collected = try await HTTPDNSClient.Response.Collected(response, upTo: .bytes(10))
        #expect(collected.body == Array("ok".utf8) && collected.trailers[name] == "7")
        #expect(response.body.trailers?[name] == "7" && response.headerFields[name] == nil)
        try await client.shutdown()
    }

    @Test("A body without trailers has an empty list, and one from another source has none")
    func noTrailers() async throws {
        let server = try RawServer(.serve("ok"))
        let client = try await mappedClient(server.port)
        let response = try await client.get("http://one.test/")
        _ = try await response.body.collect(upTo: .bytes(10))
        #expect(response.body.trailers == [:])
        #expect(HTTPDNSClient.Response.Body.bytes([1]).trailers == nil)
        try await client.shutdown()
    }

    @Test("A request reports the interim responses of each of its hops")
    func interim() async throws {
        let hint = "HTTP/1.1 103 Early Hints\r\nLink: </%>\r\n\r\n"
        let server = try RawServer(
            .readHead,
            .sendText(hint.replacing("%", with: "a")),
            .respond(status: "302 Found", fields: "Location: /b\r\n"),
            .readHead,
            .sendText(hint.replacing("%", with: "b")),
            .respond("ok"),
            .hang
        )
        let client = try await mappedClient(server.port)
        let seen = Lock<[String]>([])
        var request = HTTPDNSClient.Request(url: "http://one.test/a")
        request.onInterimResponse = { response in
            seen.withLock { $0.append("\(response.status.code) \(response.headerFields.map(\.value))") }
        }
        request.changeOptions { $0.timeouts.total = .seconds(60) }
        let response = try await client.execute(request)
        #expect(response.status == .ok && response.exchanges.count == 2)
        #expect(seen.withLock { $0 } == ["103 [\"</a>\"]", "103 [\"</b>\"]"])
        request.onInterimResponse = nil
        #expect(request.options.timeouts.total == .seconds(60) && request.onInterimResponse == nil)
        try await client.shutdown()
    }

    @Test("A dropped 404 leaves its connection to the next request")
    func dropped() async throws {
        let server = try RawServer(.repeatForever([.readHead, .respond("no such page", status: "404 Not Found")]))
        let client = try await mappedClient(server.port)
        do { #expect(try await client.get("http://one.test/").status.code == 404) }
        while client.sender.transfersInFlight > 0, !Task.isCancelled { await Task.yield() }
        let second = try await client.get("http://one.test/")
        #expect(second.exchanges.last?.reusedConnection == true)
        try await client.shutdown()
    }
}
