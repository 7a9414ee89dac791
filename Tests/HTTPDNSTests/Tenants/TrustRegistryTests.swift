// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import Testing

@testable import HTTPDNS

struct TrustRegistryTests {
    private static let one = HTTPDNSTrust()
    private static let two = HTTPDNSTrust(roots: .file("two.pem"))
    private static let three = HTTPDNSTrust(roots: .file("three.pem"))

    private func lease(
        _ registry: inout TrustRegistry,
        _ trusts: Set<HTTPDNSTrust>,
        insteadOf held: Set<HTTPDNSTrust>? = nil,
        maximum: Int = 2
    ) -> [HTTPDNSTrust: TrustedTransport]? {
        var offer: [HTTPDNSTrust: TrustedTransport] = [:]
        for trust in trusts {
            var configuration = TransportConfiguration()
            configuration.trust = trust
            offer[trust] = TrustedTransport(configuration)
        }
        let lease = registry.lease(offer, insteadOf: held, maximum: maximum)
        guard case .granted(let transports) = lease else { return nil }
        return transports
    }

    /// Taken again after that, they are another transport's.
    @Test("Settings that a client leaves are kept until they are released")
    func leaving() throws {
        var registry = TrustRegistry()
        let first = try #require(lease(&registry, [Self.one])?[Self.one])
        #expect(lease(&registry, [Self.two], insteadOf: [Self.one]) != nil)
        registry.leave([Self.one])
        #expect(registry.transports.count == 2 && registry.clients == 1)
        // Still there, and taken again before it went.
        #expect(lease(&registry, [Self.one])?[Self.one] === first)
        #expect(registry.release([Self.one], held: .leaving).isEmpty)
        #expect(registry.release([Self.one], held: .inUse).first === first)
        #expect(registry.transports.count == 1 && registry.clients == 1)
        #expect(lease(&registry, [Self.one])?[Self.one] !== first)
    }

    /// Settings that are given up do not count unless another client has them.
    @Test("Trust settings are leased together or not at all")
    func limit() {
        var registry = TrustRegistry()
        #expect(lease(&registry, [Self.one, Self.two, Self.three]) == nil)
        #expect(registry.transports.isEmpty && registry.clients == 0)
        #expect(lease(&registry, [Self.one, Self.two]) != nil)
        #expect(lease(&registry, [Self.three]) == nil)
        #expect(lease(&registry, [Self.one, Self.three], insteadOf: [Self.one, Self.two]) != nil)
        registry.leave([Self.one, Self.two])
        // The second settings are leaving: they count no more, and nor do they when they are asked for.
        #expect(lease(&registry, [Self.two]) == nil)
        #expect(registry.release([Self.one, Self.two], held: .leaving).count == 1)
        #expect(lease(&registry, [Self.three]) != nil)
        #expect(lease(&registry, [Self.two], insteadOf: [Self.one, Self.three]) != nil, "the third is the other's too")
    }

    @Test("Candidates that are not taken are released, and count as no client")
    func candidates() throws {
        var registry = TrustRegistry()
        _ = try #require(lease(&registry, [Self.one]))
        let candidates = try #require(lease(&registry, [Self.one, Self.two], insteadOf: [Self.one]))
        #expect(registry.clients == 1)
        #expect(registry.release([Self.one, Self.two], held: .candidate).first === candidates[Self.two])
        #expect(registry.transports.count == 1)
        #expect(registry.release([Self.one], held: .inUse).count == 1 && registry.clients == 0)
    }

    @Test("A closed registry leases nothing")
    func closed() {
        var registry = TrustRegistry()
        #expect(lease(&registry, [Self.one]) != nil)
        #expect(registry.close().count == 1)
        #expect(lease(&registry, [Self.one]) == nil && lease(&registry, [Self.two], insteadOf: [Self.one]) == nil)
    }
}
