// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSTesting
import ServerRig
import Testing

struct DoHClientTests {
    private static let name = "img.shop-of-a-test.com"

    @Test("Public names are resolved by the service, internal names are not asked of it")
    func resolves() async throws {
        let reply = DNSReply(host: Self.name, address: [8, 8, 8, 8])
        let service = try RawServer(.repeatForever([.readHead, .send(reply.http)]))
        var configuration = try HTTPDNSClient.Configuration.doh("http://127.0.0.1:\(service.port)/dns-query")
        configuration.resolver.families = .v4
        // Beside the other suites a thread may wait for seconds for its turn.
        configuration.makePatient()
        let internalName = try HTTPDNSName("db.internal")
        let inner = HTTPDNSAddress(v4: 203, 0, 113, 50)
        let system = ScriptedSystemResolver([internalName: .success([inner])])
        let resolver = try HTTPDNSResolver(configuration.resolver, systemResolver: system)
        let outside = try await resolver.resolve(HTTPDNSResolver.Query(.name(HTTPDNSName(Self.name)), port: 443))
        #expect(outside.provider == "doh" && outside.endpoints.map(\.address) == [HTTPDNSAddress(v4: 8, 8, 8, 8)])
        let inside = try await resolver.resolve(HTTPDNSResolver.Query(.name(internalName), port: 443))
        #expect(inside.source == .system && inside.endpoints.map(\.address) == [inner])
        #expect(resolver.counters.providers["doh"]?.queries == 1 && system.questions == [internalName])
        await resolver.shutdown()
    }

    @Test(
        "A URL or an address that cannot be used is refused by name",
        arguments: [
            ("https://dns.example/dns-query", ["192.0.2.53", "dns1.example"], "\"dns1.example\" is not an address"),
            ("https://dns.example/dns-query", [], "bootstrap"),
            ("ftp://192.0.2.53/", [], "https://"),
        ]
    )
    func refused(url: String, bootstrap: [String], text: String) throws {
        let error = #expect(throws: HTTPDNSClientError.self) {
            try HTTPDNSClient.Configuration.doh(url, bootstrap: bootstrap)
        }
        #expect(error?.code == .configuration && error?.message.contains(text) == true, "\(String(describing: error))")
    }
}
