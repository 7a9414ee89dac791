// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import HTTPDNSPrimitives
import ServerRig
import Testing

@Suite("DNS provider against BIND", .enabled(if: ServerRig.isAvailable([.bind])))
struct DNSProviderAgainstBINDTests {
    private func answer(
        _ name: String,
        over transport: HTTPDNSDNSProvider.Transport
    ) async throws -> HTTPDNSProviderAnswer {
        let rig = try await ServerRig.shared()
        let server = HTTPDNSEndpoint(
            address: HTTPDNSAddress(v4: 127, 0, 0, 1),
            port: transport == .tls ? rig.dotPort : rig.dnsPort
        )
        var configuration = HTTPDNSDNSProvider.Configuration(name: "bind", servers: .addresses([server]))
        configuration.transport = transport
        configuration.trustRoots = .file(rig.certificateAuthorityFile)
        let provider = try HTTPDNSDNSProvider(configuration)
        let answer = try await provider.resolve(
            HTTPDNSProviderQuery(host: try HTTPDNSName(name), families: .both, timeLimit: .seconds(120))
        )
        await provider.shutdown()
        return answer
    }

    @Test("The zone's records are returned", arguments: DoHProviderAgainstBINDTests.zone)
    func answers(name: String, v4: HTTPDNSProviderAnswer.Family, v6: HTTPDNSProviderAnswer.Family) async throws {
        for transport in HTTPDNSDNSProvider.Transport.allCases {
            #expect(try await answer(name, over: transport) == HTTPDNSProviderAnswer(v4: v4, v6: v6))
        }
    }

    @Test("An answer that no datagram holds comes whole")
    func large() async throws {
        let rig = try await ServerRig.shared()
        let mark = rig.bindLogMark()
        let v4 = try await answer("large.test", over: .udp).v4
        guard case .addresses(let addresses, _, _) = v4 else { return _ = Issue.record("no addresses") }
        #expect(Set(addresses).count == 16)
        // Once over UDP and once over TCP, which BIND marks with T.
        try await rig.awaitBindLog(contains: "query: ", count: 3, since: mark)
        #expect(try rig.queryCount(of: "large.test", type: "A", since: mark) == 2)
    }
}
