// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import HTTPDNSCurl
import ServerRig
import Testing

/// TLS with the proxy itself.
@Suite("HTTPS proxies", .enabled(if: ServerRig.isAvailable([.nginx, .openssl])))
struct SecureProxyTests {
    /// A proxy that opens a tunnel and answers in it by itself, in clear text, behind TLS with a certificate of the rig.
    private func proxy(certificate: String = "good") async throws -> (relay: TLSRelay, server: RawServer) {
        let server = try RawServer(
            .readHead,
            .sendText("HTTP/1.1 200 Connection established\r\nX-Proxy: canary\r\n\r\n"),
            .serve("ok")
        )
        let relay = try await TLSRelay(to: server.port, certificate: certificate, protocols: "http/1.1")
        return (relay, server)
    }

    private func settings(_ rig: ServerRig, _ proxy: String) throws -> HTTPDNSClient.Configuration {
        var settings = try rig.settings(mappings: ["one.test": .addresses(["127.0.0.1"])])
        var proxy = try HTTPDNSClient.Proxy(proxy)
        // A tunnel for a clear-text URL too.
        proxy.resolvesLocally = true
        proxy.credential = HTTPDNSClient.Proxy.Credential(user: "me", password: HTTPDNSSecret { "x" })
        settings.proxy = .through(proxy)
        return settings
    }

    /// A mapping leads to the name. The response to CONNECT is not the response's head.
    @Test("The certificate of an HTTPS proxy must prove the proxy's name")
    func good() async throws {
        let rig = try await ServerRig.shared()
        let (relay, server) = try await proxy()
        try await withClient(try settings(rig, "https://one.test:\(relay.port)")) { client async throws in
            let target = "http://192.0.2.7:8080/a"
            let response = try await client.get(target)
            #expect(try await response.text() == "ok")
            #expect(response.head.headerFields.count == 1)
            #expect(response.exchanges.last?.proxy == "https://one.test:\(relay.port)")
            let again = try await client.get(target)
            #expect(try await again.text() == "ok" && again.exchanges.last?.reusedConnection == true)
        }
        #expect(server.text.hasPrefix("CONNECT 192.0.2.7:8080 HTTP/1.1\r\n"))
        // "me:x"; to the proxy alone.
        #expect(server.count(of: "Proxy-Authorization: Basic bWU6eA==") == 1)
    }

