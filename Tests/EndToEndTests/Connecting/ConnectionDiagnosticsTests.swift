// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

/// What a client says of its connections, beside what the origins saw.
@Suite("Diagnostics of connections", .enabled(if: ServerRig.isAvailable([.nginx])))
struct ConnectionDiagnosticsTests {
    @Test("Pools count open connections and requests; the count outlives the connections")
    func pools() async throws {
        let rig = try await ServerRig.shared()
        // Nobody listens there.
        let dead = "127.0.0.9:\(rig.tlsPort)"
        var configuration = HTTPDNSClient.Configuration()
        configuration.trustRoots = .file(rig.certificateAuthorityFile)
        let host = "pools.wild.test"
        configuration.resolver.mappings = [
            try HTTPDNSMapping.Key(host): .addresses(["127.0.0.9", "127.0.0.2"])
        ]
        try await withClient(configuration) { client in
            let before = client.status()
            #expect(before.pools.isEmpty && before.endpoints.isEmpty && before.connections.open == 0)
            let url = "https://\(host):\(rig.tlsPort)"
            do {
                let stalled = try await client.get("\(url)/stall-body/30")
                #expect(client.status().connections.requestsInFlight == 1)
                // Dropping the body ends the transfer.
                _ = consume stalled
            }
            for _ in 0..<3 { _ = try await client.get("\(url)/a.jpg").body.collect(upTo: .mebibytes(1)) }
            let during = client.status()
            let pool = try #require(during.pools.first)
            #expect(during.pools.count == 1 && pool.host == host && pool.port == rig.tlsPort)
            #expect(pool.endpoint == "127.0.0.2:\(rig.tlsPort)" && pool.connections >= 1)
            #expect(during.connections.open == pool.connections && during.connections.requestsInFlight == 0)
            let ill = try #require(during.endpoints.first)
            #expect(ill.endpoint == dead && ill.state == "cooling" && ill.consecutiveFailures >= 1)
            #expect(ill.backOffSeconds != nil)
            #expect(during.endpoints.last?.state == "healthy" && (during.endpoints.last?.connectSeconds ?? 0) > 0)
            #expect(client.status(names: [try HTTPDNSRoute.Pattern("other.test")]).pools.isEmpty)
            client.retireConnections()
            // libcurl looks at its connections once in a second; nothing tells when it has closed one.
            let (clock, deadline) = (SystemTimeSource(), SystemTimeSource().now() + .seconds(60))
            while client.status().connections.open > 0, clock.now() < deadline {
                try await clock.sleep(until: clock.now() + .milliseconds(20))
            }
            let after = client.status()
            #expect(after.connections.open == 0 && client.connectionPools.isEmpty)
            #expect(after.pools.map(\.endpoint) == [pool.endpoint] && after.pools.first?.connections == 0)
            #expect(pool.requests == 4 && after.pools.first?.requests == 4)
        }
    }
}
