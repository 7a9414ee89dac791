// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

/// A proxy that asks for Digest.
@Suite("Digest at squid", .enabled(if: ServerRig.isAvailable([.nginx, .squid])))
struct ProxyDigestTests {
    private static let host = "digest.wild.test"

    private func settings(_ rig: ServerRig, _ squid: SquidProxy, password: String) throws
        -> HTTPDNSClient.Configuration
    {
        var configuration = try rig.settings(mappings: [:])
        var proxy = try HTTPDNSClient.Proxy("http://127.0.0.1:\(squid.port)")
        var credential = HTTPDNSClient.Proxy.Credential(user: "me", password: HTTPDNSSecret { password })
        credential.scheme = .digest
        proxy.credential = credential
        configuration.proxy = .through(proxy)
        return configuration
    }

    @Test("Tunnels and forwarded requests pass, and a wrong password is a typed error")
    func squid() async throws {
        let rig = try await ServerRig.shared()
        let login = SquidProxy.Login(user: "me", password: "canary", isDigest: true)
        let squid = try await SquidProxy(hosts: [Self.host: "127.0.0.2"], login: login)
        var urls = ["https://\(Self.host):\(rig.tlsPort)/health"]
        #if Digest
        urls.append("http://\(Self.host):\(rig.httpPort)/health")
        #endif
        try await withClient(settings(rig, squid, password: "canary")) { client async throws in
            for url in urls + urls {
                let response = try await client.get(url)
                #expect(try await response.text() == "127.0.0.2\n", "\(url)")
                #expect(response.exchanges.count == 1)
            }
            // A body is sent again to the proxy that has refused it.
            for url in urls {
                let response = try await client.post(url, body: .bytes([1, 2, 3]))
                #expect(response.status.code != 407)
            }
        }
        try await withClient(settings(rig, squid, password: "wrong")) { client async throws in
            for url in urls {
                let error = try await refusal { _ = try await client.get(url) }
                #expect(error.code == .proxyLoginRefused && !"\(error)".contains("canary"), "\(error)")
            }
        }
    }
}
