// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSConfiguration
import ServerRig
import Testing

/// Connections live and die with the address they lead to.
@Suite("Mappings and connections, over the wire", .enabled(if: ServerRig.isAvailable([.nginx, .bind])))
struct MovedMappingTests {
    private static let versions: [HTTPDNSClient.AllowedVersions] = [.automatic, .http1Only]

    /// Requests that are in flight when the mapping changes finish.
    @Test(
        "A changed mapping holds for the next request while the old connection lives",
        arguments: versions
    )
    func moved(versions: HTTPDNSClient.AllowedVersions) async throws {
        let rig = try await ServerRig.shared()
        let name = "row6-\(versions).wild.test".lowercased()
        let mark = rig.accessLogMark()
        var configuration = try rig.settings(mappings: [name: .addresses(["127.0.0.2"])])
        configuration.versions = versions
        try await withClient(configuration) { client in
            let url = "https://\(name):\(rig.tlsPort)"
            #expect(try await client.get("\(url)/health").text() == "127.0.0.2\n")
            // The head has come and the body goes on for a while: in flight, on the old address.
            let inFlight = try await client.get("\(url)/stall-body/0.5")
            let generation = try client.mappings.apply { $0[name] = .addresses(["127.0.0.3"]) }
            let next = try await client.get("\(url)/health")
            #expect(try await next.text() == "127.0.0.3\n")
            #expect(next.exchanges[0].request.generation == generation)
            #expect(next.exchanges[0].reusedConnection == false)
            #expect(try await inFlight.text() == "begin\nend\n")
            #expect(inFlight.exchanges[0].remote.address.description == "127.0.0.2")
            #expect(try await client.get("\(url)/health").exchanges[0].reusedConnection)
        }
        let lines = try await rig.awaitAccessLog(since: mark, count: 4) { $0.host.hasPrefix(name) }
        let late = lines.filter { $0.target == "/health" }.map(\.address)
        #expect(late == ["127.0.0.2", "127.0.0.3", "127.0.0.3"])
    }

    @Test("A hundred requests use one connection while the mapping stays the same", arguments: versions)
    func kept(versions: HTTPDNSClient.AllowedVersions) async throws {
        let rig = try await ServerRig.shared()
        let name = "row7-\(versions).wild.test".lowercased()
        let mark = rig.accessLogMark()
        var configuration = try rig.settings(mappings: [name: .addresses(["127.0.0.2", "127.0.0.3"])])
        configuration.versions = versions
        try await withClient(configuration) { client in
            for number in 0..<100 {
                // Another name's mapping is no reason to leave a connection.
                if number == 50 { try client.mappings.apply { $0["other.example"] = .addresses(["127.0.0.4"]) } }
                try await client.get("https://\(name):\(rig.tlsPort)/health").text()
            }
        }
        let lines = try await rig.awaitAccessLog(since: mark, count: 100) { $0.host.hasPrefix(name) }
        #expect(lines.count == 100 && Set(lines.map(\.connection)).count == 1)
        #expect(Set(lines.map(\.protocol)) == [versions == .automatic ? "HTTP/2.0" : "HTTP/1.1"])
    }

    /// It has exact and suffix rules, ports, several addresses, IPv6 and `via`.
    @Test("A mapping file alone directs requests, without any provider")
    func file() async throws {
        let rig = try await ServerRig.shared()
        let text = """
            version: 1
            mappings:
              one.test: 127.0.0.2                  # a comment
              "*.wild.test": [127.0.0.3, 127.0.0.4]
              deep.wild.test: 127.0.0.4
              "two.test:\(rig.tlsPort)": 127.0.0.3
              two.test: 127.0.0.5
              dual.test: "::1"
              cdn.shop.test: { via: one.test }
            client: { ca_file: \(rig.certificateAuthorityFile) }
            """
        let configuration = try HTTPDNSConfigurationFile.parse(text, name: "rows.yaml")
        var expected = [
            "one.test": "127.0.0.2", "a.wild.test": "127.0.0.3", "deep.wild.test": "127.0.0.4", "two.test": "127.0.0.3",
            "cdn.shop.test": "127.0.0.2",
        ]
        if rig.hasIPv6 { expected["dual.test"] = "::1" }
        let targets = expected
        try await withClient(configuration) { client in
            for (name, address) in targets {
                let echo = try await Echo(try await client.get("https://\(name):\(rig.tlsPort)/echo"))
                #expect(echo.address == address && echo.sni == name && echo.host == "\(name):\(rig.tlsPort)", "\(name)")
            }
        }
    }
}
