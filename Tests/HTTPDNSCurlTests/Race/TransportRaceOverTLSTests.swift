// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPDNSPrimitives
import ServerRig
import Testing

/// Races over TLS, against nginx.
@Suite("Transport races over TLS", .enabled(if: ServerRig.isAvailable([.nginx])))
struct TransportRaceOverTLSTests {
    private func transport(_ rig: ServerRig, delay: Duration = .milliseconds(250)) -> Transport {
        var configuration = TransportConfiguration()
        configuration.trustRoots = .file(rig.certificateAuthorityFile)
        configuration.attemptDelay = delay
        return Transport(configuration)
    }

    private func request(_ rig: ServerRig, _ others: [HTTPDNSEndpoint]) throws -> TransferRequest {
        let good = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 2), port: rig.tlsPort)
        return TransferRequest(
            url: try ParsedURL("https://img.shop.test:\(rig.tlsPort)/a.jpg"),
            endpoints: others + [good],
            limits: .patient
        )
    }

    @Test("A wrong certificate gives way to a good one, and is in the trail")
    func wrongCertificate() async throws {
        let rig = try await ServerRig.shared()
        let wrong = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 5), port: rig.tlsPort)
        let transport = transport(rig, delay: .seconds(60))
        let request = try request(rig, [wrong])
        let response = try await transport.fetch(request)
        #expect(response.endpoint == request.endpoints[1])
        #expect(response.failedAttempts.map(\.endpoint) == [wrong])
        #expect(response.failedAttempts.first?.code == .certificateRefused)
        #expect(response.failedAttempts.first?.phase == .tls)
        #expect(try await transport.fetch(request).failedAttempts.isEmpty)
        #expect(transport.endpointRecords.contains { $0.endpoint == wrong && $0.host == "img.shop.test" })
    }

    @Test("A silent TLS endpoint gives way to a good one")
    func silentTLS() async throws {
        let rig = try await ServerRig.shared()
        let silent = try RawServer(.hang)
        let endpoint = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 1), port: silent.port)
        let request = try request(rig, [endpoint])
        #expect(try await transport(rig).fetch(request).endpoint == request.endpoints[1])
    }

    /// Fewer than all of them open a connection there.
    @Test("64 concurrent requests leave a silent TLS endpoint together")
    func together() async throws {
        let rig = try await ServerRig.shared()
        let silent = try RawServer(.hang)
        let endpoint = HTTPDNSEndpoint(address: HTTPDNSAddress(v4: 127, 0, 0, 1), port: silent.port)
        let request = try request(rig, [endpoint])
        let transport = transport(rig)
        try await withThrowingTaskGroup(of: HTTPDNSEndpoint.self) { group in
            for _ in 0..<64 { group.addTask { try await transport.fetch(request).endpoint } }
            for try await answered in group { #expect(answered == request.endpoints[1]) }
        }
        // Probes, once a second at first, are the others on a machine that needs seconds for this.
        #expect(silent.connections.count < 8)
    }
}
