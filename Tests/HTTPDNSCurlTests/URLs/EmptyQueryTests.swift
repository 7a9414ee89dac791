// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPDNSPrimitives
import ServerRig
import Testing

/// A URL with an empty query is another URL than that without one (RFC 3986 section 6.2.3).
struct EmptyQueryTests {
    @Test("An empty query is in the request line, and not in that of the next request")
    func direct() async throws {
        let server = try RawServer(.serve("ok"))
        let fixture = TransportFixture()
        for path in ["/a?", "/b", "/c?d?", "/e"] { try await fixture.fetch(TransportFixture.request(to: server, path)) }
        #expect(
            server.text.split(separator: "\r\n").filter { $0.hasPrefix("GET ") } == [
                "GET /a? HTTP/1.1", "GET /b HTTP/1.1", "GET /c?d? HTTP/1.1", "GET /e HTTP/1.1",
            ]
        )
        await fixture.transport.shutdown()
    }

    @Test("A proxy gets the URL with its empty query")
    func proxy() async throws {
        let server = try RawServer(.serve("ok"))
        let fixture = TransportFixture()
        let loopback = HTTPDNSAddress(v4: 127, 0, 0, 1)
        var request = try TransportFixture.request("http://one.test/a?", at: "192.0.2.7")
        // The proxy resolves the name: the transport connects to the proxy alone.
        request.endpoints = [HTTPDNSEndpoint(address: loopback, port: server.port)]
        request.egressPath = EgressPath(
            proxy: EgressProxy(kind: .http, host: .address(loopback), port: server.port, addresses: [loopback])
        )
        try await fixture.fetch(request)
        #expect(server.text.hasPrefix("GET http://one.test/a? HTTP/1.1\r\n"), "\(server.text)")
        await fixture.transport.shutdown()
    }

    @Test(
        "A reference keeps its empty query",
        arguments: [("b?", "http://one.test/b?"), ("?", "http://one.test/a?"), ("//two.test?", "http://two.test/?")]
    )
    func reference(reference: String, expected: String) throws {
        #expect(try ParsedURL("http://one.test/a").following(reference).description == expected)
    }
}
