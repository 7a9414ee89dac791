// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSPrimitives
import HTTPDNSTesting
import Logging
import ServerRig
import Testing

@testable import HTTPDNS

@Suite("Log of calls", .timeLimit(.minutes(5)))
struct CallLoggingTests {
    private static func client(_ hosts: [String: UInt16]) async throws -> HTTPDNSClient {
        var configuration = HTTPDNSClient.Configuration()
        for (name, port) in hosts {
            configuration.resolver.mappings[try HTTPDNSMapping.Key(name)] = .addresses(["127.0.0.1:\(port)"])
        }
        return try await HTTPDNSClient(configuration: configuration)
    }

    private static func text(_ event: LogEvent) -> [String: String] { (event.metadata ?? [:]).mapValues { "\($0)" } }

    @Test("Each call is one line of its facts, without header fields, bodies and queries")
    func lines() async throws {
        let server = try RawServer(
            .readHead,
            .respond(status: "302 Found", fields: "Location: /b?token=secret\r\n"),
            .readHead,
            .respond("secret", status: "404 Not Found", fields: "X-Key: secret\r\n")
        )
        let gone = try RawServer(.hang)
        try await gone.refuse()
        let client = try await Self.client(["one.test": server.port, "gone.test": gone.port])
        let log = RecordedLog()
        let logging = client.logCalls(to: log.logger())
        var request = HTTPDNSClient.Request(url: "http://user:secret@one.test/a?token=secret")
        request.headerFields[.authorization] = "Bearer secret"
        _ = try await client.execute(request).body.collect(upTo: .kibibytes(1))
        _ = try? await client.get("http://gone.test/")
        logging.stop()
        _ = try? await client.get("http://gone.test/")
        try await client.shutdown()

        #expect(log.messages == ["call ended", "call ended"] && log.events.allSatisfy { $0.level == .info })
        var (first, second) = (Self.text(log.events[0]), Self.text(log.events[1]))
        let times = [first, second].map { Double($0["httpdns.call.duration"] ?? "") ?? -1 }
        #expect(times.allSatisfy { $0 > 0 && $0 < 60 })
        (first["httpdns.call.duration"], second["httpdns.call.duration"]) = (nil, nil)
        #expect(
            first == [
                "http.request.method": "GET", "url.full": "http://...@one.test/a", "httpdns.result": "finished",
                "http.response.status_code": "404", "http.response.body.size": "6", "http.request.resend_count": "1",
                "server.address": "one.test", "server.port": "80", "network.peer.address": "127.0.0.1",
                "network.peer.port": "\(server.port)", "network.protocol.version": "1.1", "httpdns.source": "mapping",
            ]
        )
        #expect(
            second == [
                "http.request.method": "GET", "url.full": "http://gone.test/", "httpdns.result": "failed",
                "error.type": "connect-failed", "http.response.body.size": "0", "server.address": "gone.test",
                "server.port": "80",
            ]
        )
        #expect(!log.events.contains { "\($0)".contains("secret") })
    }

    @Test("A logger of a higher level gets no line")
    func level() async throws {
        let server = try RawServer(.serve("ok"))
        let client = try await Self.client(["one.test": server.port])
        let log = RecordedLog()
        let logging = client.logCalls(to: log.logger(.notice))
        _ = try await client.get("http://one.test/").body.collect(upTo: .kibibytes(1))
        try await client.shutdown()
        #expect(log.events.isEmpty && logging.counters.calls == 1)
    }
}
