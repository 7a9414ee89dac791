import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Testing

@testable import CurlTransport

/// Servers that answer before they have the whole request (RFC 9113 section 8.1).
@Suite(
    "Early responses over HTTP/2",
    .enabled(if: ServerRig.isAvailable([.nginx, .openssl])),
    .timeLimit(.minutes(10))
)
struct EarlyResponseTests {
    @Test(
        "a whole response ends the call although its request is not sent to the end",
        arguments: [
            (
                HTTPRequest.Method.post,
                HTTP2Frames.head("200", length: "2", endsStream: false) + HTTP2Frames.data("ok"), "ok"
            ),
            (.post, HTTP2Frames.head("200", length: "0", endsStream: true), ""),
            (.post, HTTP2Frames.head("204", endsStream: true), ""),
            (.put, HTTP2Frames.head("304", endsStream: true), ""),
            (.post, HTTP2Frames.head("413", length: "2", endsStream: false) + HTTP2Frames.data("no"), "no"),
        ]
    )
    func whole(method: HTTPRequest.Method, frames: [UInt8], text: String) async throws {
        let rig = try await ServerRig.shared()
        let (server, relay) = try await TLSRelay.saying(frames, rig)
        defer { withExtendedLifetime(server) {} }
        let fixture = TransportFixture(.platformDefault, trust: .file(rig.certificateAuthorityFile))
        let fed = HandFedStream()
        fed.feed.yield(Array("begun".utf8))
        let request = try TransportFixture.request(
            "https://one.test:\(relay.port)/",
            at: "127.0.0.1",
            method: method,
            body: .stream(length: nil, fed.stream)
        ) { $0.idle = .seconds(20) }
        let (_, body) = try await fixture.fetch(request)
        #expect(String(decoding: body, as: UTF8.self) == text)
        fed.feed.finish()
        await fixture.transport.shutdown(drainingFor: .zero)
    }

    @Test("a response without a length ends with the idle limit while its request is being sent")
    func withoutLength() async throws {
        let rig = try await ServerRig.shared()
        let frames = HTTP2Frames.head("200", endsStream: false) + HTTP2Frames.data("ok")
        let (server, relay) = try await TLSRelay.saying(frames, rig)
        defer { withExtendedLifetime(server) {} }
        let fixture = TransportFixture(.platformDefault, trust: .file(rig.certificateAuthorityFile))
        let fed = HandFedStream()
        fed.feed.yield(Array("begun".utf8))
        let request = try TransportFixture.request(
            "https://one.test:\(relay.port)/",
            at: "127.0.0.1",
            method: .post,
            body: .stream(length: nil, fed.stream)
        ) { $0.idle = .milliseconds(500) }
        let failure = await fixture.failure(of: request)
        #expect(failure?.code == .timedOut && failure?.phase == .body, "\(failure as Any)")
        fed.feed.finish()
        await fixture.transport.shutdown(drainingFor: .zero)
    }
}
