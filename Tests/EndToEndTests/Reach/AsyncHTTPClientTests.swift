// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if NIO && Peers
import AsyncHTTPClient
import HTTPDNS
import HTTPDNSNIO
import NIOCore
import NIOHTTP1
import NIOSSL
import ServerRig
import Testing

@Suite("AsyncHTTPClient through the proxy", .enabled(if: ServerRig.isAvailable([.nginx, .bind])))
struct AsyncHTTPClientTests {
    /// Returns status and the address that answered, or the error's text.
    private func get(_ url: String, _ client: HTTPClient) async throws -> String {
        do {
            let response = try await client.execute(HTTPClientRequest(url: url), timeout: .seconds(60))
            let body = try await response.body.collect(upTo: 1 << 20)
            return "\(response.status.code) \(String(buffer: body).trimmingSuffix { $0.isNewline })"
        } catch {
            return "\(error)"
        }
    }

    @Test("A client with one line more reaches mappings, ports and HTTP-DNS names")
    func reaches() async throws {
        let rig = try await ServerRig.shared()
        let settings = try rig.settings(besides: [
            "one.test": .addresses(["127.0.0.4"]), "three.test": .addresses(["127.0.0.3:\(rig.tlsPort)"]),
        ])
        try await withClient(settings) { own in
            let proxy = try await HTTPDNSProxy(own)
            let listener = proxy.listener
            var configuration = HTTPClient.Configuration()
            configuration.proxy = .server(
                host: listener.host,
                port: listener.port,
                authorization: .basic(username: listener.user, password: listener.password)
            )
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.trustRoots = .file(rig.certificateAuthorityFile)
            configuration.tlsConfiguration = tls
            // It repeats a failed connection for as long.
            configuration.timeout.connect = .seconds(2)
            try await HTTPClient.withHTTPClient(configuration: configuration) { client in
                #expect(try await get("https://one.test:\(rig.tlsPort)/health", client) == "200 127.0.0.4")
                #expect(try await get("https://three.test/health", client) == "200 127.0.0.3")
                #expect(try await get("http://two.test:\(rig.httpPort)/health", client) == "200 127.0.0.3")
                // The certificate of another name is refused end to end.
                let refused = try await get("https://liar.test:\(rig.tlsPort)/health", client)
                #expect(!refused.hasPrefix("200"), "\(refused)")
                let unknown = try await get("http://gone.test/", client)
                #expect(unknown.contains("invalidProxyResponse"), "\(unknown)")
                try own.mappings.apply { $0["moved.test"] = .addresses(["127.0.0.2:\(rig.httpPort)"]) }
                #expect(try await get("http://moved.test/health", client) == "200 127.0.0.2")
            }
            await proxy.shutdown()
        }
    }
}

extension String {
    fileprivate func trimmingSuffix(while isTrimmed: (Character) -> Bool) -> String {
        String(reversed().drop(while: isTrimmed).reversed())
    }
}
#endif
