// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

/// Cookies beside redirects, versions and restarts, against nginx.
@Suite("Cookies over the wire", .enabled(if: ServerRig.isAvailable([.nginx])))
struct CookiesOverTheWireTests {
    private func settings(
        _ rig: ServerRig,
        _ addresses: [String: String] = ["one.test": "127.0.0.2", "two.test": "127.0.0.2"]
    ) throws -> HTTPDNSClient.Configuration {
        var configuration = try rig.settings(mappings: addresses.mapValues { .addresses([$0]) })
        configuration.cookies = .memory()
        return configuration
    }

    /// The cookie of one.test on the first address is sent on the second, and not to two.test on the first.
    @Test("A cookie stays with its name on another address, and away from other names")
    func movedName() async throws {
        let rig = try await ServerRig.shared()
        try await withClient(settings(rig)) { client in
            try await client.get(rig.url("https://one.test/", "give-cookies?f=a%3d1")).text()
            let other = try await Echo(client.get(rig.url("https://two.test/", "echo")))
            #expect(other.address == "127.0.0.2" && other.headers["cookie"] == nil)
            try client.mappings.apply { $0["one.test"] = .addresses(["127.0.0.3"]) }
            let moved = try await Echo(client.get(rig.url("https://one.test/", "echo")))
            #expect(moved.address == "127.0.0.3" && moved.headers["cookie"] == .one("a=1"))
            // An address of the request's own changes nothing either.
            let url = rig.url("https://one.test/", "echo")
            let pinned = try await Echo(client.get(url) { $0.addresses = .only(["127.0.0.4"]) })
            #expect(pinned.address == "127.0.0.4" && pinned.headers["cookie"] == .one("a=1"))
        }
    }

    @Test("Many cookies are one field for the server, over both versions", arguments: [true, false])
    func versions(isHTTP2: Bool) async throws {
        let rig = try await ServerRig.shared()
        var configuration = try settings(rig)
        configuration.versions = isHTTP2 ? .http2Only : .http1Only
        try await withClient(configuration) { client in
            let fields = (0..<20).map { "f=n\($0)%3d\($0)" }.joined(separator: "&")
            try await client.get(rig.url("https://one.test/", "give-cookies?\(fields)")).text()
            let shown = try await client.get(rig.url("https://one.test/", "show-cookies"))
            #expect(shown.version == (isHTTP2 ? .http2 : .http11))
            #expect(try await shown.text() == (0..<20).map { "n\($0)=\($0)" }.joined(separator: "; "))
        }
    }

    @Test("Concurrent requests of two names on one address never mix their cookies")
    func concurrent() async throws {
        let rig = try await ServerRig.shared()
        try await withClient(settings(rig)) { client in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for task in 0..<16 {
                    let name = task.isMultiple(of: 2) ? "one" : "two"
                    group.addTask {
                        for _ in 0..<20 {
                            let page = "give-cookies?f=n%3d\(name)"
                            try await client.get(rig.url("https://\(name).test/", page)).text()
                            let shown = try await client.get(rig.url("https://\(name).test/", "show-cookies"))
                            #expect(try await shown.text() == "n=\(name)")
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }
}
