// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

/// Certificates, keys and authorities that change under a running client.
@Suite("Rotation of certificates", .enabled(if: ServerRig.isAvailable([.nginx, .bind, .openssl])))
struct CertificateRotationTests {
    /// A client whose certificate, key and authorities are copies in `folder`.
    private func configuration(_ rig: ServerRig, _ folder: TemporaryFolder) throws -> HTTPDNSClient.Configuration {
        try folder.copy(rig.certificateFile("tenant-ca-a.pem"), to: "ca.pem")
        try folder.copy(rig.certificateFile("tenant-a.pem"), to: "tls.crt")
        try folder.copy(rig.certificateFile("tenant-a.key"), to: "tls.key")
        var configuration = try rig.tenant(nil)
        configuration.trust.roots = .file(folder.path("ca.pem"))
        configuration.trust.clientCertificate = HTTPDNSTrust.ClientCertificate(
            certificateFile: folder.path("tls.crt"),
            keyFile: folder.path("tls.key")
        )
        return configuration
    }

    /// Transfers in flight end on the old one.
    @Test(
        "A new certificate pair serves the next request on a new connection",
        arguments: [HTTPDNSClient.AllowedVersions.automatic, .http1Only]
    )
    func rotated(versions: HTTPDNSClient.AllowedVersions) async throws {
        let rig = try await ServerRig.shared()
        let folder = try TemporaryFolder()
        var configuration = try configuration(rig, folder)
        configuration.versions = versions
        let mark = rig.accessLogMark()
        let tag = "rotated-\(versions)"
        try await withClient(configuration) { client in
            try await client.get(rig.tenantURL("/health?\(tag)=before")).text()
            let inFlight = try await client.get(rig.tenantURL("/stall-body/1?\(tag)=inflight"))
            try folder.copy(rig.certificateFile("tenant-b.pem"), to: "tls.crt")
            try folder.copy(rig.certificateFile("tenant-b.key"), to: "tls.key")
            try await client.reloadCertificates()
            let after = try await client.get(rig.tenantURL("/health?\(tag)=after"))
            #expect(!after.exchanges[0].reusedConnection)
            try await after.text()
            #expect(try await client.get(rig.tenantURL("/health?\(tag)=after")).exchanges[0].reusedConnection)
            #expect(try await inFlight.text() == "begin\nend\n")
        }
        let lines = try await rig.awaitAccessLog(since: mark, count: 4) { $0.target.contains(tag) }
        for line in lines {
            #expect(line.clientSubject == (line.target.hasSuffix("after") ? "CN=tenant-b" : "CN=tenant-a"))
        }
        // No TLS session outlives the certificate that it was made with.
        let before = Set(lines.filter { $0.clientSubject == "CN=tenant-a" }.map(\.sessionID))
        #expect(lines.allSatisfy { $0.clientSubject == "CN=tenant-a" || !before.contains($0.sessionID) })
    }

    @Test("A client notices a changed certificate within seconds")
    func noticed() async throws {
        let rig = try await ServerRig.shared()
        let folder = try TemporaryFolder()
        let mark = rig.accessLogMark()
        try await withClient(try configuration(rig, folder)) { client in
            try await client.get(rig.tenantURL("/health?noticed")).text()
            try folder.copy(rig.certificateFile("tenant-b.pem"), to: "tls.crt")
            try folder.copy(rig.certificateFile("tenant-b.key"), to: "tls.key")
            let deadline = ContinuousClock.now + .seconds(60)
            while ContinuousClock.now < deadline {
                let answer = try await client.get(rig.tenantURL("/health?noticed"))
                try await answer.text()
                if !answer.exchanges[0].reusedConnection { break }
                try await Task.sleep(for: .milliseconds(20))
            }
        }
        let lines = try await rig.awaitAccessLog(since: mark) {
            $0.target == "/health?noticed" && $0.clientSubject == "CN=tenant-b"
        }
        #expect(lines.count == 1)
    }

    /// New connections use the whole pair, too. The error says why the half is refused.
    @Test("Half a certificate pair is refused, and requests go on with the whole one")
    func half() async throws {
        let rig = try await ServerRig.shared()
        let folder = try TemporaryFolder()
        let mark = rig.accessLogMark()
        try await withClient(try configuration(rig, folder)) { client in
            try await client.get(rig.tenantURL("/health?half")).text()
            try folder.copy(rig.certificateFile("tenant-b.pem"), to: "tls.crt")
            let error = try await refusal { try await client.reloadCertificates() }
            #expect(error.code == .configuration && error.message.contains("does not belong to the certificate"))
            // Their own connection each.
            try await concurrently(4) { _ in
                let response = try await client.get(rig.tenantURL("/once?half")) { $0.versions = .http1Only }
                #expect(response.status == .ok)
            }
            try folder.copy(rig.certificateFile("tenant-b.key"), to: "tls.key")
            try await client.reloadCertificates()
            try await client.get(rig.tenantURL("/health?half&whole")).text()
        }
        let lines = try await rig.awaitAccessLog(since: mark, count: 6) { $0.target.contains("?half") }
        for line in lines {
            #expect(line.clientSubject == (line.target.contains("whole") ? "CN=tenant-b" : "CN=tenant-a"))
        }
    }

    /// The link is swapped as Kubernetes does.
    @Test("Authorities behind a swapped link are the only ones for the next connection")
    func linkSwap() async throws {
        let rig = try await ServerRig.shared()
        let folder = try TemporaryFolder()
        for (name, source) in [("one", "tenant-ca-b.pem"), ("two", "other-ca.pem"), ("three", "tenant-ca-a.pem")] {
            try folder.makeFolder(name)
            try folder.copy(rig.certificateFile(source), to: "\(name)/ca.pem")
        }
        try folder.link("..data", to: "one")
        var configuration = try rig.tenant("tenant-a")
        configuration.trust.roots = .file(folder.path("..data/ca.pem"))
        try await withClient(configuration) { client in
            #expect(try await client.get(rig.tenantURL("/health")).status == .ok)
            try folder.link("..data", to: "two")
            try await client.reloadCertificates()
            let error = try await refusal { _ = try await client.get(rig.tenantURL("/health")) }
            #expect(error.code == .certificateRefused)
            try folder.link("..data", to: "three")
            try await client.reloadCertificates()
            #expect(try await client.get(rig.tenantURL("/health")).status == .ok)
        }
    }
}