    /// Nothing is asked of the proxy.
    @Test(
        "A certificate that does not prove the proxy's name is an error of the proxy",
        arguments: ["other", "expired", "untrusted"]
    )
    func refused(certificate: String) async throws {
        let rig = try await ServerRig.shared()
        let (relay, server) = try await proxy(certificate: certificate)
        try await withClient(try settings(rig, "https://one.test:\(relay.port)")) { client async throws in
            let error = try await #require(throws: HTTPDNSClientError.self) {
                try await client.get("http://192.0.2.7/")
            }
            #expect(error.code == .proxyUnreachable && error.phase == .tls, "\(error)")
            #expect(
                error.proxy == "https://one.test:\(relay.port)" && error.message.contains("the proxy's certificate")
            )
            #expect(!error.requestMayHaveBeenSent)
        }
        #expect(server.connections.allSatisfy { $0.received.isEmpty })
    }

    @Test("A server without TLS is refused as an HTTPS proxy")
    func clearText() async throws {
        let rig = try await ServerRig.shared()
        let server = try RawServer(.read(1), .sendText("HTTP/1.1 400 Bad Request\r\n\r\n"))
        try await withClient(try settings(rig, "https://127.0.0.1:\(server.port)")) { client async throws in
            let error = try await #require(throws: HTTPDNSClientError.self) {
                try await client.get("http://192.0.2.7/")
            }
            #expect(error.code == .proxyUnreachable && error.phase == .tls, "\(error)")
        }
    }

    @Test("Tunnels through one HTTPS proxy are not shared between different logins")
    func logins() async throws {
        let rig = try await ServerRig.shared()
        // openssl's server takes one connection after the other, and a tunnel of the first login stays open meanwhile.
        let (first, second) = (try await proxy(), try await proxy())
        var settings = try settings(rig, "https://one.test:\(first.relay.port)")
        settings.resolver.mappings = [try HTTPDNSMapping.Key("one.test"): .addresses(["127.0.0.1"])]
        try await withClient(settings) { client async throws in
            #expect(try await client.get("http://192.0.2.7:8080/a").text() == "ok")
            var other = try HTTPDNSClient.Proxy("https://one.test:\(first.relay.port)")
            other.resolvesLocally = true
            other.credential = HTTPDNSClient.Proxy.Credential(user: "you", password: HTTPDNSSecret { "y" })
            var request = HTTPDNSClient.Request(url: "http://192.0.2.7:8080/b")
            request.changeOptions { [other] in
                $0.proxy = .through(other)
                $0.timeouts.total = CurlLibrary.matchesProxyWithoutLogin ? .seconds(60) : .seconds(3)
            }
            // No connection is left for it, which proves that it does not take the one that is there.
            guard !CurlLibrary.matchesProxyWithoutLogin else {
                // libcurl 8 chooses the tunnel of the first login, and the client closes it. The server then reads the next
                // tunnel's CONNECT as a request, so its response says nothing.
                _ = try? await client.execute(request)
                return
            }
            await #expect(throws: HTTPDNSClientError.self) { try await client.execute(request) }
            let again = try await client.get("http://192.0.2.7:8080/a")
            #expect(try await again.text() == "ok")
        }
        let text = first.server.text
        if CurlLibrary.matchesProxyWithoutLogin {
            // "you:y" comes before its request.
            let login = try #require(text.range(of: "Proxy-Authorization: Basic eW91Onk="))
            let request = try #require(text.range(of: "GET /b "))
            #expect(login.upperBound < request.lowerBound)
        } else {
            #expect(!text.contains("/b"))
        }
        withExtendedLifetime(second) {}
    }

    /// The host's own settings may ask for much less.
    @Test("The client's own trust settings verify the proxy, not those of the host")
    func insecureHost() async throws {
        let rig = try await ServerRig.shared()
        let (relay, server) = try await proxy(certificate: "untrusted")
        var settings = try settings(rig, "https://one.test:\(relay.port)")
        settings.resolver.mappings[try HTTPDNSMapping.Key("lab.test")] = .addresses(["192.0.2.7"])
        var insecure = settings.trust
        insecure.verification = .insecurelyAcceptingAnyCertificate
        settings.trustByHost[try HTTPDNSRoute.Pattern("lab.test")] = insecure
        try await withClient(settings) { client async throws in
            let error = try await #require(throws: HTTPDNSClientError.self) {
                try await client.get("http://lab.test:8080/")
            }
            #expect(error.code == .proxyUnreachable && error.phase == .tls, "\(error)")
            #expect(error.message.contains("the proxy's certificate"), "\(error)")
        }
        #expect(server.connections.allSatisfy { $0.received.isEmpty }, "the login is for the proxy alone")
    }

    /// The reload also holds for requests to a host that keeps its own settings.
    @Test("A reload of the client's trust settings holds for the proxy, too")
    func reloaded() async throws {
        let rig = try await ServerRig.shared()
        let (relay, server) = try await proxy(certificate: "untrusted")
        var settings = try settings(rig, "https://untrusted.test:\(relay.port)")
        settings.resolver.mappings[try HTTPDNSMapping.Key("untrusted.test")] = .addresses(["127.0.0.1"])
        settings.resolver.mappings[try HTTPDNSMapping.Key("lab.test")] = .addresses(["192.0.2.7"])
        settings.trustByHost[try HTTPDNSRoute.Pattern("lab.test")] = settings.trust
        var other = settings
        other.trust.roots = .file(rig.otherCertificateAuthorityFile)
        let reloaded = other
        try await withClient(settings) { client async throws in
            let error = try await #require(throws: HTTPDNSClientError.self) {
                try await client.get("http://lab.test:8080/")
            }
            #expect(error.code == .proxyUnreachable && error.phase == .tls, "\(error)")
            try await client.reload(reloaded)
            #expect(try await client.get("http://lab.test:8080/").text() == "ok")
        }
        withExtendedLifetime(server) {}
    }

    /// Authorities and a least version of its own.
    @Test("A host with trust settings of its own is reached through a trusted proxy")
    func strictHost() async throws {
        let rig = try await ServerRig.shared()
        let (relay, server) = try await proxy()
        var settings = try settings(rig, "https://one.test:\(relay.port)")
        settings.resolver.mappings[try HTTPDNSMapping.Key("lab.test")] = .addresses(["192.0.2.7"])
        settings.trustByHost[try HTTPDNSRoute.Pattern("lab.test")] = HTTPDNSTrust(
            roots: .file(rig.otherCertificateAuthorityFile)
        )
        try await withClient(settings) { client async throws in
            #expect(try await client.get("http://lab.test:8080/").text() == "ok")
        }
        #expect(server.text.hasPrefix("CONNECT 192.0.2.7:8080 HTTP/1.1\r\n"))
    }

    /// They share everything else.
    @Test("Clients that trust different proxies share no connection to one")
    func sharedTransport() async throws {
        let rig = try await ServerRig.shared()
        let (relay, server) = try await proxy(certificate: "untrusted")
        let transport = HTTPDNSLibcurlTransport()
        var careless = try settings(rig, "https://one.test:\(relay.port)")
        careless.resolver.mappings[try HTTPDNSMapping.Key("lab.test")] = .addresses(["192.0.2.7"])
        careless.trustByHost[try HTTPDNSRoute.Pattern("lab.test")] = HTTPDNSTrust(
            roots: .file(rig.otherCertificateAuthorityFile)
        )
        let careful = careless
        careless.trust.verification = .insecurelyAcceptingAnyCertificate
        let first = try await HTTPDNSClient(configuration: careless, on: transport)
        let second = try await HTTPDNSClient(configuration: careful, on: transport)
        #expect(try await first.get("http://lab.test:8080/a").text() == "ok")
        var request = HTTPDNSClient.Request(url: "http://lab.test:8080/b")
        // The relay has one connection at a time, which may stay the first client's.
        request.changeOptions { $0.timeouts.total = .seconds(3) }
        await #expect(throws: HTTPDNSClientError.self) { try await second.execute(request) }
        try await first.shutdown()
        try await second.shutdown()
        #expect(!server.text.contains("/b"))
    }

    @Test(
        "The TLS of an exchange through an HTTPS proxy is that of the server",
        .enabled(if: ServerRig.isAvailable([.squid]))
    )
    func tlsOfServer() async throws {
        let rig = try await ServerRig.shared()
        let squid = try await SquidProxy(rules: ["http_access allow CONNECT"])
        let relay = try await TLSRelay(to: squid.port, protocols: "http/1.1", options: ["-tls1_2"])
        var settings = try rig.settings(mappings: [
            "one.test": .addresses(["127.0.0.1"]), "img.shop.test": .addresses(["127.0.0.2"]),
        ])
        var proxy = try HTTPDNSClient.Proxy("https://one.test:\(relay.port)")
        proxy.resolvesLocally = true
        settings.proxy = .through(proxy)
        try await withClient(settings) { client async throws in
            for _ in 0..<2 {
                let response = try await client.get("https://img.shop.test:\(rig.tlsPort)/health")
                #expect(try await response.text() == "127.0.0.2\n")
                #expect(response.exchanges.last?.proxy != nil && response.exchanges.last?.tls?.version == "TLSv1.3")
            }
        }
    }

    @Test("A proxy whose name moves is followed, and its old connection is not used for it")
    func moved() async throws {
        let rig = try await ServerRig.shared()
        var settings = try rig.settings(mappings: ["one.test": .addresses(["127.0.0.2"])])
        // nginx answers a request with a whole URL as its target by itself.
        settings.proxy = .through(try HTTPDNSClient.Proxy("https://one.test:\(rig.tlsPort)"))
        try await withClient(settings) { client async throws in
            #expect(try await client.get("http://img.shop.test/health").text() == "127.0.0.2\n")
            try client.mappings.apply { $0["one.test"] = .addresses(["127.0.0.3"]) }
            #expect(try await client.get("http://img.shop.test/health").text() == "127.0.0.3\n")
            try client.mappings.apply { $0["one.test"] = .addresses(["127.0.0.3", "127.0.0.2"]) }
            let third = try await client.get("http://img.shop.test/health")
            #expect(try await third.text() == "127.0.0.3\n" && third.exchanges.last?.reusedConnection == true)
        }
    }
}
