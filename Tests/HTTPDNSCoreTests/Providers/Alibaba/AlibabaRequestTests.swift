// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPTypes
import Testing

@testable import HTTPDNSCore
@testable import HTTPDNSVendors

struct AlibabaRequestTests {
    private static let subnet = HTTPDNSAddressBlock("203.0.113.7/32")

    private func target(
        _ version: HTTPDNSAlibabaProvider.Version,
        secret: HTTPDNSSecret? = nil,
        names: [String] = ["www.example.com"],
        families: HTTPDNSAddress.Families = .both,
        clientSubnet: HTTPDNSAddressBlock? = nil,
        settings: (inout HTTPDNSAlibabaProvider.Configuration) -> Void = { _ in }
    ) async throws -> String {
        let scripted = try ScriptedAlibaba(version, secret: secret, settings: settings) {
            $0.refusal("InvalidHost", status: 400)
        }
        var query = HTTPDNSProviderQuery(host: try HTTPDNSName(names[0]), families: families, timeLimit: .seconds(3))
        query.clientSubnet = clientSubnet
        let hosts = try names.map { try HTTPDNSName($0) }
        await #expect(throws: HTTPDNSProviderError.self) { try await scripted.provider.resolve(query, batch: hosts) }
        return try #require(scripted.exchange.sent.first).request.url.target
    }

    @Test(
        "Version 2 asks for IPv4, IPv6 or both families",
        arguments: [(HTTPDNSAddress.Families.v4, "4"), (.v6, "6"), (.both, "4,6")]
    )
    func families(families: HTTPDNSAddress.Families, query: String) async throws {
        #expect(try await target(.v2, families: families) == "/v2/d?id=123456&m=0&dn=www.example.com&q=\(query)")
        #expect(try await target(.v1, families: families) == "/100000/d?host=www.example.com&query=\(query)")
    }

