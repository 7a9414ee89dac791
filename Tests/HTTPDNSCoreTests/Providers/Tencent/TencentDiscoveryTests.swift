// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCurl
import HTTPDNSTesting
import Testing

@testable import HTTPDNSCore
@testable import HTTPDNSVendors

struct TencentDiscoveryTests {
    private func list(_ text: String) throws -> ServiceDiscovery {
        try TencentServiceList.read(Array(text.utf8), port: 8443)
    }

    @Test("The vendor's sample gives addresses at the URL's port, for an hour")
    func sample() throws {
        let discovery = try list("log:1|domain:0|ip:192.0.2.53;192.0.2.54|ttl:60\n")
        #expect(discovery.endpoints.map(\.description) == ["192.0.2.53:8443", "192.0.2.54:8443"])
        #expect(discovery.lifetime == .seconds(3600) && !discovery.isDisabled)
    }

    @Test(
        "A list is valid for 1 to 1440 minutes, and for an hour if it states otherwise",
        arguments: [
            ("1", 1), ("1440", 1440), ("0", 60), ("1441", 60), ("-1", 60), ("", 60), ("x", 60), ("9999999999", 60),
        ]
    )
    func lifetimes(text: String, minutes: Int64) throws {
        #expect(try list("ip:192.0.2.53|ttl:\(text)").lifetime == .seconds(60 * minutes))
    }

    @Test("Only IPv4 addresses are kept, and a list without addresses changes nothing")
    func addresses() throws {
        let mixed = try list("ip:192.0.2.53;2001:db8::1;bad;192.0.2.999;|ttl:60|new:a:b")
        #expect(mixed.endpoints.map(\.description) == ["192.0.2.53:8443"])
        #expect(try list("ip:|ttl:60").endpoints.isEmpty && list("ip:0|ttl:60").endpoints.isEmpty)
    }

    @Test(
        "Text that is no address list is refused",
        arguments: [
            "", "<html>", "ip", "ip:192.0.2.53", "ttl:60", "ip:192.0.2.53|ttl", "ip:1.1.1.1|ip:2.2.2.2|ttl:1", "é:",
        ]
    )
    func refused(text: String) {
        #expect(throws: VendorAnswerError.self) { try list(text) }
    }

    private func scripted(
        _ access: ScriptedTencent.Access = .token,
        settings: (inout HTTPDNSTencentProvider.Configuration) -> Void = { _ in },
        discovery: @escaping ScriptedTencent.Answer
    ) throws -> ScriptedTencent {
        try ScriptedTencent(
            access,
            settings: {
                $0.discoversAddresses = true
                settings(&$0)
            }
        ) { sent in
            sent.isDiscovery
                ? try await discovery(sent) : sent.reply(try TencentBody.written(TencentBody.both, access))
        }
    }

    /// The first query goes to the entry. Discovered addresses prove themselves by certificates of their own.
    @Test(
        "When the entry fails, discovered addresses are asked under their own names",
        arguments: ScriptedTencent.Access.allCases
    )
    func flow(access: ScriptedTencent.Access) async throws {
        let scripted = try scripted(access) { $0.reply(try TencentBody.written(TencentBody.services, access)) }
        _ = try await scripted.resolve()
        await scripted.provider.exchange.addresses.settled()
        let discovery = try #require(scripted.exchange.discoveries.first)
        #expect(
            discovery.request.url.target == (access == .token ? "/conf?token=800900" : "/conf?id=100000&alg=aes")
        )
        scripted.provider.exchange.addresses.failed(try #require(scripted.exchange.queries.first).endpoint)
        _ = try await scripted.resolve()
        #expect(scripted.exchange.queries.map(\.endpoint.description) == ["119.29.29.99:443", "198.51.100.53:443"])
        #expect(scripted.exchange.queries.map(\.request.url.authority) == ["119.29.29.99", "198.51.100.53"])
        #expect(scripted.exchange.discoveries.count == 1)
    }

    /// At least five minutes are between two discoveries.
    @Test("The discovery is repeated when its list has expired, and not before")
    func refresh() async throws {
        for (life, wait) in [("60", Int64(3600)), ("1", 300)] {
            let scripted = try scripted { $0.reply("ip:198.51.100.53|ttl:\(life)") }
            for (step, count) in [(0, 1), (wait - 1, 1), (1, 2)] as [(Int64, Int)] {
                scripted.time.advance(by: .seconds(step))
                _ = try await scripted.resolve()
                await scripted.provider.exchange.addresses.settled()
                #expect(scripted.exchange.discoveries.count == count)
            }
        }
    }

    @Test("A refused or unreadable discovery does not stop the queries")
    func failing() async throws {
        let replies: [ScriptedTencent.Answer] = [
            { $0.reply("", status: 401) }, { $0.reply("<html>") }, { $0.reply("", status: 500) },
            { _ in throw ScriptedVendorExchange.failure(.connectFailed) },
        ]
        for reply in replies {
            let scripted = try scripted(settings: { $0.accountRefusalStatuses = [401] }, discovery: reply)
            for _ in 0..<2 {
                _ = try await scripted.resolve()
                await scripted.provider.exchange.addresses.settled()
            }
            #expect(scripted.exchange.queries.count == 2)
        }
    }

    /// A service in clear on this machine leads to nothing in clear elsewhere, a public one to nothing private.
    @Test("A discovery leads to no address outside of the service's own scope")
    func scopes() async throws {
        for (url, expected) in [
            ("http://127.0.0.1:8053", ["127.0.0.1:8053", "127.0.0.2:8053"]),
            ("https://192.0.2.1:8053", ["192.0.2.1:8053", "198.51.100.9:8053"]),
        ] {
            let scripted = try scripted(settings: { $0.url = url }) {
                $0.reply("ip:198.51.100.9;127.0.0.2;10.0.0.1;169.254.169.254|ttl:60")
            }
            _ = try await scripted.resolve()
            await scripted.provider.exchange.addresses.settled()
            #expect(scripted.provider.exchange.addresses.attempts().map(\.description) == expected)
        }
    }
}
