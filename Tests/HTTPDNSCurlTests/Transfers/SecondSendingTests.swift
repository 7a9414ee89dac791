// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Testing

@testable import HTTPDNSCurl

struct SecondSendingTests {
    @Test(
        "Only safe methods are sent twice, and hedged only without a stream as body",
        arguments: [
            (HTTPRequest.Method.get, true, true), (.head, true, true), (.options, true, true), (.trace, true, true),
            (.put, false, false), (.delete, false, false), (.post, false, false), (.patch, false, false),
        ]
    )
    func methods(method: HTTPRequest.Method, mayBeRepeated: Bool, mayBeHedged: Bool) throws {
        var request = TransferRequest(method: method, url: try ParsedURL("http://one.test/"), endpoints: [])
        #expect(request.mayBeRepeated == mayBeRepeated && request.mayBeHedged == mayBeHedged)
        request.body = .bytes([1])
        #expect(!request.mayBeRepeated && request.mayBeHedged == mayBeHedged)
        request.body = .stream(length: 1, AsyncThrowingStream { [1] })
        #expect(!request.mayBeRepeated && !request.mayBeHedged)
    }

    /// The test ends fifteen connections.
    @Test("Each GET on a kept connection that ends is answered")
    func keptConnections() async throws {
        let server = try RawServer(.readHead, .respond("ok"), .readHead)
        let fixture = TransportFixture()
        let request = try TransportFixture.request(to: server)
        for _ in 0..<15 {
            let (_, body) = try await fixture.fetch(request)
            #expect(body == Array("ok".utf8))
        }
        #expect(server.connections.count == 15)
    }
}
