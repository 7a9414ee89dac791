// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSMonitor
import HTTPDNSTesting
import ServerRig
import Testing

/// Each case delays one phase by 50 ms or more. A busy machine may delay the others too: their least value of several calls
/// counts, each on a new connection to a name of its own.
struct PhaseTests {
    private static let delay = Duration.milliseconds(50)

    /// The durations of a phase in the hops of calls.
    private typealias Phase = (name: String, of: @Sendable (Monitor.Phases) -> Duration?)

    private static let phases: [Phase] = [
        ("resolve", { $0.resolve }), ("race", { $0.race }), ("connect", { $0.connect }), ("tls", { $0.tls }),
        ("first byte", { $0.firstByte }),
    ]

    private func hosts(_ count: Int) -> [String] { (0..<count).map { "phase-\($0).wild.test" } }

    /// Expects that one phase has the delay in each call, and no other one.
    /// - Parameter expected: The phases that a call has.
    private func expect(_ slow: String, in monitored: MonitoredClient, _ count: Int, expected: Set<String>) throws {
        let hops = monitored.monitor.records.flatMap(\.hops)
        try #require(hops.count == count && hops.allSatisfy { $0.status == 200 && !$0.reusedConnection })
        for phase in Self.phases {
            let durations = hops.compactMap { phase.of($0.phases) }
            if phase.name == slow {
                try #require(durations.count == count)
                // On a busy machine a phase may begin late in the eyes of the client.
                #expect((durations.max() ?? .zero) >= Self.delay, "\(durations)")
                #expect(durations.allSatisfy { $0 < .seconds(300) }, "\(durations)")
            } else {
                #expect(durations.count == (expected.contains(phase.name) ? count : 0), "\(phase.name)")
                #expect(
                    durations.allSatisfy { $0 >= .zero } && (durations.min() ?? .zero) < Self.delay,
                    "\(phase.name)"
                )
            }
        }
        #expect(hops.allSatisfy { ($0.duration ?? .zero) >= Self.delay })
    }

    @Test("A slow provider is in the phase of resolving alone")
    func resolving() async throws {
        let server = try RawServer(.serve("a", fields: "Connection: close\r\n"))
        let hosts = hosts(5)
        let provider = HTTPDNSScriptedProvider(answerScope: .loopback)
        for host in hosts {
            let answer = HTTPDNSProviderAnswer(
                v4: .addresses([HTTPDNSAddress(v4: 127, 0, 0, 1)], timeToLive: .seconds(60), canonicalName: nil)
            )
            provider.answer(.answer(answer), for: try HTTPDNSName(host))
        }
        provider.delay(by: Self.delay)
        let monitored = try await MonitoredClient([:]) { configuration in
            configuration.resolver.providers = [provider]
            configuration.resolver.routes = [HTTPDNSRoute(.any, .providers(["scripted"], fallback: .off))]
        }
        for host in hosts { await monitored.get("http://\(host):\(server.port)/") }
        try expect("resolve", in: monitored, 5, expected: ["connect", "first byte"])
        try await monitored.client.shutdown()
    }

    /// The server's host drops the first packet of each connection. It is sent again after a second.
    @Test("A slow TCP handshake is in the phase of connecting alone")
    func connecting() async throws {
        let server = try RawServer(.serve("a", fields: "Connection: close\r\n"))
        let hosts = hosts(2)
        let monitored = try await MonitoredClient(Dictionary(uniqueKeysWithValues: hosts.map { ($0, server.port) }))
        for host in hosts {
            try await server.swallow(.ofNewConnections)
            async let body = monitored.get("http://\(host)/")
            try await SocketTable.awaitConnecting(to: server.port, count: 1)
            try await server.restore()
            #expect(await body == Array("a".utf8))
        }
        try expect("connect", in: monitored, 2, expected: ["resolve", "first byte"])
        try await monitored.client.shutdown()
    }

    @Test("A slow TLS handshake is in the phase of TLS alone", .enabled(if: ServerRig.isAvailable([.nginx])))
    func handshake() async throws {
        let rig = try await ServerRig.shared()
        let relay = try TCPRelay(to: "127.0.0.2", port: rig.tlsPort, delay: Self.delay, delaysOnlyFirst: true)
        let hosts = hosts(5)
        let ports = Dictionary(uniqueKeysWithValues: hosts.map { ($0, relay.port) })
        let monitored = try await MonitoredClient(ports) { $0.trustRoots = .file(rig.certificateAuthorityFile) }
        for host in hosts { await monitored.get("https://\(host)/health") }
        try expect("tls", in: monitored, 5, expected: ["resolve", "connect", "first byte"])
        try await monitored.client.shutdown()
    }

    @Test("A slow response is in the phase of the first byte alone")
    func firstByte() async throws {
        let server = try RawServer { _ in
            [.readHead, .pause(Self.delay), .respond("a", fields: "Connection: close\r\n")]
        }
        let hosts = hosts(5)
        let monitored = try await MonitoredClient(Dictionary(uniqueKeysWithValues: hosts.map { ($0, server.port) }))
        for host in hosts { await monitored.get("http://\(host)/") }
        try expect("first byte", in: monitored, 5, expected: ["resolve", "connect"])
        try await monitored.client.shutdown()
    }
}
