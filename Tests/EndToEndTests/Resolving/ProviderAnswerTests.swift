// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSTesting
import ServerRig
import Testing

/// Names that only BIND knows, asked over DoH, and how often it was asked.
///
/// The system resolver knows no name below `test`, and has no part in any of these requests; that it is not even asked
/// is shown by the tripwire under `resolve-test` and the probe.
@Suite("Answers of a provider, over the wire", .enabled(if: ServerRig.isAvailable([.nginx, .bind])))
struct ProviderAnswerTests {
    /// A name of this test's own below the wildcard certificate, with one address.
    private func name(
        _ label: String,
        _ rig: ServerRig,
        address: String = "127.0.0.2",
        timeToLive: Int = 60
    ) async throws -> String {
        let name = "\(label).wild.test"
        try await rig.setRecords(name, timeToLive: timeToLive, [address])
        return name
    }

    private func url(_ name: String, _ rig: ServerRig, _ target: String = "/health") -> String {
        "https://\(name):\(rig.tlsPort)\(target)"
    }

    /// The provider gets one question for each family.
    @Test("A request reaches the address that the provider gives, under its own name")
    func reachesTheAddress() async throws {
        let rig = try await ServerRig.shared()
        let name = try await name("row1", rig, address: "127.0.0.3")
        let (log, queries) = (rig.accessLogMark(), rig.bindLogMark())
        try await withClient(try rig.settings()) { client in
            let response = try await client.get(url(name, rig, "/echo?row1"))
            #expect(response.status == .ok)
            #expect(
                response.destination.hasPrefix("127.0.0.3 · doh \"bind\" · fresh"),
                "\(response.destination)"
            )
            try await response.text()
        }
        let line = try await rig.awaitAccessLog(since: log) { $0.target == "/echo?row1" }[0]
        #expect(line.address == "127.0.0.3" && line.sni == name && line.host == "\(name):\(rig.tlsPort)")
        #expect(try rig.queryCount(of: name, type: "A", since: queries) == 1)
        #expect(try rig.queryCount(of: name, type: "AAAA", since: queries) == 1)
    }

    /// No byte of the request reaches the server.
    @Test("Under a mapping another server's certificate is refused and nothing is sent")
    func wrongServer() async throws {
        let rig = try await ServerRig.shared()
        let mark = rig.accessLogMark()
        try await withClient(try rig.settings(mappings: ["one.test": .addresses(["127.0.0.5"])])) { client in
            let error = try await refusal { _ = try await client.get(url("one.test", rig, "/echo?row2")) }
            #expect(error.code == .certificateRefused && error.phase == .tls && !error.requestMayHaveBeenSent)
            #expect(error.description.contains("other.test") && error.description.contains("one.test"), "\(error)")
            #expect(error.attempts.map(\.endpoint.description) == ["127.0.0.5:\(rig.tlsPort)"])
            try client.mappings.apply { $0["one.test"] = .addresses(["127.0.0.2"]) }
            try await client.get(url("one.test", rig, "/echo?row2")).text()
        }
        let lines = try await rig.awaitAccessLog(since: mark) { $0.target == "/echo?row2" }
        #expect(lines.map(\.address) == ["127.0.0.2"] && lines[0].sni == "one.test")
    }

    @Test(
        "GET and POST queries bring A and AAAA, and a name with one of them works",
        arguments: HTTPDNSDoHProvider.Method.allCases
    )
    func families(method: HTTPDNSDoHProvider.Method) async throws {
        let rig = try await ServerRig.shared()
        var configuration = try rig.settings()
        var service = HTTPDNSDoHProvider.Configuration(
            name: "bind",
            url: rig.dohURL,
            bootstrap: [HTTPDNSAddress(v4: 127, 0, 0, 1)]
        )
        service.trustRoots = .file(rig.certificateAuthorityFile)
        service.answerScope = .loopback
        service.method = method
        configuration.resolver.providers = [try HTTPDNSDoHProvider(service)]
        let mark = rig.bindLogMark()
        try await withClient(configuration) { client in
            let dual = try await client.resolve("dual.test", port: rig.tlsPort)
            #expect(Set(dual.endpoints.map(\.address.description)) == ["127.0.0.2", "::1"])
            for name in ["one.test", "v6only.test"] where name == "one.test" || rig.hasIPv6 {
                #expect(try await client.get(url(name, rig)).status == .ok)
            }
        }
        for name in ["dual.test", "one.test"] {
            for type in ["A", "AAAA"] {
                #expect(try rig.queryCount(of: name, type: type, since: mark) >= 1, "\(name) \(type)")
            }
        }
    }

    /// It fails closed, or falls back where the route says so.
    @Test("A mapping wins over the provider, and a dead provider fails as the route says")
    func sourceOrder() async throws {
        let rig = try await ServerRig.shared()
        let name = try await name("row10", rig, address: "127.0.0.4")
        let mark = rig.bindLogMark()
        try await withClient(try rig.settings()) { client in
            try client.mappings.apply { $0[name] = .addresses(["127.0.0.2"]) }
            #expect(try await client.get(url(name, rig)).text() == "127.0.0.2\n")
            #expect(try rig.queryCount(of: name, since: mark) == 0)
            let pinned = try await client.get(url(name, rig)) { $0.addresses = .only(["127.0.0.3"]) }
            #expect(try await pinned.text() == "127.0.0.3\n")
            try client.mappings.apply { $0[name] = nil }
            #expect(try await client.get(url(name, rig)).text() == "127.0.0.4\n")
            #expect(try rig.queryCount(of: name, type: "A", since: mark) == 1)
        }

        // A provider whose port nobody listens on.
        let holder = try RawServer(.hang)
        for fallback in [HTTPDNSRoute.Fallback.off, .system] {
            let dead = try HTTPDNSDoHProvider(
                .init(
                    name: "dead",
                    url: "https://doh.test:\(holder.port)/",
                    bootstrap: [HTTPDNSAddress(v4: 127, 0, 0, 66)]
                )
            )
            var configuration = try rig.settings()
            configuration.resolver.providers = [dead]
            configuration.resolver.routes = [HTTPDNSRoute(.any, .providers(["dead"], fallback: fallback))]
            try await withClient(configuration) { client in
                let error = try await refusal { _ = try await client.get(url(name, rig)) }
                #expect(error.code == .resolveFailed && error.phase == .resolve)
                let resolution = try #require(error.underlying as? HTTPDNSResolver.Error)
                #expect(resolution.attempts.map(\.provider) == (fallback == .off ? ["dead"] : ["dead", "system"]))
                #expect(error.description.contains(name), "\(error)")
            }
        }
    }
}
