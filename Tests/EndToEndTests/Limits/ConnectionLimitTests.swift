// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

@Suite("Connection limits, on the rig", .enabled(if: ServerRig.isAvailable([.nginx])))
struct ConnectionLimitTests {
    private func send(_ count: Int, _ url: String, over client: HTTPDNSClient) async throws {
        try await concurrently(count) { _ in try await client.get(url).text() }
    }

    /// How many of these nginx had at once, at most. It takes the time once for all events of a turn: what overlaps by less than a
    /// fifth of the 100 ms that each takes may have been one after the other.
    private func most(_ lines: [AccessLogLine]) -> Int {
        let slack = 0.02
        return lines.map { line in
            lines.count { $0.started + slack <= line.started + 0.05 && line.started + 0.05 < $0.time - slack }
        }.max() ?? 0
    }

    @Test("100 requests, limit 4: nginx never sees a fifth connection", arguments: [1, 2, 4])
    func perHost(loops: Int) async throws {
        let rig = try await ServerRig.shared()
        var settings = try rig.settings(mappings: ["limited\(loops).test": .addresses(["127.0.0.2"])])
        settings.connections.maximumPerHost = 4
        settings.connections.loops = .inTurn(loops)
        let mark = rig.accessLogMark()
        try await withClient(settings) { client in
            try await send(100, "http://limited\(loops).test:\(rig.httpPort)/stall/0.1", over: client)
        }
        let lines = try await rig.awaitAccessLog(since: mark, count: 100) { $0.host.hasPrefix("limited\(loops).test") }
        #expect(lines.count == 100 && Set(lines.map(\.connection)).count <= 4)
        // Connections are numbered, so a fifth would have a number of its own; nor did five requests ever overlap.
        #expect((1...4).contains(most(lines)))
    }

    /// 100 requests to 10 hosts, limit 4: nginx never sees more than 4 at a time.
    @Test("A limit for all hosts together holds on the wire", arguments: [1, 2, 4])
    func total(loops: Int) async throws {
        let rig = try await ServerRig.shared()
        var settings = try rig.settings(mappings: ["*.all\(loops).test": .addresses(["127.0.0.2"])])
        settings.connections.maximum = 4
        settings.connections.loops = .inTurn(loops)
        let mark = rig.accessLogMark()
        let port = rig.httpPort
        try await withClient(settings) { client in
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                for number in 0..<100 {
                    let url = "http://n\(number % 10).all\(loops).test:\(port)/stall/0.1"
                    tasks.addTask { try await client.get(url).text() }
                }
                try await tasks.waitForAll()
            }
        }
        let lines = try await rig.awaitAccessLog(since: mark, count: 100) { $0.host.contains(".all\(loops).test") }
        #expect(lines.count == 100 && (1...4).contains(most(lines)))
    }

    @Test("A limit of one HTTP/2 connection lets many requests through concurrently", arguments: [1, 2, 4])
    func shared(loops: Int) async throws {
        let rig = try await ServerRig.shared()
        var settings = try rig.settings(mappings: ["one.test": .addresses(["127.0.0.2"])])
        settings.connections.maximumPerHost = 1
        settings.connections.loops = .inTurn(loops)
        let mark = rig.accessLogMark()
        try await withClient(settings) { client in
            try await send(1, "https://one.test:\(rig.tlsPort)/health", over: client)
            try await send(60, "https://one.test:\(rig.tlsPort)/stall/0.50\(loops)", over: client)
        }
        let lines = try await rig.awaitAccessLog(since: mark, count: 60) { $0.target == "/stall/0.50\(loops)" }
        #expect(Set(lines.map(\.connection)).count == 1 && lines.allSatisfy { $0.protocol == "HTTP/2.0" })
        #expect(most(lines) > 1, "one after the other would take half a minute")
    }
}
