// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPDNSPrimitives
import ServerRig
import Testing

/// The loop's own connections: beside a request, to an endpoint that rests (`resting`), and from time to time (`scheduled`).
@Suite("Probes", .enabled(if: ServerRig.isAvailable([.nginx, .openssl])))
struct ProbeTests {
    enum Kind: CaseIterable {
        case resting, scheduled
    }

    private func configuration(_ rig: ServerRig, _ kind: Kind) -> TransportConfiguration {
        var configuration = TransportConfiguration()
        configuration.trust = HTTPDNSTrust(roots: .file(rig.certificateFile("tenant-ca-a.pem")))
        configuration.attemptDelay = .seconds(60)
        if kind == .scheduled {
            configuration.activeProbing = HTTPDNSTransfer.ActiveProbing()
            configuration.activeProbing?.interval = .seconds(1)
        }
        return configuration
    }

    /// What a server was told of by a probe: its whole handshake, in the words of openssl.
    private func probed(_ kind: Kind, at address: String, withholding: Bool) async throws -> String {
        let rig = try await ServerRig.shared()
        var configuration = configuration(rig, kind)
        configuration.trust.clientCertificate = HTTPDNSTrust.ClientCertificate(
            certificateFile: rig.certificateFile("tenant-a.pem"),
            keyFile: rig.certificateFile("tenant-a.key")
        )
        let transport = Transport(configuration)
        // nginx answers; nobody listens at the other address, until the server of this test does.
        let good = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 2), port: rig.tlsPort)
        let other = HTTPDNSEndpoint(address: try #require(HTTPDNSAddress(address)), port: rig.tlsPort)
        var request = TransferRequest(
            url: try ParsedURL("https://tenant.test:\(rig.tlsPort)/health"),
            endpoints: kind == .resting ? [other, good] : [good, other]
        )
        request.withholdsCertificate = withholding
        request.limits = .patient
        #expect(try await transport.fetch(request).endpoint == good)
        let server = try await TLSServer(
            certificate: "tenant",
            options: ["-state", "-verify", "2", "-CAfile", rig.certificateFile("clients-ca.pem")],
            address: address,
            port: rig.tlsPort
        )
        while !server.report.contains("read finished") {
            // A rest or an interval of a second is over some time; the first connection is a probe.
            try await transport.fetch(request)
            try await Task.sleep(for: .milliseconds(20))
        }
        let report = server.report
        await transport.shutdown()
        return report
    }

    @Test("A probe for requests that withhold the client's certificate withholds it", arguments: Kind.allCases)
    func withheld(kind: Kind) async throws {
        let report = try await probed(kind, at: kind == .resting ? "127.0.0.74" : "127.0.0.75", withholding: true)
        #expect(!report.contains("tenant-a"), "\(report)")
    }

    @Test("A probe for other requests has the client's certificate", arguments: Kind.allCases)
    func shown(kind: Kind) async throws {
        let report = try await probed(kind, at: kind == .resting ? "127.0.0.76" : "127.0.0.77", withholding: false)
        #expect(report.contains("tenant-a"), "\(report)")
    }

    @Test("A shutdown that waits for requests in flight does not wait for probes", arguments: Kind.allCases)
    func shutdown(kind: Kind) async throws {
        let rig = try await ServerRig.shared()
        var configuration = configuration(rig, kind)
        let silent = try RawServer(.hang)
        let (first, second) = (
            HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 1), port: silent.port),
            HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 2), port: rig.tlsPort)
        )
        var request = TransferRequest(
            url: try ParsedURL("https://tenant.test:\(rig.tlsPort)/health"),
            endpoints: kind == .resting ? [first, second] : [second, first]
        )
        // Longer than the test may take: it ends only if nobody waits for the probe.
        (request.limits.connect, request.limits.tls) = (.seconds(60), .seconds(600))
        // Too slow for a race, the silent one rests; else nothing but the schedule leads to it.
        if kind == .resting { configuration.attemptDelay = .milliseconds(50) }
        let transport = Transport(configuration)
        while silent.connections.count < (kind == .resting ? 2 : 1) {
            #expect(try await transport.fetch(request).endpoint == second)
            try await Task.sleep(for: .milliseconds(20))
        }
        await transport.shutdown(drainingFor: .seconds(600))
    }
}
