// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import ServerRig
import Testing

/// SOCKS, with names and with addresses.
struct SocksTests {
    private static let host = "socks.wild.test"

    private func settings(_ rig: ServerRig, _ proxy: String) throws -> HTTPDNSClient.Configuration {
        var settings = try rig.settings(mappings: [Self.host: .addresses(["127.0.0.3"])])
        settings.proxy = .through(try HTTPDNSClient.Proxy(proxy))
        return settings
    }

    /// The proxy is microsocks. The socks5h proxy looks the name up.
    @Test(
        "A socks5 proxy gets the mapping's address, and a socks5h proxy the name",
        .enabled(if: ServerRig.isAvailable([.nginx, .microsocks, .compiler])),
        arguments: [("socks5", "127.0.0.3\n"), ("socks5h", "127.0.0.2\n")]
    )
    func microsocks(kind: String, expected: String) async throws {
        let rig = try await ServerRig.shared()
        let login = SquidProxy.Login(user: "me", password: "canary")
        let proxy = try await MicroSocksProxy(login: login, hosts: [Self.host: "127.0.0.2"])
        let mark = rig.accessLogMark()
        try await withClient(try settings(rig, "\(kind)://me:canary@127.0.0.1:\(proxy.port)")) { client async throws in
            let response = try await client.get("https://\(Self.host):\(rig.tlsPort)/health?\(kind)")
            #expect(try await response.text() == expected)
            #expect(response.exchanges.last?.proxy == "\(kind)://127.0.0.1:\(proxy.port)")
        }
        let lines = try await rig.awaitAccessLog(since: mark) { $0.target == "/health?\(kind)" }
        #expect(lines.map(\.sni) == [Self.host])
        for user in ["", "me:wrong@"] {
            try await withClient(try settings(rig, "\(kind)://\(user)127.0.0.1:\(proxy.port)")) { client async throws in
                let error = try await #require(throws: HTTPDNSClientError.self) {
                    try await client.get("https://\(Self.host):\(rig.tlsPort)/health")
                }
                #expect(error.code == .proxyLoginRefused, "\(error)")
                #expect(error.proxy == "\(kind)://127.0.0.1:\(proxy.port)" && !error.requestMayHaveBeenSent)
            }
        }
    }

    /// The octets of a request to connect, up to where the answer is awaited.
    private static let address: [UInt8] = [192, 0, 2, 7]
    private static let name = Array("one.test".utf8)

    /// The bytes on the wire are compared. Local resolution makes 4a and 5h carry the address.
    @Test(
        "SOCKS 4 and 5 carry the mapping's address, SOCKS 4a and 5h the name",
        arguments: [
            ("socks4", false, [4, 1, 0, 80] + address + [0]),
            ("socks4a", false, [4, 1, 0, 80, 0, 0, 0, 1, 0] + name + [0]),
            ("socks4a", true, [4, 1, 0, 80] + address + [0]), ("socks5", false, [5, 1, 0, 1] + address + [0, 80]),
            ("socks5h", false, [5, 1, 0, 3, 8] + name + [0, 80]), ("socks5h", true, [5, 1, 0, 1] + address + [0, 80]),
        ]
    )
    func wire(kind: String, local: Bool, expected: [UInt8]) async throws {
        let isFive = kind.hasPrefix("socks5")
        let steps: [RawServer.Step] =
            (isFive
                ? [.read(3), .send([5, 0]), .read(expected.count), .send([5, 0, 0, 1, 0, 0, 0, 0, 0, 0])]
                : [.read(expected.count), .send([0, 90, 0, 0, 0, 0, 0, 0])])
            + [.serve("ok")]
        let server = try RawServer { _ in steps }
        var settings = HTTPDNSClient.Configuration()
        settings.makePatient()
        settings.resolver.mappings[try HTTPDNSMapping.Key("one.test")] = .addresses(["192.0.2.7"])
        var proxy = try HTTPDNSClient.Proxy("\(kind)://127.0.0.1:\(server.port)")
        proxy.resolvesLocally = local
        settings.proxy = .through(proxy)
        try await withClient(settings) { client async throws in
            for _ in 0..<2 { #expect(try await client.get("http://one.test/").text() == "ok") }
        }
        #expect(server.connections.count == 1)
        let received = try #require(server.connections.first).received
        #expect(Array(received.dropFirst(isFive ? 3 : 0).prefix(expected.count)) == expected)
        // Login by Kerberos is not offered: a list of one method, none.
        if isFive { #expect(Array(received.prefix(3)) == [5, 1, 0]) }
    }

    @Test(
        "A SOCKS refusal is reported in words, and the request is not sent",
        arguments: [(UInt8(2), "its rules do not allow it"), (4, "host unreachable"), (5, "connection refused")]
    )
    func refusals(reply: UInt8, words: String) async throws {
        let server = try RawServer(
            .read(3),
            .send([5, 0]),
            .read(10),
            .send([5, reply, 0, 1, 0, 0, 0, 0, 0, 0]),
            .readToEnd
        )
        var settings = HTTPDNSClient.Configuration()
        settings.makePatient()
        settings.resolver.mappings[try HTTPDNSMapping.Key("one.test")] = .addresses(["192.0.2.7"])
        settings.proxy = .through(try HTTPDNSClient.Proxy("socks5://127.0.0.1:\(server.port)"))
        try await withClient(settings) { client async throws in
            let error = try await #require(throws: HTTPDNSClientError.self) { try await client.get("http://one.test/") }
            #expect(error.code == .proxyRefused && error.message.contains("192.0.2.7:80: \(words)"), "\(error)")
            #expect(!error.requestMayHaveBeenSent && error.proxy == "socks5://127.0.0.1:\(server.port)")
        }
    }

    @Test("SOCKS 4 uses IPv4 addresses only, and an error says so when there are none")
    func onlyIPv4() async throws {
        var settings = HTTPDNSClient.Configuration()
        settings.resolver.mappings[try HTTPDNSMapping.Key("one.test")] = .addresses(["2001:db8::7"])
        settings.proxy = .through(try HTTPDNSClient.Proxy("socks4://127.0.0.1:9"))
        try await withClient(settings) { client async throws in
            let error = try await #require(throws: HTTPDNSClientError.self) { try await client.get("http://one.test/") }
            #expect(error.code == .proxyRefused && error.message.contains("IPv6 addresses only"), "\(error)")
        }
    }
}
