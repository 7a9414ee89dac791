// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Dispatch
import HTTPDNSPrimitives
import HTTPTypes
import ServerRig
import Testing

@testable import HTTPDNSCurl

/// Responses before the final one (RFC 9110 section 15.2).
struct InterimResponseTests {
    /// The responses that a closure got, and the threads that called it.
    private final class Log: Sendable {
        let seen = Lock<(responses: [String], threads: Set<String>)>(([], []))

        func note(_ response: HTTPResponse) {
            let thread = ProcessState.threadName()
            seen.withLock {
                let values = response.headerFields.map(\.value).joined(separator: " ")
                $0.responses.append("\(response.status.code) \(values)")
                $0.threads.insert(thread)
            }
        }
    }

    private static let hints =
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\nLink: </b>\r\n\r\n"

    @Test("Interim responses are reported in order, off the loop, before the final one")
    func reported() async throws {
        let server = try RawServer(.readHead, .sendText(Self.hints), .respond("ok"), .hang)
        let fixture = TransportFixture(threadName: "loop-of-interim")
        let log = Log()
        var request = try TransportFixture.request(to: server)
        request.interim = InterimResponseQueue { log.note($0) }
        let response = try await fixture.send(request)
        let (responses, threads) = log.seen.withLock { $0 }
        #expect(responses == ["100 ", "103 </a> </b>"])
        #expect(!threads.isEmpty && !threads.contains("loop-of-interim"))
        #expect(response.head.status == .ok && response.head.headerFields.count == 1)
        await fixture.transport.shutdown()
    }

    @Test("An interim response is reported while the final one is pending")
    func early() async throws {
        let (reported, final) = (Gate(), Gate())
        let server = try RawServer(.readHead, .sendText(Self.hints), .wait(final), .respond("ok"), .hang)
        let fixture = TransportFixture()
        var request = try TransportFixture.request(to: server)
        request.interim = InterimResponseQueue { if $0.status.code == 103 { reported.open() } }
        async let response = fixture.send(request)
        await reported.passage()
        final.open()
        #expect(try await response.head.status == .ok)
        await fixture.transport.shutdown()
    }

    @Test(
        "A request that fails has reported its interim responses, but no malformed one",
        arguments: [(hints, ["100 ", "103 </a> </b>"]), ("HTTP/1.1 103 Early Hints\r\n: x\r\n\r\n", [])]
    )
    func failed(text: String, expected: [String]) async throws {
        let server = try RawServer(.readHead, .sendText(text), .shutdownSending)
        let fixture = TransportFixture()
        let log = Log()
        var request = try TransportFixture.request(to: server, method: .post)
        request.interim = InterimResponseQueue { log.note($0) }
        #expect(await fixture.failure(of: request) != nil)
        #expect(log.seen.withLock { $0.responses } == expected)
        await fixture.transport.shutdown()
    }

    /// Both servers send theirs while none has answered.
    @Test("Of a request that is sent twice, only the winner reports interim responses", arguments: [0, 1])
    func hedged(winner: Int) async throws {
        let (reached, said) = (Gate(), Gate())
        func interim(_ number: Int) -> RawServer.Step {
            .sendText("HTTP/1.1 103 Early Hints\r\nLink: <\(number == winner ? "won" : "lost")>\r\n\r\n")
        }
        let lost: [RawServer.Step] = [
            .readHead, .open(reached), .wait(reached), interim(1 - winner), .open(said), .hang,
        ]
        let won: [RawServer.Step] = [.readHead, .wait(said), interim(winner), .respond("ok"), .hang]
        let first = try RawServer { _ in winner == 0 ? won : [lost[0], .wait(reached)] + lost[3...] }
        let second = try RawServer(address: "127.0.0.2", port: first.port) { _ in
            winner == 1 ? [.readHead, .open(reached)] + won[1...] : lost
        }
        let fixture = TransportFixture()
        let log = Log()
        var request = try TransportFixture.request(to: first)
        request.endpoints.append(HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 2), port: second.port))
        request.hedgeAfter = .milliseconds(1)
        request.interim = InterimResponseQueue { log.note($0) }
        #expect(try await fixture.send(request).head.status == .ok)
        #expect(log.seen.withLock { $0.responses } == ["103 <won>"])
        await fixture.transport.shutdown()
    }

    @Test("No more than 64 interim responses wait for a slow closure")
    func bounded() async throws {
        let many = String(repeating: "HTTP/1.1 103 Early Hints\r\n\r\n", count: 200)
        let count = Lock(0)
        let queue = InterimResponseQueue { _ in count.withLock { $0 += 1 } }
        let server = try RawServer(.readHead, .sendText(many), .respond("ok"), .hang)
        let fixture = TransportFixture()
        var request = try TransportFixture.request(to: server)
        request.interim = queue
        #expect(try await fixture.send(request).head.status == .ok)
        #expect((64...200).contains(count.withLock { $0 }))
        queue.add(ResponseHead(HTTPResponse(status: .init(code: 103))))
        await queue.close()
        #expect((64...200).contains(count.withLock { $0 }), "nothing is added after the end")
        await fixture.transport.shutdown()
    }

    // The closure blocks a thread of the runtime, and on two cores it has two: one case after the other.
    @Test(
        "A slow closure delays neither a cancellation nor a request beyond its deadline",
        .serialized,
        arguments: [false, true]
    )
    func slowClosure(isCancelled: Bool) async throws {
        let server = try RawServer(.readHead, .sendText(Self.hints), .respond("ok"), .hang)
        let fixture = TransportFixture()
        let (called, released) = (Gate(), DispatchSemaphore(value: 0))
        let hasReturned = Lock(false)
        var request = try TransportFixture.request(to: server)
        request.interim = InterimResponseQueue { _ in
            called.open()
            _ = released.wait(timeout: .now() + 120)
            hasReturned.withLock { $0 = true }
        }
        if !isCancelled { request.limits.deadline = SystemTimeSource().now() + .milliseconds(300) }
        let sending = Task { [request] in try await fixture.send(request) }
        if isCancelled {
            await called.passage()
            sending.cancel()
        }
        // On a busy machine the deadline may pass before the closure is called.
        let result = await sending.result
        #expect(!hasReturned.withLock { $0 }, "it waited for the closure")
        if isCancelled { #expect(throws: CancellationError.self) { try result.get() } }
        released.signal()
        await fixture.transport.shutdown()
    }

    @Test("Interim responses over HTTP/2 are reported", .enabled(if: ServerRig.isAvailable([.nginx, .openssl])))
    func http2() async throws {
        let frames =
            HTTP2Frames.head("103", type: "text/hint", endsStream: false) + HTTP2Frames.head("200", endsStream: false)
            + HTTP2Frames.data("ok")
        let (server, relay) = try await TLSRelay.saying(frames)
        defer { withExtendedLifetime(server) {} }
        let fixture = try await TransportFixture.trustingRig()
        let log = Log()
        var request = try TransportFixture.request("https://one.test:\(relay.port)/", at: "127.0.0.1")
        request.interim = InterimResponseQueue { log.note($0) }
        #expect(try await fixture.fetch(request).body == Array("ok".utf8))
        #expect(log.seen.withLock { $0.responses } == ["103 text/hint"])
        await fixture.transport.shutdown()
    }
}
