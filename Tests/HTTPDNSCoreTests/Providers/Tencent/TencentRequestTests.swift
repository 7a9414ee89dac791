// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPTypes
import Testing

@testable import HTTPDNSCore
@testable import HTTPDNSVendors

struct TencentRequestTests {
    private static let flags = "&ttl=1&clientip=1&query=1"

    private func sent(
        _ access: ScriptedTencent.Access = .token,
        names: [String] = ["www.example.com"],
        families: HTTPDNSAddress.Families = .v4,
        clientSubnet: HTTPDNSAddressBlock? = nil,
        settings: (inout HTTPDNSTencentProvider.Configuration) -> Void = { _ in }
    ) async throws -> ScriptedVendorExchange.Sent {
        let scripted = try ScriptedTencent(access, settings: settings) { $0.reply("", status: 404) }
        var query = HTTPDNSProviderQuery(host: try HTTPDNSName(names[0]), families: families, timeLimit: .seconds(3))
        query.clientSubnet = clientSubnet
        let hosts = try names.map { try HTTPDNSName($0) }
        await #expect(throws: HTTPDNSProviderError.self) { try await scripted.provider.resolve(query, batch: hosts) }
        return try #require(scripted.exchange.sent.first)
    }

    /// They are followed by the query's expiry.
    @Test(
        "With a token, names are sent in clear for IPv4, IPv6 or both",
        arguments: [(HTTPDNSAddress.Families.v4, ""), (.v6, "&type=aaaa"), (.both, "&type=addrs")]
    )
    func families(families: HTTPDNSAddress.Families, type: String) async throws {
        let request = try await sent(families: families).request
        #expect(request.url.target == "/d?dn=www.example.com;1700000600&token=800900\(type)\(Self.flags)")
        #expect(request.method == .get && request.body == nil && request.headerFields.isEmpty)
    }

    /// Nine names are refused, and an empty batch sends nothing.
    @Test("A batch takes eight names at most, each once")
    func batches() async throws {
        let eight = (1...8).map { "h\($0).test" }
        let target = try await sent(names: eight).request.url.target
        #expect(target == "/d?dn=\(eight.joined(separator: ","));1700000600&token=800900\(Self.flags)")
        let scripted = try ScriptedTencent { $0.reply(TencentBody.both) }
        #expect(scripted.provider.batchLimit == 8)
        let error = await #expect(throws: HTTPDNSProviderError.self) { try await scripted.batch(eight + ["h9.test"]) }
        #expect(error?.code == .refused && error?.message.contains("9 names") == true)
        #expect(try await scripted.batch([]) == [:])
        #expect(scripted.exchange.sent.isEmpty)
        _ = try await scripted.batch(["www.example.com", "WWW.example.com."])
        #expect(scripted.exchange.sent.map { $0.parameters["dn"] } == ["www.example.com;1700000600"])
    }

    @Test("Without an expiry a query has the name alone")
    func noExpiry() async throws {
        let target = try await sent(settings: { $0.sendsExpiry = false }).request.url.target
        #expect(target == "/d?dn=www.example.com&token=800900\(Self.flags)")
    }

    @Test("A client subnet is cut, and its address sent in clear beside names in clear")
    func clientSubnets() async throws {
        let v4 = try await sent(clientSubnet: HTTPDNSAddressBlock("203.0.113.7/32"))
        #expect(v4.parameters["ip"] == "203.0.113.0")
        let v6 = try await sent(clientSubnet: HTTPDNSAddressBlock("2001:db8:1:2:3::/80"))
        #expect(v6.parameters["ip"] == "2001:db8:1::")
    }

    @Test("A region's entry is asked by its address, which its certificate must prove")
    func regions() async throws {
        for (region, address) in [
            (HTTPDNSTencentProvider.Region.mainlandChina, "119.29.29.99"), (.international, "43.132.55.56"),
        ] {
            let sent = try await sent(settings: { $0.region = region })
            #expect(sent.endpoint.description == "\(address):443" && sent.request.url.authority == address)
            #expect(sent.request.url.scheme == .https)
        }
        #expect(HTTPDNSTencentProvider.Region.all.map(\.identifier) == ["cn", "intl"])
    }

