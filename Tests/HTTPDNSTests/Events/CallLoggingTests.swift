// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSTesting
import Logging
import ServerRig
import Testing

@testable import HTTPDNS

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
                "http.request.method": "GET", "url.full": "http://one.test/a", "httpdns.result": "finished",
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

    @Test(
        "No record, event, line or error of a call has a secret of its URL",
        arguments: [
            "https://map.test/v1?email=a@b.test&token=secret", "https://map.test/cb#token=secret",
            "https://map.test/a#m=a@b.test&secret", "https://user:secret@map.test/?m=a@b.test&secret",
            "https://map.test:99999/?m=a@b.test&secret", "https://map.test:99999/#secret",
            "https://map.test:99999/a#m=a@b.test&secret", "https://user:secret?secret@map.test/",
            "https://user:x#secret@map.test/", "app:settings?m=a@b.test&secret",
        ]
    )
    func secrets(url: String) async throws {
        let rig = try Rig()
        let log = RecordedLog()
        rig.client.logCalls(to: log.logger())
        let observed = ObservedEvents()
        var request = HTTPDNSClient.Request(url: url)
        observed.observe(&request, of: rig.client)
        let error = await rig.client.outcome(of: request)
        var text = "\(await observed.all()) \(log.lines) \(error.map { "\($0)" } ?? "")"
        dump(try #require(observed.record), to: &text)
        #expect(log.events.count == 1 && !text.contains("secret"), "\(text)")
        guard error == nil else { return }
        #expect(Self.text(log.events[0])["url.full"]?.hasPrefix("https://map.test/") == true)
    }

    @Test("Requests that were not sent are no repetitions")
    func resends() {
        let start = ContinuousClock.now
        var call = HTTPDNSClient.CallRecord(callID: 1, url: "http://one.test/", start: start)
        func resends(_ change: (inout HTTPDNSClient.CallRecord.Hop) -> Void = { _ in }) -> Logger.Metadata.Value? {
            var hop = HTTPDNSClient.CallRecord.Hop(url: call.url, start: start)
            change(&hop)
            call.hops.append(hop)
            return call.metadata["http.request.resend_count"]
        }
        #expect(resends { $0.isAnsweredInProcess = true } == nil)
        #expect(resends() == nil)
        #expect(resends { $0.isMerged = true } == nil)
        #expect(resends { $0.isUnsent = true } == nil)
        #expect(resends() == "1")
        #expect(resends { $0.isAnsweredInProcess = true } == "1")
        call.hopsLeftOut = 72
        #expect(resends { $0.isUnsent = true } == "73")
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
