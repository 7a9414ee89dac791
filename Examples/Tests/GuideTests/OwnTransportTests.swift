// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPTypes
import Testing

/// A server in the same process, in place of libcurl: no socket is opened.
struct InProcessTransport: HTTPDNSTransport {
    let serve: @Sendable (HTTPDNSHop, [UInt8]) async throws -> (HTTPResponse, [UInt8])

    func send(_ hop: HTTPDNSHop) async throws -> HTTPDNSHop.Response {
        guard let endpoint = hop.endpoints.first else { throw HTTPDNSTransportError("no address", isUnsent: true) }
        var body: [UInt8] = []
        for try await chunk in hop.body { body += chunk }
        let (head, bytes) = try await serve(hop, body)
        return HTTPDNSHop.Response(head, from: endpoint, body: bytes)
    }
}

@Suite("A transport in place of libcurl")
struct OwnTransportTests {
    @Test("A client sends its requests to a server in the same process")
    func inProcess() async throws {
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.mappings = [try HTTPDNSMapping.Key("shop.example"): .addresses(["203.0.113.7"])]
        let transport = InProcessTransport { hop, body in
            (HTTPResponse(status: .ok), Array("\(hop.serverName) at \(hop.endpoints[0]) got \(body.count) bytes".utf8))
        }
        let client = try await HTTPDNSClient(configuration: configuration, on: transport)
        let response = try await client.post("https://shop.example/orders", body: .text("one"))
        #expect(try await response.text() == "shop.example at 203.0.113.7:443 got 3 bytes")
        try await client.shutdown()
    }
}
