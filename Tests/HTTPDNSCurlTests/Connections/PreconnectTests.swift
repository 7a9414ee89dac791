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
        var configuration = TransportConfiguration()
        configuration.trust.roots = .file(rig.certificateAuthorityFile)
        // The session tickets of TLS 1.3 come after the handshake (libcurl quirk "Unread session tickets").
        if (versions == .http1Only) == CurlLibrary.closesWithUnreadTickets {
            configuration.trust.maximumVersion = .tls12
        }
        let fixture = TransportFixture(Transport(configuration))
        let url = "https://preconnect-\(versions).wild.test:\(rig.tlsPort)/a.jpg".lowercased()
        let request = try TransportFixture.request(url, at: "127.0.0.2", versions: versions)
        var ahead = request
        (ahead.method, ahead.stopsBeforeSending, ahead.keepsConnection) = (.head, true, true)
        let (mark, host) = (rig.accessLogMark(), request.url.hostText)
        for _ in 0..<2 { #expect(await fixture.failure(of: ahead)?.code == .connectOnly) }
        let response = try await fixture.fetch(request).response
        #expect(response.version == (versions == .automatic ? .http2 : .http11))
        #expect(response.reusedConnection)
        let lines = try await rig.awaitAccessLog(since: mark) { $0.sni == host }
        #expect(lines.map(\.method) == ["GET"])
        await fixture.transport.shutdown()
    }

    @Test(
        "libcurl 7 closes an HTTP/2 connection that has nothing but session tickets",
        .enabled(if: ServerRig.isAvailable([.openssl]) && !CurlLibrary.closesWithUnreadTickets)
    )
    func onlyTickets() async throws {
        let server = try RawServer(.hang)
        let relay = try await TLSRelay(to: server.port, protocols: "h2", options: ["-tls1_3"])
        let fixture = try await TransportFixture.trustingRig()
        var ahead = try TransportFixture.request("https://one.test:\(relay.port)/", at: "127.0.0.1")
        (ahead.method, ahead.stopsBeforeSending, ahead.keepsConnection) = (.head, true, true)
        #expect(await fixture.failure(of: ahead)?.code == .connectOnly)
        try await SocketTable.awaitUnread(to: relay.port) { ($0 ?? 0) > 0 }
        #expect(await fixture.failure(of: ahead)?.code == .connectOnly)
        // Each connection begins with the preface of HTTP/2 (RFC 9113, 3.4).
        let prefaces: @Sendable (RawServer.Connection) -> Int = {
            $0.text.split(separator: "PRI * HTTP/2.0", omittingEmptySubsequences: false).count - 1
        }
        let connections = try await server.awaitConnections { prefaces($0[0]) > 1 }
        #expect(prefaces(connections[0]) == 2)
        await fixture.transport.shutdown()
    }
}
