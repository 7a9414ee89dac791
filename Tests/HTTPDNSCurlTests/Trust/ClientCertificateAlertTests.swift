// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import ServerRig
import Testing

@testable import HTTPDNSCurl

/// Servers that refuse the client's certificate over TLS 1.3: their alert comes after the client's handshake (RFC 8446
/// section 4.4.2).
@Suite(
    "Alerts after the TLS handshake",
    .enabled(if: ServerRig.isAvailable([.nginx, .openssl])),
    .timeLimit(.minutes(5))
)
struct ClientCertificateAlertTests {
    private static let demands = ["-tls1_3", "-Verify", "1", "-verify_return_error"]

    private func fixture(_ rig: ServerRig, certificate: String?) -> TransportFixture {
        var configuration = TransportConfiguration()
        configuration.trustRoots = .file(rig.certificateAuthorityFile)
        configuration.trust.clientCertificate = certificate.map {
            HTTPDNSTrust.ClientCertificate(
                certificateFile: rig.certificateFile("\($0).pem"),
                keyFile: rig.certificateFile("\($0).key")
            )
        }
        return TransportFixture(Transport(configuration))
    }

    @Test(
        "A missing and an unknown client certificate are TLS errors with the alert's text",
        arguments: [(nil, "certificate required"), ("stranger", "alert")] as [(String?, String)]
    )
    func http1(_ it: (certificate: String?, text: String)) async throws {
        let rig = try await ServerRig.shared()
        let server = try await TLSServer(
            certificate: rig.certificateFile("good.pem"),
            key: rig.certificateFile("good.key"),
            options: Self.demands + ["-CAfile", rig.certificateFile("clients-ca.pem")]
        )
        let fixture = fixture(rig, certificate: it.certificate)
        let request = try TransportFixture.request("https://one.test:\(server.port)/", at: "127.0.0.1")
        let failure = try #require(await fixture.failure(of: request))
        #expect(failure.code == .tlsFailed && failure.phase == .tls, "\(failure.code): \(failure)")
        #expect(failure.message.contains(it.text) && !failure.message.contains(".invalid"), "\(failure)")
        #expect(failure.message.contains(it.certificate == nil ? "no client certificate is set" : "was sent"))
        await fixture.transport.shutdown()
    }

    @Test("An alert over HTTP/2 is a TLS error, too, and the request is sent once")
    func http2() async throws {
        let rig = try await ServerRig.shared()
        let upstream = try RawServer(.hang)
        let server = try await TLSRelay(
            to: upstream.port,
            certificate: rig.certificateFile("good.pem"),
            key: rig.certificateFile("good.key"),
            protocols: "h2",
            options: Self.demands + ["-CAfile", rig.certificateFile("clients-ca.pem")]
        )
        // As through a network: the request is on its way when the alert comes. Else libcurl may find the connection closed
        // before it has read the alert.
        let relay = try TCPRelay(to: "127.0.0.1", port: server.port, delay: .milliseconds(100))
        let fixture = fixture(rig, certificate: nil)
        let request = try TransportFixture.request("https://one.test:\(relay.port)/", at: "127.0.0.1")
        let failure = try #require(await fixture.failure(of: request))
        #expect(failure.code == .tlsFailed && failure.message.contains("certificate required"), "\(failure)")
        #expect(relay.connectionCount == 1)
        await fixture.transport.shutdown()
    }
}
