// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Testing

@testable import HTTPDNSCurl

/// GOAWAY and REFUSED_STREAM, against frames that no real server sends on demand.
@Suite(
    "HTTP/2 streams that end badly",
    .enabled(if: ServerRig.isAvailable([.nginx, .openssl]))
)
struct RefusedStreamTests {
    private static let answer = HTTP2Frames.head("204", endsStream: true)

    private func request(_ relay: TLSRelay, body: RequestBodySource) throws -> TransferRequest {
        try TransportFixture.request(
            "https://one.test:\(relay.port)/",
            at: "127.0.0.1",
            method: .post,
            body: body
        ) {
            $0.connect = .seconds(60)
            $0.tls = .seconds(60)
        }
    }

    @Test(
        "A POST that was certainly not processed is sent again",
        arguments: [
            ("REFUSED_STREAM", HTTP2Frames.reset(7)), ("GOAWAY, last stream 0", HTTP2Frames.goAway(last: 0)),
        ],
        [RequestBodySource.none, .bytes(Array("x".utf8))]
    )
    func notProcessed(_ said: (name: String, frames: [UInt8]), body: RequestBodySource) async throws {
        let (server, relay) = try await TLSRelay.saying([said.frames, Self.answer])
        defer { withExtendedLifetime(server) {} }
        let fixture = try await TransportFixture.trustingRig()
        let (response, _) = try await fixture.fetch(try request(relay, body: body))
        #expect(response.head.status == .noContent, "\(said.name)")
        await fixture.transport.shutdown(drainingFor: .zero)
    }

    @Test(
        "A POST that may have been processed is not sent again",
        arguments: [
            ("INTERNAL_ERROR", HTTP2Frames.reset(2)), ("CANCEL", HTTP2Frames.reset(8)),
            ("GOAWAY, last stream 1, and INTERNAL_ERROR", HTTP2Frames.goAway(last: 1) + HTTP2Frames.reset(2)),
        ],
        [RequestBodySource.none, .bytes(Array("x".utf8))]
    )
    func perhapsProcessed(_ said: (name: String, frames: [UInt8]), body: RequestBodySource) async throws {
        let (server, relay) = try await TLSRelay.saying([said.frames, Self.answer])
        defer { withExtendedLifetime(server) {} }
        let fixture = try await TransportFixture.trustingRig()
        let failure = await fixture.failure(of: try request(relay, body: body))
        #expect(failure?.code == .connectionLost, "\(said.name): \(failure as Any)")
        #expect(failure?.requestMayHaveBeenSent == true, "\(said.name): \(failure as Any)")
        await fixture.transport.shutdown(drainingFor: .zero)
    }

    @Test(
        "A refused stream of a kept connection is distinguished from other resets",
        arguments: [HTTPRequest.Method.post, .put, .get],
        [(UInt8(7), true), (2, false)]
    )
    func keptConnection(method: HTTPRequest.Method, _ reset: (code: UInt8, isRefusal: Bool)) async throws {
        let second = Gate()
        let (server, relay) = try await TLSRelay.scripted(
            TLSRelay.connection(saying: Self.answer) + [.wait(second), .send(HTTP2Frames.reset(reset.code, stream: 3))]
                + TLSRelay.connection(saying: Self.answer)
        )
        let fixture = try await TransportFixture.trustingRig()
        var request = try request(relay, body: .none)
        request.method = method
        try await fixture.fetch(request)
        if method != .get { request.body = .bytes([1]) }
        let response = Task { [request] in try await fixture.fetch(request).response }
        try await server.awaitConnections { HTTP2Frames.hasRequest(on: 3, in: $0.first?.received ?? []) }
        second.open()
        if reset.isRefusal {
            let response = try await response.value
            #expect(response.head.status == .noContent && !response.reusedConnection)
        } else {
            let failure = await #expect(throws: TransferFailure.self) { _ = try await response.value }
            #expect(failure?.code == .connectionLost && failure?.requestMayHaveBeenSent == true, "\(failure as Any)")
        }
        await fixture.transport.shutdown(drainingFor: .zero)
    }

    @Test("A server that refuses each stream is given up, and the request was not sent")
    func refusedAlways() async throws {
        let refusals = Array(repeating: HTTP2Frames.goAway(last: 0), count: 20)
        let (server, relay) = try await TLSRelay.saying(refusals)
        defer { withExtendedLifetime(server) {} }
        let fixture = try await TransportFixture.trustingRig()
        let failure = await fixture.failure(of: try request(relay, body: .bytes([1])))
        #expect(failure?.code == .connectionLost && failure?.requestMayHaveBeenSent == false, "\(failure as Any)")
        await fixture.transport.shutdown(drainingFor: .zero)
    }

    private static let versionDemands = [
        ("RST_STREAM", HTTP2Frames.reset(13)), ("GOAWAY", HTTP2Frames.goAway(last: 0, 13)),
    ]

