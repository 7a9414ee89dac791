// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSConfiguration
import ServerRig
import Testing

/// Requests of one client to several servers, by the weights of a mapping.
struct WeightedMappingTests {
    private func servers(_ count: Int) throws -> [RawServer] {
        try (2..<2 + count).map {
            try RawServer(address: "127.0.0.\($0)", .serve("ok"))
        }
    }

    private func place(_ server: RawServer) -> String { "\(server.address):\(server.port)" }

    /// The number of requests that each server gets of those that the client sends to a host.
    private func arrivals(
        _ count: Int,
        of host: String,
        _ client: HTTPDNSClient,
        _ servers: [RawServer]
    ) async throws -> [Int] {
        func requests() -> [Int] { servers.map { $0.count(of: "GET ") } }
        let before = requests()
        for _ in 0..<count { try await client.get("http://\(host)/").text() }
        return zip(requests(), before).map { $0 - $1 }
    }

    @Test("Equal weights share equally in code, in the file and through a via rule")
    func equal() async throws {
        let servers = try servers(3)
        let file = """
            version: 1
            mappings:
              file.test: { addresses: { "\(place(servers[0]))": 50, "\(place(servers[1]))": 50 } }
              way.test: { via: file.test }
            """
        var configuration = try HTTPDNSConfigurationFile.parse(file, name: "weights.yaml")
        // Another selection leaves the shares as they are.
        configuration.connections.selection = .roundRobin
        configuration.resolver.mappings[try HTTPDNSMapping.Key("code.test")] = .weighted([
            place(servers[0]): 5, place(servers[1]): 5, place(servers[2]): 5,
        ])
        try await withClient(configuration) { client in
            // Five standard deviations on either side.
            for host in ["file.test", "way.test"] {
                let pair = try await arrivals(200, of: host, client, servers)
                #expect(pair[2] == 0 && (60...140).contains(pair[0]) && pair[0] + pair[1] == 200, "\(host): \(pair)")
            }
            let three = try await arrivals(150, of: "code.test", client, servers)
            #expect(three.allSatisfy { (20...80).contains($0) } && three.reduce(0, +) == 150, "\(three)")
        }
    }

    @Test("A canary that grows by reloads of the file has its share at each step")
    func canary() async throws {
        let servers = try servers(2)
        func settings(_ share: Int) throws -> HTTPDNSClient.Configuration {
            // A weight of 0 is refused: an address that is to have nothing is left out.
            let old = share == 100 ? "" : "\"\(place(servers[0]))\": \(100 - share), "
            return try HTTPDNSConfigurationFile.parse(
                "version: 1\nmappings:\n  app.test: { addresses: { \(old)\"\(place(servers[1]))\": \(share) } }\n",
                name: "canary.yaml"
            )
        }
        // Five standard deviations on either side, but for the first.
        let steps = [(5, 1...35), (25, 20...80), (50, 60...140), (100, 200...200)]
        try await withClient(try settings(5)) { client in
            for (number, (share, expected)) in zip(1..., steps) {
                try await client.reload(try settings(share))
                let counts = try await arrivals(200, of: "app.test", client, servers)
                #expect(expected.contains(counts[1]) && counts[0] + counts[1] == 200, "\(share) %: \(counts)")
                let pools = client.status().pools
                #expect(pools.reduce(0) { $0 + ($1.requests ?? 0) } == number * 200, "\(pools)")
            }
        }
    }
}
