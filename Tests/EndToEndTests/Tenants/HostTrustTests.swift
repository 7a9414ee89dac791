// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import ServerRig
import Testing

/// Hosts that have trust settings of their own, and what servers show.
@Suite("Trust of hosts", .enabled(if: ServerRig.isAvailable([.nginx, .openssl])))
struct HostTrustTests {
    @Test("Each host is trusted by its own settings and by no other host's")
    func byHost() async throws {
        let rig = try await ServerRig.shared()
        let selfSigned = try await TLSServer(certificate: "selfsigned")
        let untrusted = try await TLSServer(certificate: "untrusted")
        let old = try await TLSServer(certificate: "good", options: ["-tls1_2"])
        let names = ["selfsigned.test", "untrusted.test", "one.test", "two.test"]
        var configuration = try rig.settings(
            mappings: Dictionary(uniqueKeysWithValues: names.map { ($0, HTTPDNSMapping.addresses(["127.0.0.1"])) })
        )
        let everybody = configuration.trust
        var insecure = everybody
        insecure.verification = .insecurelyAcceptingAnyCertificate
        var other = everybody
        other.roots = .file(rig.otherCertificateAuthorityFile)
        var strict = everybody
        strict.minimumVersion = .tls13
        configuration.trustByHost = [
            try HTTPDNSRoute.Pattern("selfsigned.test"): insecure, try HTTPDNSRoute.Pattern("untrusted.test"): other,
            try HTTPDNSRoute.Pattern("one.test"): strict,
        ]
        try await withClient(configuration) { client in
            try await client.get("https://selfsigned.test:\(selfSigned.port)/").text()
            try await client.get("https://untrusted.test:\(untrusted.port)/").text()
            try await client.get("https://two.test:\(old.port)/").text()
            for (host, server) in [("one.test", old), ("two.test", selfSigned), ("two.test", untrusted)] {
                let error = try await refusal { _ = try await client.get("https://\(host):\(server.port)/") }
                #expect(error.phase == .tls && !error.requestMayHaveBeenSent, "\(host)")
            }
        }
    }

    /// Nothing is left behind.
    @Test("Unusable files of one host's settings are reported when the client is made")
    func badFile() async throws {
        let rig = try await ServerRig.shared()
        let transport = HTTPDNSLibcurlTransport()
        var configuration = try rig.settings(mappings: [:])
        var bad = configuration.trust
        bad.clientCertificate = HTTPDNSTrust.ClientCertificate(certificateFile: rig.certificateFile("good.key"))
        configuration.trustByHost[try HTTPDNSRoute.Pattern("one.test")] = bad
        let error = try await refusal { [configuration] in
            _ = try await HTTPDNSClient(configuration: configuration, on: transport)
        }
        #expect(error.code == .configuration)
        #expect(transport.usage.clients == 0 && transport.usage.trustSettings == 0)
    }

    @Test(
        "Each exchange has the server's certificates, also on a kept connection",
        arguments: [HTTPDNSClient.AllowedVersions.automatic, .http1Only]
    )
    func certificates(versions: HTTPDNSClient.AllowedVersions) async throws {
        let rig = try await ServerRig.shared()
        var configuration = try rig.settings(mappings: ["one.test": .addresses(["127.0.0.2"])])
        configuration.versions = versions
        configuration.connections.keepsPeerCertificates = true
        let pem = try String(contentsOfFile: rig.certificateFile("good.pem"), encoding: .utf8)
        try await withClient(configuration) { client in
            for number in 0..<3 {
                let response = try await client.get("https://one.test:\(rig.tlsPort)/health")
                try await response.text()
                let exchange = try #require(response.exchanges.last)
                #expect(exchange.reusedConnection == (number > 0))
                let own = try #require(exchange.peerCertificates.first)
                #expect(pem.contains(own.pem.trimmingCharacters(in: .whitespacesAndNewlines)) && !own.pem.isEmpty)
                #expect(!own.subject.isEmpty && !own.issuer.isEmpty && own.expires.hasSuffix("GMT"))
                #expect(own.begins.hasSuffix("GMT") && own.begins != own.expires && own.names.contains("DNS:one.test"))
            }
            let plain = try await client.get("http://one.test:\(rig.httpPort)/health")
            #expect(plain.exchanges.last?.peerCertificates.isEmpty == true)
        }
        configuration.connections.keepsPeerCertificates = false
        try await withClient(configuration) { client in
            let response = try await client.get("https://one.test:\(rig.tlsPort)/health")
            #expect(response.exchanges.last?.peerCertificates.isEmpty == true)
        }
    }
}
