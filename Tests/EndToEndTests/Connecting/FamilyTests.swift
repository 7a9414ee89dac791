// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

/// Both families.
struct FamilyTests {
    /// The first address is `::1`.
    @Test(
        "IPv4 answers after the stagger when a black-holed IPv6 address goes first",
        .enabled(if: ServerRig.isAvailable([.nginx, .bind]))
    )
    func blackHole() async throws {
        let rig = try await ServerRig.shared()
        let name = "both-families.wild.test"
        try await rig.setRecords(name, ["127.0.0.2"])
        try await rig.setRecords(name, type: "AAAA", ["::1"])
        // Both addresses are connected to on the URL's port.
        let good = try RawServer(address: "127.0.0.2", .serve("ok"))
        let hole = try BlackHole(address: "::1", port: good.port)
        var configuration = try rig.settings()
        configuration.connections.happyEyeballsDelay = HTTPDNSClient.Configuration.Connections().happyEyeballsDelay
        configuration.connections.firstFamily = .v6
        try await withClient(configuration) { client in
            let response = try await client.get("http://\(name):\(good.port)/")
            try await response.text()
            let exchange = try #require(response.exchanges.last)
            #expect(exchange.remote == HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 2), port: good.port))
            // The second attempt began at the stagger. The connect limit is a minute, and its end would be a failed attempt.
            #expect(
                exchange.timings.race.map { (.milliseconds(250)..<Duration.seconds(60)) ~= $0 } == true
            )
            #expect(exchange.timings.total.map { $0 < .seconds(60) } == true)
            #expect(exchange.failedAttempts.isEmpty)
            let dead = client.endpointRecords.first { $0.endpoint.address.family == .v6 }
            #expect(dead?.state == .suspect || dead?.state == .cooling)
        }
        #expect(good.connections.count == 1)
        withExtendedLifetime(hole) {}
    }

    @Test("A mapping with IPv6 addresses alone works")
    func sixOnly() async throws {
        let server = try RawServer(address: "::1", .serve("ok"))
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.mappings[try HTTPDNSMapping.Key("one.test")] = .addresses(["[::1]:\(server.port)"])
        for families in [HTTPDNSAddress.Families.both, .v6] {
            configuration.resolver.families = families
            try await withClient(configuration) { client in
                let response = try await client.get("http://one.test/")
                #expect(try await response.text() == "ok" && response.exchanges.last?.remote.address.family == .v6)
            }
        }
    }
}
