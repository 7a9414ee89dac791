// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Testing

@testable import HTTPDNSCurl

/// Bodies that only the end of the connection ends (RFC 9112 section 6.3): over TLS the end is known by close_notify (RFC 8446
/// section 6.1).
struct CloseDelimitedBodyTests {
    private func request(_ rig: ServerRig, _ relay: TCPRelay, _ path: String, _ method: HTTPRequest.Method = .get)
        throws
        -> TransferRequest
    {
        // nginx sends no chunks to a client of HTTP/1.0.
        try TransportFixture.request(
            "https://one.test:\(relay.port)\(path)",
            at: relay.address,
            method: method,
            versions: .http10Only
        )
    }

    @Test(
        "A TLS body is whole after close_notify",
        .enabled(if: ServerRig.isAvailable([.nginx])),
        arguments: ["/drip?count=2&every=0", "/gzip/text.txt"]
    )
    func tls(path: String) async throws {
        let rig = try await ServerRig.shared()
        let fixture = TransportFixture(trust: .file(rig.certificateAuthorityFile))
        let relay = try TCPRelay(to: "127.0.0.2", port: rig.tlsPort)
        let (response, body) = try await fixture.fetch(request(rig, relay, path))
        #expect(response.head.headerFields[.contentLength] == nil && response.version == .http11, "\(response.head)")
        #expect(!body.isEmpty)
        // The option of this transfer does not stay with the handle.
        #expect(try await fixture.fetch(request(rig, relay, "/health")).response.head.status == .ok)
        await fixture.transport.shutdown()
    }

    @Test(
        "A TLS body that is cut off is an error",
        .enabled(if: ServerRig.isAvailable([.nginx])),
        arguments: [false, true]
    )
    func cutOff(resetting: Bool) async throws {
        let rig = try await ServerRig.shared()
        let fixture = TransportFixture(trust: .file(rig.certificateAuthorityFile))
        let relay = try TCPRelay(to: "127.0.0.2", port: rig.tlsPort)
        let response = try await fixture.send(request(rig, relay, "/drip?count=3&every=60"))
        var received = 0
        let failure = await #expect(throws: TransferFailure.self) {
            for try await chunk in response.body {
                received += chunk.count
                relay.endConnections(resetting: resetting)
            }
        }
        #expect(received > 0 && failure?.code == .connectionLost && failure?.phase == .body, "\(failure as Any)")
        #expect(failure?.requestMayHaveBeenSent == true && failure?.curlCode == 56, "\(failure as Any)")
        if !resetting { #expect(failure?.message.contains("close_notify") == true, "\(failure as Any)") }
        await fixture.transport.shutdown()
    }

    @Test(
        "A TLS response without a body needs no close_notify",
        .enabled(if: ServerRig.isAvailable([.nginx])),
        arguments: [("/drip?count=3&every=60", HTTPRequest.Method.head), ("/empty", .get)]
    )
    func withoutBody(path: String, method: HTTPRequest.Method) async throws {
        let rig = try await ServerRig.shared()
        let fixture = TransportFixture(trust: .file(rig.certificateAuthorityFile))
        let relay = try TCPRelay(to: "127.0.0.2", port: rig.tlsPort)
        #expect(try await fixture.fetch(request(rig, relay, path, method)).body.isEmpty)
        await fixture.transport.shutdown()
    }

    /// Nothing distinguishes its end from a cut.
    @Test("A clear-text body is whole at the end of the connection, and an error at a reset", arguments: [false, true])
    func clearText(isReset: Bool) async throws {
        let hasBody = Gate()
        let server = try RawServer(
            .readHead,
            .sendText("HTTP/1.1 200 OK\r\n\r\nhello"),
            .wait(hasBody),
            isReset ? .reset : .shutdownSending
        )
        let fixture = TransportFixture()
        let response = try await fixture.send(TransportFixture.request(to: server))
        var body: [UInt8] = []
        do {
            for try await chunk in response.body {
                body += chunk
                hasBody.open()
            }
            #expect(!isReset)
        } catch let failure as TransferFailure {
            #expect(isReset && failure.code == .connectionLost && failure.phase == .body, "\(failure)")
        }
        #expect(body == Array("hello".utf8))
        await fixture.transport.shutdown()
    }
}
