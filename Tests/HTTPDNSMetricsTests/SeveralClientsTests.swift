// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if Metrics
import HTTPDNS
import MetricsTestKit
import ServerRig
import Testing

@testable import HTTPDNSMetrics

struct SeveralClientsTests {
    private static let duration = "http.client.connection.duration"

    @Test("Clients with names have meters of their own in one back end")
    func names() async throws {
        let closing = Gate()
        let server = try RawServer(.readHead, .respond("ok"), .wait(closing))
        let backend = TestMetrics()
        let busy = try await MeasuredClient(["one.test": "127.0.0.1:\(server.port)"], named: "busy", to: backend)
        let quiet = try await MeasuredClient(named: "quiet", to: backend)
        #expect(await busy.get("http://one.test/"))
        while busy.client.connectionPools.first?.connectionsInUse != 0 { await Task.yield() }
        await busy.export()
        await quiet.export()
        func state(_ name: String) -> Double? { busy.state("http.client.open_connections", "\(name) idle") }
        #expect(state("busy") == 1 && state("quiet") == 0)
        #expect(busy.state("httpdns.reload.failing", "busy") == 0 && busy.state("httpdns.reload.failing", "quiet") == 0)
        #expect(busy.counts("http.client.request.duration") == ["busy GET none 200 1.1": 1])
        try await busy.end()
        try await quiet.end()
        #expect(busy.series.count > 60 && busy.series.allSatisfy { $0.contains("(\"httpdns.client\", \"") })
        closing.open()
    }

    @Test("Without a name no series has the dimension of a name")
    func unnamed() async throws {
        let measured = try await MeasuredClient()
        try await measured.end()
        #expect(!measured.series.isEmpty && !measured.series.contains { $0.contains("httpdns.client") })
    }

    @Test("A connection of a shared transport is exported once, by any of its clients")
    func sharedTransport() async throws {
        let server = try RawServer(.readHead, .respond("ok", fields: "Connection: close\r\n"))
        let transport = HTTPDNSLibcurlTransport()
        let backend = TestMetrics()
        let mappings = ["one.test": "127.0.0.1:\(server.port)"]
        let first = try await MeasuredClient(mappings, named: "first", to: backend, on: transport)
        let second = try await MeasuredClient(mappings, named: "second", to: backend, on: transport)
        #expect(await first.get("http://one.test/"))
        while !first.client.connectionPools.isEmpty { await Task.yield() }
        await second.export()
        await first.export()
        // It may close before its version is known.
        #expect(first.counts(Self.duration).values.reduce(0, +) == 1)
        #expect(first.counts(Self.duration).keys.allSatisfy { $0.hasPrefix("second") })
        try await first.end()
        try await second.end()
        #expect(first.counts(Self.duration).values.reduce(0, +) == 1)
    }
}
#endif
