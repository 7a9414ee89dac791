// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if YAML
import HTTPDNSConfiguration
import HTTPDNS
import ServerRig
import Testing

/// `client.headers` and `client.headers_by_host` of a file that changes: what the server was sent.
@Suite(
    "Default headers in a file that changes",
    .enabled(if: ServerRig.isAvailable([.nginx]))
)
struct HeadersInFileTests {
    @Test("The next request is sent the file's current headers, and each host its own")
    func followed() async throws {
        let rig = try await ServerRig.shared()
        let folder = try TemporaryFolder()
        func text(_ headers: String) -> String {
            """
            version: 1
            mappings: { "*.wild.test": 127.0.0.2 }
            client:
              ca_file: \(rig.certificateAuthorityFile)
            \(headers)

            """
        }
        let one = """
              headers: { User-Agent: shop/1, X-Team: [a, b] }
              headers_by_host: { "own.wild.test": { fields: { User-Agent: own/1 }, without: X-Team } }
            """
        try folder.replace("httpdns.yaml", with: text(one))
        var configuration = try HTTPDNSClient.Configuration.file(folder.path("httpdns.yaml"))
        configuration.makePatient()
        configuration.watchesFile = false
        try await withClient(configuration) { client in
            func sent(_ host: String) async throws -> [String: Echo.FieldValue] {
                let headers = try await Echo(try await client.get("https://\(host):\(rig.tlsPort)/echo")).headers
                return headers.filter { ["user-agent", "x-team"].contains($0.key) }
            }
            #expect(try await sent("all.wild.test") == ["user-agent": .one("shop/1"), "x-team": .many(["a", "b"])])
            #expect(try await sent("own.wild.test") == ["user-agent": .one("own/1")])
            try folder.replace("httpdns.yaml", with: text("  headers: { User-Agent: shop/2 }"))
            let result = try await client.reload()
            #expect(result.isChanged && result.needsRestart == [])
            #expect(try await sent("all.wild.test") == ["user-agent": .one("shop/2")])
            #expect(try await sent("own.wild.test") == ["user-agent": .one("shop/2")])
            try folder.replace("httpdns.yaml", with: text("  headers: { Authorization: Bearer x }"))
            #expect(try await refusal { try await client.reload() }.code == .configuration)
            #expect(try await sent("own.wild.test") == ["user-agent": .one("shop/2")])
        }
    }
}
#endif
