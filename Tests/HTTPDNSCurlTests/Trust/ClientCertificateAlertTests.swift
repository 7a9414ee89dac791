// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Testing

@testable import HTTPDNSCurl

/// Servers that refuse the client's certificate. Over TLS 1.3 their alert comes after the client's handshake (RFC 8446 section
/// 4.4.2), and over TLS 1.2 within it.
@Suite(
    "Alerts about client certificates",
    .enabled(if: ServerRig.isAvailable([.nginx, .openssl]))
)
struct ClientCertificateAlertTests {
    private static let demands = ["-Verify", "1", "-verify_return_error"]

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
        arguments: [
            ("-tls1_3", nil, "certificate required"), ("-tls1_3", "stranger", "alert"),
            ("-tls1_2", nil, "alert handshake failure"), ("-tls1_2", "stranger", "alert"),
        ] as [(String, String?, String)]
    )
    func http1(_ it: (version: String, certificate: String?, text: String)) async throws {
        let rig = try await ServerRig.shared()
        let server = try await TLSServer(
            options: [it.version] + Self.demands + ["-CAfile", rig.certificateFile("clients-ca.pem")]
        )
        let fixture = fixture(rig, certificate: it.certificate)
        let request = try TransportFixture.request("https://one.test:\(server.port)/", at: "127.0.0.1")
        let failure = try #require(await fixture.failure(of: request))
        #expect(failure.code == .clientCertificateRefused && failure.phase == .tls, "\(failure.code): \(failure)")
        #expect(failure.message.contains(it.text) && !failure.message.contains(".invalid"), "\(failure)")
        #expect(failure.message.contains(it.certificate == nil ? "no client certificate is set" : "was sent"))
        await fixture.transport.shutdown()
    }

    /// The alert is that of a missing certificate, and comes before the server would ask for one.
    @Test("A server without a common cipher suite refuses no client certificate")
    func negotiation() async throws {
        let rig = try await ServerRig.shared()
        let server = try await TLSServer(
            options: ["-tls1_2", "-cipher", "ADH-AES128-SHA256:@SECLEVEL=0"] + Self.demands
        )
        let fixture = fixture(rig, certificate: nil)
        let request = try TransportFixture.request("https://one.test:\(server.port)/", at: "127.0.0.1")
        let failure = try #require(await fixture.failure(of: request))
        #expect(failure.code == .tlsFailed && failure.phase == .tls, "\(failure.code): \(failure)")
        #expect(failure.message.contains("alert handshake failure"), "\(failure)")
        await fixture.transport.shutdown()
    }

    @Test("An alert over HTTP/2 is a TLS error, too, and the request is sent once")
    func http2() async throws {
        let rig = try await ServerRig.shared()
        let upstream = try RawServer(.hang)
        let server = try await TLSRelay(
            to: upstream.port,
            protocols: "h2",
            options: ["-tls1_3"] + Self.demands + ["-CAfile", rig.certificateFile("clients-ca.pem")]
        )
        // As through a network: the request is on its way when the alert comes. Else libcurl may find the connection closed
        // before it has read the alert.
        let relay = try TCPRelay(to: "127.0.0.1", port: server.port, delay: .milliseconds(100))
        let fixture = fixture(rig, certificate: nil)
        let request = try TransportFixture.request("https://one.test:\(relay.port)/", at: "127.0.0.1")
        let failure = try #require(await fixture.failure(of: request))
        #expect(failure.code == .clientCertificateRefused, "\(failure.code): \(failure)")
        #expect(failure.message.contains("certificate required"), "\(failure)")
        #expect(relay.connectionCount == 1)
        await fixture.transport.shutdown()
    }

    @Test(
        "Alerts about a certificate are told from others",
        arguments: [
            ("OpenSSL SSL_read: error:0A00045C:SSL routines::tlsv13 alert certificate required, errno 0", true),
            ("error:0A000412:SSL routines::sslv3 alert bad certificate", true),
            ("error:0A000412:SSL routines::ssl/tls alert bad certificate", true),
            ("error:0A000413:SSL routines::sslv3 alert unsupported certificate", true),
            ("error:0A000415:SSL routines::sslv3 alert certificate expired", true),
            ("error:0A000418:SSL routines::tlsv1 alert unknown ca", true),
            ("error:0A000419:SSL routines::tlsv1 alert access denied", true),
            ("error:0A000438:SSL routines::tlsv1 alert internal error", false),
            ("error:0A000410:SSL routines::sslv3 alert handshake failure", false),
            ("error:0A000086:SSL routines::certificate verify failed", false),
        ]
    )
    func texts(text: String, isAboutCertificate: Bool) {
        #expect(EasyHandle.isAboutClientCertificate(text) == isAboutCertificate)
    }

    /// As HAProxy does: the reset overtakes its alert.
    @Test("A reset where a certificate was asked for names that possible reason", arguments: [true, false])
    func reset(asks: Bool) async throws {
        let rig = try await ServerRig.shared()
        let reached = Gate()
        let upstream = try RawServer(.readHead, .open(reached), .hang)
        let server = try await TLSRelay(
            to: upstream.port,
            protocols: "http/1.1",
            options: ["-tls1_3"] + (asks ? ["-verify", "1"] : [])
        )
        let relay = try TCPRelay(to: "127.0.0.1", port: server.port)
        let fixture = fixture(rig, certificate: nil)
        let request = try TransportFixture.request("https://one.test:\(relay.port)/", at: "127.0.0.1", method: .post)
        async let answer = fixture.failure(of: request)
        await reached.passage()
        relay.endConnections(resetting: true)
        let failure = try #require(await answer)
        #expect(failure.code == .connectionLost && failure.requestMayHaveBeenSent, "\(failure.code): \(failure)")
        #expect(failure.message.contains("asked for a client certificate") == asks, "\(failure)")
        await fixture.transport.shutdown()
    }
}
