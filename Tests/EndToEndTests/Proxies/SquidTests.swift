// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import ServerRig
import Testing

/// Proxies, exceptions, the environment; who resolves.
@Suite("Through squid", .enabled(if: ServerRig.isAvailable([.nginx, .squid])))
struct SquidTests {
    /// What the client's mapping says, and what squid thinks: so the origin's address tells who resolved.
    private static let mapped = ["proxied.wild.test": HTTPDNSMapping.addresses(["127.0.0.3"])]
    private static let known = [
        "proxied.wild.test": "127.0.0.2", "direct.wild.test": "127.0.0.2", "closed.wild.test": "127.0.0.66",
    ]

    private func settings(
        _ rig: ServerRig,
        through squid: SquidProxy,
        local: Bool = false,
        except: [String] = []
    ) throws -> HTTPDNSClient.Configuration {
        var configuration = try rig.settings(
            mappings: Self.mapped.merging(["direct.wild.test": .addresses(["127.0.0.4"])]) { $1 }
        )
        var proxy = try HTTPDNSClient.Proxy("http://127.0.0.1:\(squid.port)")
        proxy.resolvesLocally = local
        configuration.proxy = .through(proxy, except: try HTTPDNSClient.Proxy.Exceptions(except))
        return configuration
    }

    /// The excepted host is reached by its mapping.
    @Test("Squid looks the name up, and an excepted host is reached without it")
    func byName() async throws {
        let rig = try await ServerRig.shared()
        let squid = try await SquidProxy(hosts: Self.known)
        let settings = try settings(rig, through: squid, except: ["direct.wild.test"])
        try await withClient(settings) { client async throws in
            let url = "https://proxied.wild.test:\(rig.tlsPort)/health"
            let first = try await client.get(url)
            #expect(try await first.text() == "127.0.0.2\n")
            let exchange = try #require(first.exchanges.last)
            #expect(exchange.proxy == "http://127.0.0.1:\(squid.port)" && exchange.remote.port == squid.port)
            #expect(exchange.request.addresses.isEmpty && exchange.request.source == .proxy && exchange.resolve == nil)
            #expect(
                first.destination.contains(
                    "through http://127.0.0.1:\(squid.port) · looked up by the proxy"
                )
            )
            let second = try await client.get(url)
            #expect(try await second.text() == "127.0.0.2\n")
            #expect(second.exchanges.last?.reusedConnection == true)
            let direct = try await client.get("https://direct.wild.test:\(rig.tlsPort)/health")
            #expect(try await direct.text() == "127.0.0.4\n")
            #expect(direct.exchanges.last?.proxy == nil)
        }
        #expect(try await squid.awaitRequests(1) == ["CONNECT proxied.wild.test:\(rig.tlsPort)"])
    }

    /// Certificate and SNI are those of the name.
    @Test("Squid gets the mapping's address when the client resolves locally")
    func byAddress() async throws {
        let rig = try await ServerRig.shared()
        let squid = try await SquidProxy(hosts: Self.known)
        let mark = rig.accessLogMark()
        try await withClient(try settings(rig, through: squid, local: true)) { client async throws in
            let url = "https://proxied.wild.test:\(rig.tlsPort)/health?local"
            let response = try await client.get(url)
            #expect(try await response.text() == "127.0.0.3\n")
            #expect(response.exchanges.last?.remote.address == HTTPDNSAddress("127.0.0.3"))
            // Addresses that the request names go the same way, no matter who resolves.
            let pinned = try await client.get(url) { $0.addresses = .only(["127.0.0.4"]) }
            #expect(try await pinned.text() == "127.0.0.4\n")
        }
        let port = rig.tlsPort
        #expect(Set(try await squid.awaitRequests(2)) == ["CONNECT 127.0.0.3:\(port)", "CONNECT 127.0.0.4:\(port)"])
        let lines = try await rig.awaitAccessLog(since: mark, count: 2) { $0.target == "/health?local" }
        #expect(Set(lines.map(\.sni)) == ["proxied.wild.test"])
    }

    /// nginx sends no chunks to a client of HTTP/1.0, so that close_notify alone tells the end of the body.
    @Test("A TLS body that is cut off in a tunnel is an error, and a whole one is not")
    func cutOff() async throws {
        let rig = try await ServerRig.shared()
        let squid = try await SquidProxy(hosts: Self.known)
        let relay = try TCPRelay(to: "127.0.0.1", port: squid.port)
        var settings = try rig.settings(mappings: [:])
        settings.proxy = .through(try HTTPDNSClient.Proxy("http://\(relay.address):\(relay.port)"))
        try await withClient(settings) { client async throws in
            var request = HTTPDNSClient.Request(url: "https://proxied.wild.test:\(rig.tlsPort)/drip?count=2&every=0")
            request.changeOptions { $0.versions = .http10Only }
            let whole = try await client.execute(request)
            #expect(whole.headerFields[.contentLength] == nil)
            #expect(try await whole.text() == "1\n2\n")
            request.url = "https://proxied.wild.test:\(rig.tlsPort)/drip?count=3&every=60"
            let response = try await client.execute(request)
            let error = try await refusal {
                for try await _ in response.body { relay.endConnections(resetting: false) }
            }
            #expect(error.code == .connectionLost && error.phase == .body, "\(error)")
        }
    }

    /// The whole URL goes to it.
    @Test("Squid fetches a clear-text URL without a tunnel")
    func clearText() async throws {
        let rig = try await ServerRig.shared()
        let squid = try await SquidProxy(hosts: Self.known)
        let url = "http://proxied.wild.test:\(rig.httpPort)/health"
        try await withClient(try settings(rig, through: squid)) { client async throws in
            #expect(try await client.get(url).text() == "127.0.0.2\n")
        }
        #expect(try await squid.awaitRequests(1) == ["GET \(url)"])
    }

    /// It leads from squid to an excepted host without a proxy.
    @Test("A redirect chooses its egress path again")
    func redirect() async throws {
        let rig = try await ServerRig.shared()
        let squid = try await SquidProxy(hosts: Self.known)
        let settings = try settings(rig, through: squid, except: ["direct.wild.test"])
        try await withClient(settings) { client async throws in
            let target = "https://direct.wild.test:\(rig.tlsPort)/health"
            let response = try await client.get("https://proxied.wild.test:\(rig.tlsPort)/redirect/302?to=\(target)")
            #expect(try await response.text() == "127.0.0.4\n")
            #expect(response.exchanges.map { $0.proxy != nil } == [true, false])
        }
    }

    /// The right login opens squid, and the error names the proxy.
    @Test("A missing or wrong login for squid is a typed error without the password")
    func login() async throws {
        let rig = try await ServerRig.shared()
        let squid = try await SquidProxy(
            hosts: Self.known,
            login: SquidProxy.Login(user: "me", password: "canary-hunter2")
        )
        let log = RecordedLog()
        var settings = try settings(rig, through: squid)
        settings.logger = log.logger()
        var dumped = ""
        for scheme in ["http", "https"] {
            let url = "\(scheme)://proxied.wild.test:\(scheme == "http" ? rig.httpPort : rig.tlsPort)/health"
            for password in [nil, "canary-wrong", "canary-hunter2"] {
                var proxy = try HTTPDNSClient.Proxy("http://127.0.0.1:\(squid.port)")
                proxy.credential = password.map { password in
                    HTTPDNSClient.Proxy.Credential(user: "me", password: HTTPDNSSecret { password })
                }
                settings.proxy = .through(proxy)
                try await withClient(settings) { client async throws in
                    _ = dump(client.status(), to: &dumped)
                    if password == "canary-hunter2" {
                        let response = try await client.get(url)
                        #expect(try await response.text() == "127.0.0.2\n")
                        dump(response, to: &dumped)
                        _ = dump(client.status(), to: &dumped)
                        return
                    }
                    let error = try await #require(throws: HTTPDNSClientError.self) { try await client.get(url) }
                    #expect(error.code == .proxyLoginRefused, "\(error)")
                    #expect(error.proxy == "http://127.0.0.1:\(squid.port)" && error.message.contains("407"))
                    #expect(error.message.contains(password == nil ? "wants a login" : "refused the login"))
                    #expect(error.requestMayHaveBeenSent == (scheme == "http"))
                    dumped += "\(error)"
                    dump(error, to: &dumped)
                }
            }
        }
        dump(settings, to: &dumped)
        for text in [dumped] + log.lines {
            #expect(!text.contains("canary"), "a password is in a text of the library")
        }
    }

    /// CONNECT refused, a closed port behind it, no listener: nothing was sent.
    @Test("A refused CONNECT and an absent proxy are typed errors that name the proxy")
    func refused() async throws {
        let rig = try await ServerRig.shared()
        let squid = try await SquidProxy(
            hosts: Self.known,
            rules: ["acl forbidden dstdomain proxied.wild.test", "http_access deny forbidden"]
        )
        let settings = try settings(rig, through: squid)
        try await withClient(settings) { client async throws in
            for (host, status) in [("proxied.wild.test", "403"), ("closed.wild.test", "503")] {
                let error = try await #require(throws: HTTPDNSClientError.self) {
                    try await client.post("https://\(host):\(rig.tlsPort)/upload", body: .text("x"))
                }
                #expect(error.code == .proxyRefused && error.phase == .connect, "\(error)")
                #expect(error.message.contains("CONNECT \(host):\(rig.tlsPort) with status \(status)"), "\(error)")
                #expect(error.proxy == "http://127.0.0.1:\(squid.port)" && !error.requestMayHaveBeenSent)
            }
        }
        let closed = try RawServer(.hang)
        try await closed.refuse()
        var nobody = settings
        nobody.proxy = .through(try HTTPDNSClient.Proxy("http://127.0.0.1:\(closed.port)"))
        try await withClient(nobody) { client async throws in
            let error = try await #require(throws: HTTPDNSClientError.self) {
                try await client.get("https://proxied.wild.test:\(rig.tlsPort)/health")
            }
            #expect(error.code == .proxyUnreachable && error.phase == .connect, "\(error)")
            #expect(error.proxy == "http://127.0.0.1:\(closed.port)")
        }
    }
}
