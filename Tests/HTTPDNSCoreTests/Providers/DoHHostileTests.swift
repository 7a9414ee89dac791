// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNSCore
import HTTPDNSCurl
import ServerRig
import Testing

/// Services that waste time or memory, and connections that end badly, on sockets and through the provider's own transport.
struct DoHHostileTests {
    private static let message: [UInt8] = {
        var builder = DNSMessageBuilder(to: .a("one.test"))
        builder.address("one.test", [127, 0, 0, 2])
        return builder.octets
    }()

    private static func head(_ fields: String) -> RawServer.Step {
        .sendText("HTTP/1.1 200 OK\r\nContent-Type: application/dns-message\r\n\(fields)\r\n")
    }

    private func query(_ limit: Duration) throws -> HTTPDNSProviderQuery {
        HTTPDNSProviderQuery(host: try HTTPDNSName("one.test"), families: .v4, timeLimit: limit)
    }

    /// The error of one question, and how long that took.
    private func failure(
        of server: RawServer,
        within limit: Duration
    ) async throws -> (error: HTTPDNSProviderError?, elapsed: Duration) {
        let url = "http://127.0.0.1:\(server.port)/dns-query"
        let provider = try HTTPDNSDoHProvider(HTTPDNSDoHProvider.Configuration(name: "raw", url: url))
        let start = ContinuousClock.now
        let error = await #expect(throws: HTTPDNSProviderError.self) { try await provider.resolve(query(limit)) }
        let elapsed = ContinuousClock.now - start
        await provider.shutdown()
        server.stop()
        return (error, elapsed)
    }

    /// A task of this process waits for its turn longer than the ceilings of both tests while 900 other tests run beside it.
    @Test(
        "A gzip bomb is refused at the longest message, and is not decoded whole",
        .enabled("needs its process for itself: HTTPDNS_TEST_ALONE=1") { ServerRig.hasProcessForItself }
    )
    func bomb() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("bomb-\(UUID()).gz")
        defer { try? FileManager.default.removeItem(at: file) }
        let made = try await Command("bash", ["-c", "head -c 1G /dev/zero | gzip -1 >\"$1\"", "bash", file.path])
            .run(within: .seconds(120))
        #expect(made.status == 0, "\(made)")
        let bomb = [UInt8](try Data(contentsOf: file))
        let fields = "Content-Encoding: gzip\r\nContent-Length: \(bomb.count)\r\n"
        let server = try RawServer(.readHead, Self.head(fields), .send(bomb), .hang)
        let (error, elapsed) = try await failure(of: server, within: .seconds(60))
        #expect(error?.code == .badResponse, "\(error as Any)")
        // The limit is 64 KiB: what was decoded took no second, whatever the machine has to do besides.
        #expect(elapsed < .seconds(20), "\(elapsed)")
    }

    @Test(
        "A response of one byte a second ends at the time limit",
        .enabled("needs its process for itself: HTTPDNS_TEST_ALONE=1") { ServerRig.hasProcessForItself }
    )
    func drip() async throws {
        let limit = Duration.milliseconds(2500)
        let fields = "Content-Length: \(Self.message.count)\r\n"
        let bytes = Self.message.map { RawServer.Step.send([$0]) }
        let drops = bytes.flatMap { [$0, .pause(.seconds(1))] }
        let server = try RawServer { _ in [.readHead, Self.head(fields)] + drops }
        let (error, elapsed) = try await failure(of: server, within: limit)
        #expect(error?.code == .timedOut, "\(error as Any)")
        #expect(elapsed >= limit && elapsed < limit * 10, "\(elapsed)")
    }

    // MARK: HTTP/2

    private static func answer(stream: UInt8 = 1) -> [UInt8] {
        HTTP2Frames.head("200", type: "application/dns-message", stream: stream, endsStream: false)
            + HTTP2Frames.data(message, stream: stream)
    }

    private static let expected = HTTPDNSProviderAnswer.Family.addresses(
        [HTTPDNSAddress(v4: 127, 0, 0, 2)],
        timeToLive: .seconds(60),
        canonicalName: nil
    )

    private func provider(_ relay: TLSRelay, _ rig: ServerRig) throws -> HTTPDNSDoHProvider {
        var configuration = HTTPDNSDoHProvider.Configuration(
            name: "h2",
            url: "https://one.test:\(relay.port)/dns-query"
        )
        configuration.bootstrap = [HTTPDNSAddress(v4: 127, 0, 0, 1)]
        configuration.trustRoots = .file(rig.certificateAuthorityFile)
        return try HTTPDNSDoHProvider(configuration)
    }

    @Test(
        "A query that comes back unread is sent again on a new connection",
        .enabled(if: ServerRig.isAvailable([.nginx, .openssl])),
        arguments: [
            ("the answer", []), ("REFUSED_STREAM", [HTTP2Frames.reset(7)]),
            ("GOAWAY, last stream 0", [HTTP2Frames.goAway(last: 0)]),
            ("GOAWAY, last stream 1, and CANCEL", [HTTP2Frames.goAway(last: 1) + HTTP2Frames.reset(8)]),
        ] as [(String, [[UInt8]])]
    )
    func newConnection(_ said: (name: String, frames: [[UInt8]])) async throws {
        let rig = try await ServerRig.shared()
        let (server, relay) = try await TLSRelay.saying(said.frames + [Self.answer()])
        let provider = try provider(relay, rig)
        #expect(try await provider.resolve(query(.seconds(60))).v4 == Self.expected, "\(said.name)")
        await provider.shutdown()
        server.stop()
    }

    @Test(
        "A query whose stream is reset is sent once more at most",
        .enabled(if: ServerRig.isAvailable([.nginx, .openssl])),
        arguments: [UInt8(2), 8],
        [true, false]
    )
    func resetStream(code: UInt8, isAnswered: Bool) async throws {
        let rig = try await ServerRig.shared()
        let second = Gate()
        let (server, relay) = try await TLSRelay.scripted(
            TLSRelay.connection(saying: HTTP2Frames.reset(code)) + [
                .wait(second), .send(isAnswered ? Self.answer(stream: 3) : HTTP2Frames.reset(code, stream: 3)),
            ]
        )
        let provider = try provider(relay, rig)
        let query = try query(.seconds(60))
        let task = Task { try await provider.resolve(query) }
        // The connection is as good as before: the question comes on its next stream.
        try await server.awaitConnections { HTTP2Frames.hasRequest(on: 3, in: $0.first?.received ?? []) }
        second.open()
        if isAnswered {
            #expect(try await task.value.v4 == Self.expected)
        } else {
            let error = await #expect(throws: HTTPDNSProviderError.self) { try await task.value }
            #expect(error?.code == .unreachable, "\(error as Any)")
            #expect(!HTTP2Frames.hasRequest(on: 5, in: server.connections.first?.received ?? []))
        }
        await provider.shutdown()
        server.stop()
    }
}
