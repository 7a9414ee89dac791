// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Testing

/// 100-continue (RFC 9110 section 10.1.1): libcurl waits a second before it sends without.
struct ExpectationTests {
    private func request(_ server: RawServer, _ body: RequestBodySource) throws -> TransferRequest {
        var request = try TransportFixture.request(to: server, method: .post, body: body)
        request.headerFields[try #require(HTTPField.Name("Expect"))] = "100-continue"
        return request
    }

    @Test("A body goes out once the server asks for it")
    func wanted() async throws {
        let server = try RawServer(
            .readHead,
            .sendText("HTTP/1.1 100 Continue\r\n\r\n"),
            .read(5),
            .respond("ok")
        )
        let answer = try await TransportFixture().fetch(try request(server, .bytes(Array("hello".utf8))))
        #expect(answer.body == Array("ok".utf8))
        #expect(server.count(of: "Expect: 100-continue\r\n") == 1 && server.text.hasSuffix("\r\n\r\nhello"))
    }

    @Test("A server that does not want the body does not get it", arguments: [200, 401, 413])
    func unwanted(status: Int) async throws {
        let server = try RawServer(.readHead, .respond("no", status: "\(status) No"), .readToEnd)
        let answer = try await TransportFixture().fetch(try request(server, .bytes(Array("hello".utf8))))
        #expect(answer.response.head.status.code == status && answer.body == Array("no".utf8))
        try await server.awaitConnections { $0[0].isClosedByClient }
        #expect(server.connections.first?.text.hasSuffix("\r\n\r\n") == true)
    }
}