    /// With a name in the URL that name is the authority of all addresses.
    @Test("With an address in the URL each address is its own authority")
    func endpoints() async throws {
        let v6 = HTTPDNSAddress(family: .v6, high: 0x2001_0db8 << 32, low: 1)
        for (url, hosts) in [
            ("https://192.0.2.1:8443", ["192.0.2.1:8443", "[2001:db8::1]:8443"]),
            ("https://dns.example:8443", ["dns.example:8443", "dns.example:8443"]),
        ] {
            let scripted = try ScriptedTencent(settings: {
                $0.url = url
                $0.bootstrap = [HTTPDNSAddress(v4: 192, 0, 2, 1), v6]
            }) { sent in
                guard sent.endpoint.address == v6 else { throw ScriptedVendorExchange.failure(.connectFailed) }
                return sent.reply(TencentBody.both)
            }
            _ = try await scripted.resolve()
            #expect(scripted.exchange.sent.map(\.endpoint.description) == ["192.0.2.1:8443", "[2001:db8::1]:8443"])
            #expect(scripted.exchange.sent.map(\.request.url.authority) == hosts)
            #expect(scripted.exchange.sent.allSatisfy { $0.path == "/d" && $0.parameters["type"] == "addrs" })
        }
    }

    @Test("A changed token is sent with the next query")
    func rotation() async throws {
        let token = Lock("1")
        let scripted = try ScriptedTencent(secret: HTTPDNSSecret { token.withLock { $0 } }) {
            $0.reply(TencentBody.both)
        }
        _ = try await scripted.resolve()
        token.withLock { $0 = "2" }
        _ = try await scripted.resolve()
        #expect(scripted.exchange.sent.map { $0.parameters["token"] } == ["1", "2"])
    }

    #if Signing
    /// The cipher text holds the sample's text.
    @Test("Encrypted queries have id and cipher, and neither name nor token")
    func encrypted() async throws {
        let sent = try await sent(.aes, names: ["www.dnspod.cn"], families: .both)
        #expect(
            sent.request.url.target == "/d?dn=000102030405060708090a0b0c0d0e0f"
                + "37dba7425433d12f3ae4669933b86c913d98e35f35e836b754ea73725619566b"
                + "&id=100000&alg=aes&type=addrs\(Self.flags)"
        )
        let several = try await self.sent(.aes, names: ["a.test", "b.test"])
        #expect(try TencentBody.asked(several) == "a.test,b.test;1700000600")
    }

    @Test("A client subnet is encrypted like names, or sent in clear by configuration")
    func encryptedClientSubnet() async throws {
        let subnet = HTTPDNSAddressBlock("203.0.113.7/32")
        let hidden = try await sent(.aes, clientSubnet: subnet)
        let octets = try TencentCipher(key: ScriptedTencent.key) { _ in [] }
            .decrypted(Array((hidden.parameters["ip"] ?? "").utf8))
        #expect(octets == Array("203.0.113.0".utf8))
        let plain = try await sent(.aes, clientSubnet: subnet, settings: { $0.encryptsClientSubnet = false })
        #expect(plain.parameters["ip"] == "203.0.113.0")
    }

    @Test("No two encrypted texts have the same vector")
    func vectors() async throws {
        let scripted = try ScriptedTencent(
            .aes,
            randomOctets: { count in (0..<count).map { _ in UInt8.random(in: .min ... .max) } }
        ) { $0.reply("", status: 404) }
        let subnet = HTTPDNSAddressBlock("203.0.113.7/32")
        for _ in 0..<20 {
            await #expect(throws: HTTPDNSProviderError.self) { try await scripted.resolve(clientSubnet: subnet) }
        }
        let texts = scripted.exchange.sent.flatMap { [$0.parameters["dn"], $0.parameters["ip"]] }
        #expect(Set(texts.map { ($0 ?? "").prefix(32) }).count == 40)
    }
    #endif
}
