// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Testing

@testable import HTTPDNSCurl

/// Servers that answer before they have the whole request (RFC 9113 section 8.1).
@Suite(
    "Early responses over HTTP/2",
    .enabled(if: ServerRig.isAvailable([.nginx, .openssl]))
)
struct EarlyResponseTests {
    @Test(
        "A whole response ends the call although its request is not sent to the end",
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
        try await exchange(method, frames, idle: .seconds(90)) { fixture, request in
            let (_, body) = try await fixture.fetch(request)
            #expect(String(decoding: body, as: UTF8.self) == text)
        }
    }

    private static let refusals = [
        (HTTP2Frames.head("413", endsStream: true), ""),
        (HTTP2Frames.head("401", length: "2", endsStream: false) + HTTP2Frames.data("no"), "no"),
    ]

    @Test("A response whose stream is reset afterwards (NO_ERROR) arrives", arguments: refusals)
    func resetLater(frames: [UInt8], text: String) async throws {
        let reset: [RawServer.Step] = [.pause(.milliseconds(50)), .send(HTTP2Frames.reset(0))]
        try await exchange(.post, frames, then: reset, idle: .seconds(90)) { fixture, request in
            let (_, body) = try await fixture.fetch(request)
            #expect(String(decoding: body, as: UTF8.self) == text)
        }
    }

    // libcurl quirk "Early response, lost".
    @Test("A response that is read with its reset arrives with libcurl 8.1", arguments: refusals)
    func resetAtOnce(frames: [UInt8], text: String) async throws {
        try await exchange(.post, frames + HTTP2Frames.reset(0), idle: .seconds(90), goesOn: true) { fixture, request in
            if CurlLibrary.losesResponseBeforeReset {
                let failure = try #require(await fixture.failure(of: request))
                #expect(failure.code == .connectionLost && failure.requestMayHaveBeenSent)
                #expect(failure.message.contains("send large bodies over HTTP/1.1"), "\(failure)")
            } else {
                let (_, body) = try await fixture.fetch(request)
                #expect(String(decoding: body, as: UTF8.self) == text)
            }
        }
    }

    // libcurl quirk "Early response, lost".
    @Test("A reset while the stream pauses ends with the next piece, or at the head's limit", arguments: [true, false])
    func resetWhilePaused(goesOn: Bool) async throws {
        // On a busy machine a short time may be over before the reset comes: then the same with a longer one.
        let limits = goesOn ? [600] : [3, 12, 48]
        for limit in limits where try await endsAfterReset(goesOn, within: .seconds(limit)) { return }
        Issue.record("no reset came before the head's limit")
    }

    private func endsAfterReset(_ goesOn: Bool, within limit: Duration) async throws -> Bool {
        // Little of what is read stands before the piece.
        let piece = [UInt8](repeating: 1, count: 4_000)
        let isReset = Gate()
        let (server, relay) = try await TLSRelay.scripted(
            [
                .readHead, .readHead, .send(HTTP2Frames.settings), .read(piece.count), .pause(.milliseconds(50)),
                .send(HTTP2Frames.head("413", endsStream: true) + HTTP2Frames.reset(0)), .pause(.milliseconds(50)),
                .open(isReset),
            ]
        )
        defer { withExtendedLifetime(server) {} }
        let fixture = try await TransportFixture.trustingRig()
        let fed = HandFedStream()
        fed.feed.yield(piece)
        let began = ContinuousClock.now
        let request = try TransportFixture.request(
            "https://one.test:\(relay.port)/",
            at: "127.0.0.1",
            method: .post,
            body: .stream(length: nil, fed.stream)
        ) { $0.headDeadline = SystemTimeSource().now() + limit }
        // Beside the request: one that fails before the reset must not leave the test waiting for it.
        Task {
            await isReset.passage()
            if goesOn { fed.feed.yield(piece) }
        }
        defer { isReset.open() }
        do {
            let status = try await fixture.fetch(request).response.head.status
            #expect(status == .contentTooLarge && !CurlLibrary.losesResponseBeforeReset)
        } catch let failure as TransferFailure {
            if !goesOn, failure.code == .timedOut,
                !CurlLibrary.losesResponseBeforeReset || !failure.requestMayHaveBeenSent
            {
                return false
            }
            #expect(CurlLibrary.losesResponseBeforeReset && failure.requestMayHaveBeenSent, "\(failure)")
            #expect(failure.code == (goesOn ? .connectionLost : .timedOut), "\(failure)")
        }
        let elapsed = began.duration(to: .now)
        #expect(elapsed < .seconds(300), "\(elapsed)")
        fed.feed.finish()
        await fixture.transport.shutdown(drainingFor: .zero)
        return true
    }

    @Test("A response without a length ends at the idle limit while its request is sent")
    func withoutLength() async throws {
        let frames = HTTP2Frames.head("200", endsStream: false) + HTTP2Frames.data("ok")
        // On a busy machine a short limit may be over before the response comes: then the same with a longer one.
        var failure: TransferFailure?
        for idle in [Duration.milliseconds(500), .seconds(5), .seconds(60)] where failure?.phase != .body {
            try await exchange(.post, frames, idle: idle) { fixture, request in
                failure = await fixture.failure(of: request)
            }
        }
        #expect(failure?.code == .timedOut && failure?.phase == .body, "\(failure as Any)")
    }

    /// Runs `body` with a request whose body is never sent to its end, to a server that answers its first piece.
    private func exchange(
        _ method: HTTPRequest.Method,
        _ frames: [UInt8],
        then steps: [RawServer.Step] = [],
        idle: Duration,
        goesOn: Bool = false,
        _ body: (TransportFixture, TransferRequest) async throws -> Void
    ) async throws {
        let (server, relay) = try await TLSRelay.scripted(TLSRelay.connection(saying: frames) + steps)
        defer { withExtendedLifetime(server) {} }
        let fixture = try await TransportFixture.trustingRig()
        let fed = HandFedStream()
        fed.feed.yield(Array("begun".utf8))
        let request = try TransportFixture.request(
            "https://one.test:\(relay.port)/",
            at: "127.0.0.1",
            method: method,
            body: .stream(length: nil, fed.stream)
        ) { $0.idle = idle }
        // libcurl 7.88 reports no reset while the stream has nothing to send (``resetWhilePaused(goesOn:)``): feed it.
        let feeding = Task {
            while goesOn, !Task.isCancelled {
                fed.feed.yield([1])
                try await Task.sleep(for: .milliseconds(20))
            }
        }
        defer { feeding.cancel() }
        try await body(fixture, request)
        fed.feed.finish()
        await fixture.transport.shutdown(drainingFor: .zero)
    }
}
