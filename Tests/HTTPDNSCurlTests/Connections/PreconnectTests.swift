// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Testing

struct PreconnectTests {
    @Test("A connection made ahead sends nothing, and serves the next request")
    func kept() async throws {
        let server = try RawServer(.serve())
        let fixture = TransportFixture()
        let request = try TransportFixture.request(to: server)
        var ahead = request
        (ahead.method, ahead.stopsBeforeSending, ahead.keepsConnection) = (.head, true, true)
        let failure = try #require(await fixture.failure(of: ahead))
        #expect(failure.code == .connectOnly && !failure.requestMayHaveBeenSent)
        #expect(try await server.awaitConnections { $0.count == 1 }[0].received == [])
        // A second one finds it.
        #expect(await fixture.failure(of: ahead)?.code == .connectOnly)
        for _ in 0..<2 { #expect(try await fixture.fetch(request).response.reusedConnection) }
        #expect(server.connections.count == 1)
        #expect(server.connections[0].text.hasPrefix("GET / HTTP/1.1"))
        #expect(!server.connections[0].text.contains("HEAD"))
        await fixture.transport.shutdown()
    }

    @Test("A connection that cannot be made ahead has the error of a request")
    func refused() async throws {
        let server = try RawServer(.hang)
        try await server.refuse()
        let fixture = TransportFixture()
        var ahead = try TransportFixture.request(to: server)
        (ahead.stopsBeforeSending, ahead.keepsConnection) = (true, true)
        #expect(await fixture.failure(of: ahead)?.code == .connectFailed)
        await fixture.transport.shutdown()
    }
}

@Suite("Connections made ahead, with TLS", .enabled(if: ServerRig.isAvailable([.nginx])))
struct PreconnectTLSTests {
    @Test(
        "A connection made ahead completes TLS, over HTTP/2 and HTTP/1.1",
        arguments: [HTTPDNSTransfer.AllowedVersions.automatic, .http1Only]
    )
    func kept(versions: HTTPDNSTransfer.AllowedVersions) async throws {
        let rig = try await ServerRig.shared()
        let fixture = TransportFixture(trust: .file(rig.certificateAuthorityFile))
        let url = "https://preconnect-\(versions).wild.test:\(rig.tlsPort)/a.jpg".lowercased()
        let request = try TransportFixture.request(url, at: "127.0.0.2", versions: versions)
        var ahead = request
        (ahead.method, ahead.stopsBeforeSending, ahead.keepsConnection) = (.head, true, true)
        let (mark, host) = (rig.accessLogMark(), request.url.hostText)
        for _ in 0..<2 { #expect(await fixture.failure(of: ahead)?.code == .connectOnly) }
        let response = try await fixture.fetch(request).response
        #expect(response.version == (versions == .automatic ? .http2 : .http11))
        // Over HTTP/1.1 the session tickets of TLS 1.3 are unread, and libcurl 8 closes the connection if they have arrived.
        if versions == .automatic || !CurlLibrary.closesWithUnreadTickets { #expect(response.reusedConnection) }
        let lines = try await rig.awaitAccessLog(since: mark) { $0.sni == host }
        #expect(lines.map(\.method) == ["GET"])
        await fixture.transport.shutdown()
    }
}
