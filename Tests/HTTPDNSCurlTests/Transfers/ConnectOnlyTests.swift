// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPDNSPrimitives
import ServerRig
import Testing

struct ConnectOnlyTests {
    /// The connection is closed.
    @Test("A held-back request ends once connected, without a byte sent")
    func sendsNothing() async throws {
        let server = try RawServer(.readHead, .respond(), .hang)
        var request = try TransportFixture.request(to: server)
        request.stopsBeforeSending = true
        let fixture = TransportFixture()
        let failure = try #require(await fixture.failure(of: request))
        #expect(failure.code == .connectOnly && failure.phase == .send)
        #expect(!failure.requestMayHaveBeenSent)
        #expect(failure.endpoint?.port == server.port)
        let connection = try #require(
            try await server.awaitConnections { $0.count == 1 && $0[0].isClosedByClient }.first
        )
        #expect(connection.received == [])
        // The next request of the same name is not harmed, and does not find the connection.
        request.stopsBeforeSending = false
        #expect(try await fixture.send(request).reusedConnection == false)
    }
}

@Suite("A request that is held back, with TLS", .enabled(if: ServerRig.isAvailable([.nginx, .bind])))
struct ConnectOnlyTLSTests {
    @Test("A held-back request requires that TLS has proved the name")
    func provesFirst() async throws {
        let rig = try await ServerRig.shared()
        let fixture = TransportFixture(trust: .file(rig.certificateAuthorityFile))
        for (address, code) in [("127.0.0.2", TransferFailure.Code.connectOnly), ("127.0.0.5", .certificateRefused)] {
            var request = try TransportFixture.request("https://one.test:\(rig.tlsPort)/", at: address)
            request.stopsBeforeSending = true
            let failure = try #require(await fixture.failure(of: request))
            #expect(failure.code == code)
            #expect(!failure.requestMayHaveBeenSent)
        }
    }
}
