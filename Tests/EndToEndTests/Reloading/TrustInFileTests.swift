// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if YAML
import HTTPDNS
import HTTPDNSConfiguration
import ServerRig
import Testing

/// `client.ca_file`, `client.trust` and `client.trust_by_host` of a file that is watched. Its log is awaited, and no clock.
@Suite(
    "Trust settings in a file that changes",
    .enabled(if: ServerRig.isAvailable([.nginx, .openssl]))
)
struct TrustInFileTests {
    private static func text(_ client: String, address: String = "127.0.0.2") -> String {
        "version: 1\nmappings: { one.test: \(address) }\nclient:\n\(client)"
    }

    /// A file that cannot be used changes nothing, and the error says where.
    @Test("Each change in the file holds for the next request")
    func followed() async throws {
        let rig = try await ServerRig.shared()
        let folder = try TemporaryFolder()
        let right = try await rig.pin(of: "good.pem")
        let authorities = "  ca_file: \(rig.certificateAuthorityFile)\n"
        let others = "ca_file: \(rig.otherCertificateAuthorityFile)"
        let log = StormLog()
        try folder.replace("httpdns.yaml", with: Self.text(authorities))
        var configuration = try HTTPDNSClient.Configuration.file(folder.path("httpdns.yaml"))
        configuration.makePatient()
        configuration.logger = log.logger
        let url = "https://one.test:\(rig.tlsPort)/health"
        try await withClient(configuration) { client in
            // Watching has begun when a reload is answered.
            try await client.reload()
            await log.await { $0 == .reloaded }
            let steps: [(text: String, isBelieved: Bool)] = [
                ("  \(others)\n", false),
                (authorities, true),
                (authorities + "  trust: { pins: \"\(TrustReloadTests.strange)\" }\n", false),
                (authorities + "  trust: { pins: [\"\(TrustReloadTests.strange)\", \"\(right)\"] }\n", true),
                (authorities + "  trust_by_host: { \"*.test\": { \(others) } }\n", false),
                (
                    authorities
                        + "  trust_by_host:\n    one.test: { \(others), verification: insecurely-accepting-any-certificate }\n",
                    true
                ),
                (authorities + "  trust: { minimum_version: 1.3 }\n", true),
            ]
            for step in steps {
                try folder.replace("httpdns.yaml", with: Self.text(step.text))
                await log.await { $0 == .reloaded }
                #expect(client.reloads.lastSuccess?.needsRestart == [])
                if step.isBelieved {
                    let response = try await client.get(url)
                    #expect(!response.exchanges[0].reusedConnection, "\(step.text)")
                    try await response.text()
                } else {
                    let error = try await refusal { _ = try await client.get(url) }
                    #expect(error.code == .certificateRefused, "\(step.text)")
                }
            }

            let noAuthority = rig.certificateFile("tenant-a.key")
            let pair = "{ file: \(rig.certificateFile("tenant-a.pem")), key: \(rig.certificateFile("tenant-b.key")) }"
            let mistakes: [(text: String, says: String)] = [
                (
                    "  ca_file: \(noAuthority)\n",
                    "httpdns.yaml:4:12: client.ca_file: the CA file \(noAuthority) is not PEM"
                ),
                (
                    authorities + "  trust: { client_certificate: \(pair) }\n",
                    "httpdns.yaml:5:10: client.trust: the key in \(rig.certificateFile("tenant-b.key")) does not belong"
                ),
                (
                    authorities + "  trust_by_host:\n    two.test: { ca_file: \(noAuthority) }\n",
                    "httpdns.yaml:6:26: client.trust_by_host[\"two.test\"].ca_file: the CA file \(noAuthority) is not PEM"
                ),
            ]
            for mistake in mistakes {
                try folder.replace("httpdns.yaml", with: Self.text(mistake.text, address: "127.0.0.3"))
                await log.await { line in
                    guard case .warning(let text) = line else { return false }
                    #expect(text.contains(mistake.says), "\(text)")
                    return true
                }
                #expect(client.reloads.failure?.message.contains(mistake.says) == true)
                let response = try await client.get(url)
                #expect(response.exchanges[0].reusedConnection)
                #expect(try await response.text() == "127.0.0.2\n")
            }
            try folder.replace("httpdns.yaml", with: Self.text(authorities, address: "127.0.0.3"))
            await log.await { $0 == .recovered }
            #expect(try await client.get(url).text() == "127.0.0.3\n")
            #expect(client.reloads.failure == nil)
        }
    }

    @Test("An error about a file says where the configuration names it, at the start too")
    func start() async throws {
        let rig = try await ServerRig.shared()
        let folder = try TemporaryFolder()
        let file = rig.certificateFile("tenant-a.key")
        try folder.replace("httpdns.yaml", with: Self.text("  ca_file: \(file)\n"))
        let error = try await refusal {
            _ = try await HTTPDNSClient(configuration: .file(folder.path("httpdns.yaml")))
        }
        #expect(error.code == .configuration)
        #expect(error.message.contains("httpdns.yaml:4:12: client.ca_file: the CA file \(file) is not PEM"), "\(error)")
    }
}
#endif
