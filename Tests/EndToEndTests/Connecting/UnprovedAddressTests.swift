// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

/// Addresses that can be connected to, and do not prove the name.
@Suite("Unproved addresses", .enabled(if: ServerRig.isAvailable([.nginx])))
struct UnprovedAddressTests {
    /// A reset in the handshake, a wrong certificate, good: the good one serves a POST, and the others are in the
    /// exchange.
    @Test("Addresses that fail in the TLS handshake give way to a good one")
    func failover() async throws {
        let rig = try await ServerRig.shared()
        let host = "unproved.wild.test"
        let resetting = try RawServer(address: "127.0.0.4", .read(1), .reset)
        let targets = ["\(resetting.address):\(resetting.port)", "127.0.0.5", "127.0.0.2"]
        let mark = rig.accessLogMark()
        let url = "https://\(host):\(rig.tlsPort)/echo"
        try await withClient(rig.settings(mappings: [host: .addresses(targets)])) { client in
            let first = try await client.post(url, body: .text("x"))
            try await first.text()
            let exchange = try #require(first.exchanges.last)
            #expect(exchange.remote == HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 2), port: rig.tlsPort))
            #expect(
                exchange.failedAttempts.map(\.endpoint) == [
                    HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 4), port: resetting.port),
                    HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 5), port: rig.tlsPort),
                ]
            )
            #expect(exchange.failedAttempts.map(\.phase) == [.tls, .tls])
            #expect(exchange.failedAttempts.last?.failure.contains("other.test") == true)
            // What TLS showed is remembered for the host.
            for _ in 0..<10 {
                client.retireConnections()
                let next = try await client.post(url, body: .text("x"))
                try await next.text()
                let exchange = try #require(next.exchanges.last)
                #expect(!exchange.reusedConnection && exchange.failedAttempts.isEmpty && exchange.timings.race == nil)
            }
        }
        let lines = try await rig.awaitAccessLog(since: mark, count: 11) { $0.host.hasPrefix(host) }
        #expect(lines.count == 11 && lines.allSatisfy { $0.address == "127.0.0.2" && $0.method == "POST" })
        // The TLS handshake's bytes are all that it has seen.
        #expect(!resetting.connections.contains { $0.text.contains("POST") })
    }
}
