// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

/// The protocol in nginx's log is the one that was asked for.
@Suite("Chosen versions, on the rig", .enabled(if: ServerRig.isAvailable([.nginx])))
struct ChosenVersionTests {
    @Test(
        "The access log has the HTTP version that was chosen",
        arguments: [
            (.http10Only, "HTTP/1.0"), (.http1Only, "HTTP/1.1"), (.http2Only, "HTTP/2.0"), (.automatic, "HTTP/2.0"),
        ] as [(HTTPDNSClient.AllowedVersions, String)]
    )
    func chosen(versions: HTTPDNSClient.AllowedVersions, name: String) async throws {
        let rig = try await ServerRig.shared()
        let host = "version-\(versions).wild.test".lowercased()
        let mark = rig.accessLogMark()
        try await withClient(rig.settings(mappings: [host: .addresses(["127.0.0.2"])])) { client in
            let request = HTTPDNSClient.Request(
                method: .post,
                url: "https://\(host):\(rig.tlsPort)/echo",
                body: .bytes([1, 2])
            ) { $0.versions = versions }
            for _ in 0..<2 {
                let response = try await client.execute(request)
                #expect(response.status == .ok && (response.version == .http2) == (name == "HTTP/2.0"))
                try await response.text()
            }
        }
        let lines = try await rig.awaitAccessLog(since: mark, count: 2) { $0.host.hasPrefix(host) }
        #expect(lines.count == 2 && lines.allSatisfy { $0.protocol == name })
    }

    /// The client tries the request three times.
    @Test("A server without HTTP/2 receives nothing of a request that allows only HTTP/2")
    func refused() async throws {
        let rig = try await ServerRig.shared()
        let host = "version-none.wild.test"
        let mark = rig.accessLogMark()
        try await withClient(rig.settings(mappings: [host: .addresses(["127.0.0.2"])])) { client in
            var request = HTTPDNSClient.Request(
                method: .post,
                url: "https://\(host):\(rig.http1Port)/echo",
                body: .bytes([1])
            ) { $0.versions = .http2Only }
            for _ in 0..<3 {
                let error = try await refusal { _ = try await client.execute(request) }
                #expect(
                    error.code == .connectFailed && error.phase == .tls && error.message.contains("HTTP/2"),
                    "\(error)"
                )
                #expect(!error.requestMayHaveBeenSent)
            }
            request.changeOptions { $0.versions = .automatic }
            #expect(try await client.execute(request).text().isEmpty == false)
        }
        let lines = try await rig.awaitAccessLog(since: mark) { $0.host.hasPrefix(host) }
        #expect(lines.count == 1)
    }
}