    /// RFC 9113 section 7. The relay selects `h2` if it is offered.
    @Test(
        "A request whose server requires HTTP/1.1 is sent over it, as are later ones",
        arguments: versionDemands,
        [(HTTPRequest.Method.get, RequestBodySource.none), (.post, .bytes(Array("x".utf8))), (.post, .none)]
    )
    func requiresHTTP1(
        _ said: (name: String, frames: [UInt8]),
        _ sent: (method: HTTPRequest.Method, body: RequestBodySource)
    ) async throws {
        // A GET is not traced on its first connection, so its first GOAWAY has no reason.
        let count = said.name == "GOAWAY" && sent.method == .get ? 2 : 1
        let refusals = (0..<count).flatMap { _ in TLSRelay.connection(saying: said.frames) }
        let body: [RawServer.Step] = if case .bytes(let bytes) = sent.body { [.read(bytes.count)] } else { [] }
        let served = [.readHead] + body + [.respond("ok")]
        let (server, relay) = try await TLSRelay.scripted(
            refusals + served + served + [.hang],
            protocols: "h2,http/1.1"
        )
        defer { withExtendedLifetime(server) {} }
        let fixture = try await TransportFixture.trustingRig()
        var request = try request(relay, body: sent.body)
        request.method = sent.method
        for isReused in [false, true] {
            let (response, body) = try await fixture.fetch(request)
            #expect(body == Array("ok".utf8) && response.version == .http11, "\(said.name): \(response)")
            #expect(response.reusedConnection == isReused, "\(said.name)")
        }
        await fixture.transport.shutdown(drainingFor: .zero)
    }

    @Test("A request that allows HTTP/2 only fails where HTTP/1.1 is required", arguments: versionDemands)
    func http2Only(_ said: (name: String, frames: [UInt8])) async throws {
        let refusals = (0..<8).flatMap { _ in TLSRelay.connection(saying: said.frames) }
        let (server, relay) = try await TLSRelay.scripted(refusals)
        let fixture = try await TransportFixture.trustingRig()
        var request = try request(relay, body: .none)
        request.versions = .http2Only
        let failure = await fixture.failure(of: request)
        #expect(failure?.code == .connectionLost && failure?.requestMayHaveBeenSent == false, "\(failure as Any)")
        #expect(failure?.message.contains("requires HTTP/1.1") == true, "\(failure as Any)")
        withExtendedLifetime(server) {}
        await fixture.transport.shutdown(drainingFor: .zero)
    }

    /// The server answers other requests meanwhile.
    @Test("A request is sent again a few times, and more often to a server that responds")
    func count() {
        var silent = RefusalCount()
        #expect(
            (1...6).map { _ in silent.add(isStream: false, isServing: false) } == [
                true, true, true, true, true, false,
            ]
        )
        var shedding = RefusalCount()
        #expect((1...11).map { _ in shedding.add(isStream: true, isServing: true) }.firstIndex(of: false) == 10)
        var limiting = RefusalCount()
        #expect((1...100).allSatisfy { _ in limiting.add(isStream: false, isServing: true) })
    }

    /// Of 64 requests to a server that takes ten on each connection, some are refused six times before a response arrives.
    @Test(
        "A server that takes earlier requests of a connection is serving",
        arguments: [
            (stream: 21, last: 19, isAfter: false, isBehind: true), (1, 0, false, false), (3, 0, false, false),
            (19, 19, false, false), (1, 2_147_483_647, false, false), (21, 19, true, false),
        ]
    )
    func behindOthers(_ row: (stream: UInt32, last: UInt32, isAfter: Bool, isBehind: Bool)) {
        let stream = RequestStream(number: row.stream, isAfterGoAway: row.isAfter)
        #expect(stream.isBehindOthers(lastStream: row.last) == row.isBehind)
        #expect(!stream.isBehindOthers(lastStream: nil))
    }

    /// Its request counts as not sent, because the server processed nothing.
    @Test("A streamed body that was sent in part is not sent again")
    func streamedBody() async throws {
        let (server, relay) = try await TLSRelay.saying([HTTP2Frames.goAway(last: 0), Self.answer])
        defer { withExtendedLifetime(server) {} }
        let fixture = try await TransportFixture.trustingRig()
        let fed = HandFedStream()
        fed.feed.yield(Array("begun".utf8))
        let request = try request(relay, body: .stream(length: nil, fed.stream))
        do {
            let (response, _) = try await fixture.fetch(request)
            // Nothing of it had been taken when the GOAWAY came.
            #expect(response.head.status == .noContent)
        } catch let failure as TransferFailure {
            #expect(failure.code == .connectionLost && !failure.requestMayHaveBeenSent, "\(failure)")
        }
        fed.feed.finish()
        await fixture.transport.shutdown(drainingFor: .zero)
    }
}
