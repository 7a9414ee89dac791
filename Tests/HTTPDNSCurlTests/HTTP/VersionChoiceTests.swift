// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Testing

/// As far as it shows on the wire in clear text.
struct VersionChoiceTests {
    private func request(
        _ server: RawServer,
        _ versions: HTTPDNSTransfer.AllowedVersions,
        body: RequestBodySource = .none
    ) throws
        -> TransferRequest
    {
        try TransportFixture.request(to: server, method: .post, body: body, versions: versions)
    }

    @Test("HTTP/1.0 and 1.1 are on the request line as chosen")
    func requestLine() async throws {
        let fixture = TransportFixture()
        for (versions, line) in [
            (.http10Only, "POST / HTTP/1.0\r\n"), (.http1Only, "POST / HTTP/1.1\r\n"),
            (.automatic, "POST / HTTP/1.1\r\n"),
        ] as [(HTTPDNSTransfer.AllowedVersions, String)] {
            let server = try RawServer(.readHead, .sendText("HTTP/1.0 200 OK\r\n\r\nok"))
            let (response, body) = try await fixture.fetch(try request(server, versions))
            #expect(response.version == .http10 && body == Array("ok".utf8))
            #expect(server.connections.first?.text.hasPrefix(line) == true)
        }
    }

    @Test("A body of unknown length cannot go over HTTP/1.0, and nothing is sent")
    func chunksOverHTTP10() async throws {
        let server = try RawServer(.readHead, .readToEnd)
        let fixture = TransportFixture()
        let fed = HandFedStream()
        let request = try request(server, .http10Only, body: .stream(length: nil, fed.stream))
        let failure = try #require(await fixture.failure(of: request))
        #expect(failure.code == .invalidRequest && failure.message.contains("unknown length"))
        #expect(!failure.requestMayHaveBeenSent && server.connections.isEmpty)
    }

    @Test(
        "Requests over HTTP/2 in clear text succeed, one after the other and concurrently",
        .enabled(if: ServerRig.isAvailable([.nginx])),
        arguments: [1, 20]
    )
    func clearText(inFlight: Int) async throws {
        var load = RequestLoad(origin: try await NginxOrigin(nil), transport: Transport(TransportConfiguration()))
        load.scheme = "http"
        load.versions = .http2Only
        load.inFlight = inFlight
        load.methods = [.get, .post]
        let outcome = try await load.run(20)
        #expect(
            outcome.failures.isEmpty && outcome.processed.count == 20 && outcome.processedTwice.isEmpty,
            "\(outcome)"
        )
        // With a libcurl of 7.88 each has a connection to itself.
        #expect(CurlLibrary.limitsClearTextHTTP2 == (outcome.connections == 20), "\(outcome)")
        await load.transport.shutdown(drainingFor: .zero)
    }

    /// Frames of RFC 9113: empty SETTINGS, then HEADERS of stream 1 with `:status: 200`, which end it.
    private static let frames: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 1, 1, 5, 0, 0, 0, 1, 0x88]

    @Test("HTTP/2 alone, in clear text, begins with the preface of HTTP/2")
    func priorKnowledge() async throws {
        let server = try RawServer(.readHead, .read(60), .send(Self.frames), .readToEnd)
        var request = try request(server, .http2Only)
        request.method = .get
        let (response, body) = try await TransportFixture().fetch(request)
        #expect(response.version == .http2 && response.head.status == .ok && body.isEmpty)
        #expect(server.connections.first?.text.hasPrefix("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") == true)
    }
}
