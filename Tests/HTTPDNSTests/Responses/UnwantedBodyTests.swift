// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPDNSTesting
import ServerRig
import Testing

@testable import HTTPDNS

/// Bodies of redirects and of answers that are asked for again: read while that is cheap, so that their connection serves on.
struct UnwantedBodyTests {
    /// Chunks of 1 KiB, which are counted; after the last one the stream is silent for ever.
    private final class Source: Sendable {
        let read = Lock(0)
        let silence = Gate()

        func body(_ chunks: Int, declared: String? = nil, isSilent: Bool = false) async throws
            -> HTTPDNSClient.Response.Body
        {
            let wire = ScriptedWire { [self] request, _ in
                var answer = HopAnswer.ok(from: request)
                answer.head.headerFields[.contentLength] = declared
                let stream = AsyncThrowingStream<[UInt8], any Error> { [self] in
                    let number = read.withLock { read in
                        read += 1
                        return read
                    }
                    if number <= chunks { return [UInt8](repeating: 0, count: 1024) }
                    if isSilent { try await HTTPDNSManualClock().sleep(until: MonotonicTime(nanoseconds: .max)) }
                    return nil
                }
                answer.body = .chunks(stream)
                return answer
            }
            return try await Rig(wire: wire).client.get("https://one.test/").body
        }

        var count: Int { read.withLock { $0 } }
    }

    /// A short one to its end, one of unknown length up to 16 KiB, one that declares more not at all.
    @Test("An unread body is drained for 16 KiB at most")
    func sizes() async throws {
        for (chunks, declared, count) in [(16, "16384", 16), (3, nil, 4), (100, nil, 16), (100, "16385", 0)] {
            let source = Source()
            let body = try await source.body(chunks, declared: declared)
            try await body.drain(on: HTTPDNSManualClock())
            #expect(source.count == count, "\(chunks) \(declared ?? "-")")
        }
    }

    @Test("A slow unread body is given up after 250 ms")
    func patience() async throws {
        let (source, clock) = (Source(), HTTPDNSManualClock())
        let body = try await source.body(1, isSilent: true)
        let drained = Task { try await body.drain(on: clock) }
        await clock.sleepers(atLeast: 1)
        clock.advance(by: .milliseconds(249))
        #expect(clock.sleeperCount == 1)
        clock.advance(by: .milliseconds(1))
        try await drained.value
    }

    @Test("A call that is canceled while a body is drained ends as canceled")
    func canceled() async throws {
        let (source, clock) = (Source(), HTTPDNSManualClock())
        let body = try await source.body(1, isSilent: true)
        let drained = Task { try await body.drain(on: clock) }
        await clock.sleepers(atLeast: 1)
        drained.cancel()
        await #expect(throws: CancellationError.self) { try await drained.value }
    }

    @Test(
        "A redirect whose body does not come is followed, and its connection is closed",
        arguments: ["Content-Length: 20000", "Content-Length: 20", "Transfer-Encoding: chunked"]
    )
    func overTheWire(length: String) async throws {
        let server = try RawServer { number in
            number == 0
                ? [.readHead, .sendText("HTTP/1.1 302 Found\r\nLocation: /b\r\n\(length)\r\n\r\n"), .hang]
                : [.readHead, .respond("hello")]
        }
        let client = try await mappedClient(server.port) { ($0.timeouts.idle, $0.timeouts.total) = (nil, nil) }
        let response = try await client.get("http://one.test/a")
        #expect(response.status == .ok && response.exchanges.map(\.status.code) == [302, 200])
        try await server.awaitConnections { $0.first?.isClosedByClient == true }
        try await client.shutdown()
    }
}
