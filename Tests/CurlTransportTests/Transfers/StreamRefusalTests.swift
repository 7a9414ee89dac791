import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Testing

@testable import CurlTransport

@Suite("Refused HTTP/2 streams")
struct StreamRefusalTests {
    private static let own = "Using Stream ID: 5 (easy handle 0x55d0)\n"

    @Test(
        "what libcurl's trace proves",
        arguments: [
            ([own], false), (["REFUSED_STREAM, retrying a fresh connect\n"], true),
            ([own, "recveived GOAWAY, error=0, last_stream=3\n"], true),
            ([own, "received GOAWAY, error=0, last_stream=3\n"], true),
            ([own, "recveived GOAWAY, error=0, last_stream=5\n"], false),
            ([own, "recveived GOAWAY, error=0, last_stream=2147483647\n"], false),
            (
                [
                    own, "recveived GOAWAY, error=0, last_stream=2147483647\n",
                    "recveived GOAWAY, error=0, last_stream=1\n",
                ], true
            ),
            (["recveived GOAWAY, error=0, last_stream=3\n"], false),
            ([own, "recveived GOAWAY, error=0, last_stream="], false),
            (
                [own, "recveived GOAWAY, error=0, last_stream=x\n", "Connection died, retrying a fresh connect\n"],
                false
            ),
            ([own, "x received GOAWAY, error=0, last_stream=1\n"], false), ([""], false),
        ]
    )
    func lines(lines: [String], isCertain: Bool) {
        var refusal = StreamRefusal()
        for line in lines {
            var line = line
            line.withUTF8 { refusal.read(UnsafeRawBufferPointer($0)) }
        }
        #expect(refusal.isCertain == isCertain)
    }
}

/// GOAWAY and REFUSED_STREAM, against frames that no real server sends on demand.
@Suite(
    "HTTP/2 streams that end badly",
    .enabled(if: ServerRig.isAvailable([.nginx, .openssl])),
    .timeLimit(.minutes(10))
)
struct RefusedStreamOverTLSTests {
    @Test(
        "a POST was not sent when its stream was refused or came after the last one, and may have been otherwise",
        arguments: [
            ("REFUSED_STREAM", HTTP2Frames.reset(7), false),
            ("GOAWAY, last stream 0", HTTP2Frames.goAway(last: 0), false),
            ("INTERNAL_ERROR", HTTP2Frames.reset(2), true), ("CANCEL", HTTP2Frames.reset(8), true),
            (
                "GOAWAY, last stream 1, and INTERNAL_ERROR", HTTP2Frames.goAway(last: 1) + HTTP2Frames.reset(2),
                true
            ),
        ],
        [true, false]
    )
    func post(_ said: (name: String, frames: [UInt8], mayHaveArrived: Bool), hasBody: Bool) async throws {
        let rig = try await ServerRig.shared()
        let (server, relay) = try await TLSRelay.saying(said.frames, rig)
        defer { withExtendedLifetime(server) {} }
        var configuration = TransportConfiguration()
        configuration.trustRoots = .file(rig.certificateAuthorityFile)
        let transport = Transport(configuration)
        var request = TransferRequest(
            method: .post,
            url: try ParsedURL("https://one.test:\(relay.port)/"),
            body: hasBody ? .bytes(Array("x".utf8)) : .none,
            endpoints: [Endpoint(address: IPAddress(v4: 127, 0, 0, 1), port: relay.port)]
        )
        request.limits.connect = .seconds(60)
        request.limits.tls = .seconds(60)
        let failure = await #expect(throws: TransferFailure.self) { try await transport.execute(request) }
        #expect(failure?.code == .connectionLost, "\(said.name): \(failure as Any)")
        #expect(failure?.requestMayHaveBeenSent == said.mayHaveArrived, "\(said.name): \(failure as Any)")
        await transport.shutdown(drainingFor: .zero)
    }
}
