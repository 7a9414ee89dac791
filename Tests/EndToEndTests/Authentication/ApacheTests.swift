// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

/// Basic and Digest (MD5) at Apache.
@Suite("Credentials at Apache", .enabled(if: ServerRig.isAvailable([.apache])))
struct ApacheTests {
    private func settings(_ apache: ApacheServer, _ credential: HTTPDNSClient.Credential) throws
        -> HTTPDNSClient.Configuration
    {
        var configuration = HTTPDNSClient.Configuration()
        configuration.adaptToTests()
        let origin = try #require(HTTPDNSClient.Origin("http://127.0.0.1:\(apache.port)"))
        configuration.credentials = [origin: credential]
        return configuration
    }

    @Test("Basic is answered once for a folder, and a wrong password gives the 401")
    func basic() async throws {
        let apache = try await ApacheServer(user: "me", password: "p\u{e4}ss")
        let base = "http://127.0.0.1:\(apache.port)"
        let credential = HTTPDNSClient.Credential.basic(user: "me", password: HTTPDNSSecret { "p\u{e4}ss" })
        try await withClient(settings(apache, credential)) { client async throws in
            for (path, statuses) in [("/open", [200]), ("/basic/a", [401, 200]), ("/basic/b", [200])] {
                let response = try await client.get(base + path)
                #expect(try await response.text() == "apache\n")
                #expect(response.exchanges.map(\.status.code) == statuses, "\(path)")
            }
        }
        let wrong = HTTPDNSClient.Credential.basic(user: "me", password: HTTPDNSSecret { "wrong" })
        try await withClient(settings(apache, wrong)) { client async throws in
            let response = try await client.get(base + "/basic/a")
            #expect(response.status == .unauthorized && response.exchanges.count == 2)
        }
        let log = try await apache.awaitResponses(6)
        #expect(log == ["200 /open", "401 /basic/a", "200 /basic/a", "200 /basic/b", "401 /basic/a", "401 /basic/a"])
    }

    #if Digest
    @Test("Digest is answered once, and its nonce is counted by concurrent requests")
    func digest() async throws {
        let apache = try await ApacheServer(user: "me", password: "pw")
        let base = "http://127.0.0.1:\(apache.port)"
        let credential = HTTPDNSClient.Credential.digest(user: "me", password: HTTPDNSSecret { "pw" })
        try await withClient(settings(apache, credential)) { client async throws in
            let first = try await client.get(base + "/digest/a")
            // Apache's proof (rspauth) was checked: a wrong one is an error.
            #expect(try await first.text() == "apache\n")
            #expect(first.exchanges.map(\.status.code) == [401, 200])
            try await withThrowingTaskGroup(of: [Int].self) { tasks in
                for _ in 0..<50 {
                    tasks.addTask {
                        let response = try await client.get(base + "/digest/b")
                        _ = try await response.text()
                        return response.exchanges.map(\.status.code)
                    }
                }
                for try await statuses in tasks { #expect(statuses == [200]) }
            }
        }
        let wrong = HTTPDNSClient.Credential.digest(user: "me", password: HTTPDNSSecret { "wrong" })
        try await withClient(settings(apache, wrong)) { client async throws in
            let response = try await client.get(base + "/digest/a")
            #expect(response.status == .unauthorized && response.exchanges.count == 2)
        }
    }

    /// A short life makes Apache send the next nonce with each response. A server in its place knows none of its nonces.
    @Test("The next nonce is used, and one that became stale is answered silently")
    func nonces() async throws {
        let first = try await ApacheServer(user: "me", password: "pw", nonceLifetime: 20)
        let url = "http://127.0.0.1:\(first.port)/digest/a"
        let credential = HTTPDNSClient.Credential.digest(user: "me", password: HTTPDNSSecret { "pw" })
        try await withClient(settings(first, credential)) { client async throws in
            for statuses in [[401, 200], [200], [200]] {
                let response = try await client.get(url)
                _ = try await response.text()
                #expect(response.exchanges.map(\.status.code) == statuses)
            }
            try await first.stop()
            let second = try await ApacheServer(user: "me", password: "pw", port: first.port)
            let response = try await client.get(url)
            #expect(try await response.text() == "apache\n")
            #expect(response.exchanges.map(\.status.code) == [401, 200])
            #expect(try await second.awaitResponses(2) == ["401 /digest/a", "200 /digest/a"])
        }
    }
    #endif
}