    @Test("Several names are one request, and version 1 has another path for it")
    func batches() async throws {
        let names = ["a.test", "b.test", "c.test", "d.test", "e.test"]
        #expect(
            try await target(.v2, names: names, families: .v4)
                == "/v2/d?id=123456&m=0&dn=a.test,b.test,c.test,d.test,e.test&q=4"
        )
        #expect(
            try await target(.v1, names: names, families: .v4)
                == "/100000/resolve?host=a.test,b.test,c.test,d.test,e.test&query=4"
        )
    }

    /// Six names are refused, and an empty batch sends nothing.
    @Test("A batch takes five names at most, each once")
    func batchLimits() async throws {
        let scripted = try ScriptedAlibaba { $0.reply(AlibabaBody.v2) }
        #expect(scripted.provider.batchLimit == 5)
        let six = (1...6).map { "h\($0).test" }
        let error = await #expect(throws: HTTPDNSProviderError.self) { try await scripted.batch(six) }
        #expect(error?.code == .refused && error?.message.contains("6 names") == true)
        #expect(try await scripted.batch([]) == [:])
        #expect(scripted.exchange.sent.isEmpty)
        _ = try await scripted.batch(["www.example.com", "WWW.example.com."])
        #expect(scripted.exchange.sent.map { $0.parameters["dn"] } == ["www.example.com"])
    }

    @Test("A client subnet is cut, and sent under the name of each version")
    func clientSubnets() async throws {
        #expect(try await target(.v2, clientSubnet: Self.subnet).hasSuffix("&q=4,6&cip=203.0.113.0"))
        #expect(try await target(.v1, clientSubnet: Self.subnet).hasSuffix("&query=4,6&ip=203.0.113.0"))
        let v6 = HTTPDNSAddressBlock("2001:db8:1:2:3::/80")
        #expect(try await target(.v2, clientSubnet: v6).hasSuffix("&cip=2001:db8:1::"))
    }

    @Test("Custom parameters are sent sorted beside the query, with both families too")
    func customParameters() async throws {
        let settings: (inout HTTPDNSAlibabaProvider.Configuration) -> Void = {
            $0.customParameters = ["city": "hz", "Zone": "a_b-1=", "age": "7"]
        }
        #expect(
            try await target(.v2, families: .v6, settings: settings)
                == "/v2/d?id=123456&m=0&dn=www.example.com&q=6&sdns-Zone=a_b-1=&sdns-age=7&sdns-city=hz"
        )
        #expect(
            try await target(.v1, settings: settings).hasSuffix("&query=4,6&sdns-Zone=a_b-1=&sdns-age=7&sdns-city=hz")
        )
    }

    /// Name and certificate stay the URL's.
    @Test("Addresses of both families are connected to at the port of the URL")
    func endpoints() async throws {
        let scripted = try ScriptedAlibaba(settings: {
            $0.url = "https://dns.example:8443"
            $0.bootstrap = [
                HTTPDNSAddress(v4: 192, 0, 2, 1), HTTPDNSAddress(family: .v6, high: 0x2001_0db8 << 32, low: 1),
            ]
        }) { sent in
            guard sent.endpoint.address.family == .v6 else { throw ScriptedVendorExchange.failure(.connectFailed) }
            return sent.reply(AlibabaBody.v2)
        }
        _ = try await scripted.resolve()
        #expect(scripted.exchange.sent.map(\.endpoint.description) == ["192.0.2.1:8443", "[2001:db8::1]:8443"])
        #expect(scripted.exchange.sent.allSatisfy { $0.request.url.authority == "dns.example:8443" })
        #expect(scripted.exchange.sent.allSatisfy { $0.request.method == .get && $0.request.body == nil })
    }

    /// Every region but global has some of both families.
    @Test("A region's own addresses are asked")
    func regions() async throws {
        for region in HTTPDNSAlibabaProvider.Region.all where region != .global {
            let scripted = try ScriptedAlibaba(settings: { $0.region = region }) { $0.reply(AlibabaBody.v2) }
            _ = try await scripted.resolve()
            #expect(scripted.exchange.sent.map(\.endpoint.address) == [try #require(region.bootstrap.first)])
            #expect(scripted.exchange.sent[0].request.url.authority == "resolvers.httpdns.aliyuncs.com")
            #expect(Set(region.bootstrap.map(\.family)) == [.v4, .v6])
            #expect(region.bootstrap.allSatisfy { HTTPDNSAddressPolicy.Scope(of: $0) == .public })
        }
        #expect(HTTPDNSAlibabaProvider.Region.all.map(\.bootstrap.count) == [10, 4, 4, 4, 4, 0])
        #expect(HTTPDNSAlibabaProvider.Region.all.map(\.identifier) == ["cn", "hk", "sg", "de", "us", "global"])
    }

    @Test(
        "A machine with one family is answered by the second address at the latest",
        arguments: HTTPDNSAlibabaProvider.Region.all.filter { $0 != .global },
        [HTTPDNSAddress.Family.v4, .v6]
    )
    func oneFamily(region: HTTPDNSAlibabaProvider.Region, family: HTTPDNSAddress.Family) async throws {
        let scripted = try ScriptedAlibaba(settings: { $0.region = region }) { sent in
            guard sent.endpoint.address.family == family else { throw ScriptedVendorExchange.failure(.connectFailed) }
            return sent.reply(AlibabaBody.v2)
        }
        _ = try await scripted.resolve()
        #expect(scripted.exchange.sent.count == (family == .v4 ? 1 : 2))
    }

    #if Signing
    @Test("Signed queries match the samples, and end ten minutes from now")
    func signed() async throws {
        let hmac = HTTPDNSSecret { ScriptedAlibaba.hmacSecret }
        #expect(
            try await target(.v2, secret: hmac)
                == "/v2/d?id=123456&m=0&dn=www.example.com&q=4,6&exp=1700000600&v=1.0"
                + "&s=a7666f504f76b118af5e753ace98941677821b90f4e84df2379489ae20a0a789"
        )
        let md5 = HTTPDNSSecret { ScriptedAlibaba.md5Secret }
        #expect(
            try await target(.v1, secret: md5, families: .v4)
                == "/100000/sign_d?host=www.example.com&query=4&t=1700000600&s=5eea9940c2c8cb1b57f9b8ef9516e01b"
        )
        #expect(
            try await target(.v1, secret: md5, names: ["www.example.com", "img.example.com"], families: .v4)
                == "/100000/sign_resolve?host=www.example.com,img.example.com&query=4&t=1700000600"
                + "&s=a5eedc8abb9e474e8a5d1734315a9f26"
        )
    }

    /// The signature covers the cipher text.
    @Test(
        "An encrypted query has no name, family or subnet in clear",
        arguments: [
            (
                HTTPDNSAlibabaProvider.Encryption.cbc, "1",
                "09d6d2d4c832e9888dd19ebce372fee157f079e29bfa03bcb324ddaf3a8bbf1d"
            ),
            (.gcm, "2", "8e2fa28e4034f684d2ac33b1d2017801176e5fe39bd64c2a62d904986176848a"),
        ]
    )
    func encrypted(encryption: HTTPDNSAlibabaProvider.Encryption, mode: String, signature: String) async throws {
        let scripted = try ScriptedAlibaba(secret: HTTPDNSSecret { ScriptedAlibaba.hmacSecret }, encryption: encryption)
        {
            sent in
            let data = encryption == .cbc ? AlibabaBody.cbcData : AlibabaBody.gcmData
            return sent.reply(AlibabaBody.encrypted(data, mode: mode))
        }
        let answer = try await scripted.resolve()
        #expect(answer.v4 == .addresses([AlibabaBody.address], timeToLive: .seconds(60), canonicalName: nil))
        let parameters = try #require(scripted.exchange.sent.first).parameters
        #expect(Set(parameters.keys) == ["id", "m", "enc", "exp", "v", "s"])
        #expect(parameters["m"] == mode && parameters["s"] == signature)
    }

    @Test("No two encrypted queries have the same vector")
    func vectors() async throws {
        let seen = Lock<Set<String>>([])
        let scripted = try ScriptedAlibaba(
            encryption: .gcm,
            randomOctets: { count in (0..<count).map { _ in UInt8.random(in: .min ... .max) } }
        ) { sent in
            seen.withLock { _ = $0.insert(String((sent.parameters["enc"] ?? "").prefix(24))) }
            return sent.refusal("InvalidHost", status: 400)
        }
        for _ in 0..<20 { _ = try await scripted.error() }
        #expect(seen.withLock { $0.count } == 20)
    }

    @Test("A changed secret signs the next query")
    func rotation() async throws {
        let secret = Lock(ScriptedAlibaba.md5Secret)
        let scripted = try ScriptedAlibaba(.v1, secret: HTTPDNSSecret { secret.withLock { $0 } }) {
            $0.reply(AlibabaBody.v1)
        }
        _ = try await scripted.resolve()
        secret.withLock { $0 = "AnotherSecret" }
        _ = try await scripted.resolve()
        let signatures = scripted.exchange.sent.compactMap { $0.parameters["s"] }
        #expect(signatures.first == "5eea9940c2c8cb1b57f9b8ef9516e01b")
        #expect(Set(signatures).count == 2)
    }
    #endif
}
