// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSConfiguration
import ServerRig
import Testing

#if YAML
@Suite("Answers of a name server", .enabled(if: ServerRig.isAvailable([.nginx, .bind])))
struct NameServerTests {
    private func settings(_ rig: ServerRig) throws -> HTTPDNSClient.Configuration {
        let file = """
            version: 1
            providers:
              office: { kind: dns, servers: "127.0.0.1:\(rig.dnsPort)", answer_scope: loopback }
            routes: { "*": { providers: [office], fallback: none } }
            """
        var settings = try HTTPDNSConfigurationFile.parse(file, name: "dns.yaml")
        settings.trustRoots = .file(rig.certificateAuthorityFile)
        settings.adaptToTests()
        return settings
    }

    @Test(
        "A request goes where the name server says, and a changed record is seen"
    )
    func moves() async throws {
        let rig = try await ServerRig.shared()
        let name = "dns-moves.wild.test"
        try await rig.setRecords(name, timeToLive: 2, ["127.0.0.2"])
        try await withClient(try settings(rig)) { client in
            let url = "https://\(name):\(rig.tlsPort)/echo"
            let response = try await client.get(url)
            #expect(response.destination.hasPrefix("127.0.0.2 · dns \"office\" · fresh"), "\(response.destination)")
            #expect(try await Echo(response).sni == name)
            try await rig.setRecords(name, timeToLive: 2, ["127.0.0.3"])
            let start = ContinuousClock.now
            while try await Echo(client.get(url)).address == "127.0.0.2" {
                try await Task.sleep(for: .milliseconds(20))
            }
            #expect(ContinuousClock.now - start < .seconds(20))
        }
    }

    @Test("A name that does not exist fails without a connection")
    func unknown() async throws {
        let rig = try await ServerRig.shared()
        try await withClient(try settings(rig)) { client in
            let error = try await refusal { _ = try await client.get("https://nosuch.test:\(rig.tlsPort)/") }
            #expect(error.phase == .resolve, "\(error)")
        }
    }
}
#endif
