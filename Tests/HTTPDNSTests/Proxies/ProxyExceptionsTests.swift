// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Logging
import ServerRig
import Testing

@testable import HTTPDNS

struct ProxyExceptionsTests {
    private func contains(_ list: HTTPDNSClient.Proxy.Exceptions, _ host: String, port: UInt16 = 443) throws -> Bool {
        list.contains(try HTTPDNSRewriter.host(host), port: port)
    }

    @Test(
        "A list may have names with all below them, addresses, blocks and ports",
        arguments: [
            ("one.test", "one.test", true), ("one.test", "a.one.test", true), ("one.test", "none.test", false),
            (".one.test", "one.test", true), ("one.test", "aone.test", false), ("ONE.test", "one.test", true),
            ("*", "anything.test", true), ("*", "192.0.2.1", true), ("10.0.0.0/8", "10.1.2.3", true),
            ("10.0.0.0/8", "11.1.2.3", false), ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "192.0.2.2", false),
            ("2001:db8::/32", "2001:db8::1", true), ("2001:db8::1", "2001:db8::2", false),
            ("one.test:443", "one.test", true), ("one.test:80", "one.test", false),
            ("192.0.2.1:80", "192.0.2.1", false),
            ("192.0.2.1:443", "192.0.2.1", true), ("[2001:db8::1]:443", "2001:db8::1", true),
            ("[2001:db8::1]", "2001:db8::1", true), ("[2001:db8::1]", "2001:db8::2", false),
        ]
    )
    func written(entry: String, host: String, expected: Bool) throws {
        #expect(try contains(HTTPDNSClient.Proxy.Exceptions([entry]), host) == expected)
    }

    @Test(
        "An entry that can never match is refused",
        arguments: [
            "", "a b", "*.one.test", "10.0.0.1/8", "10.0.0.0/33", "one.test:0", "one.test:x", "http://one.test",
            "[2001:db8::1", "[192.0.2.1]", "[2001:db8::]/32", "[2001:db8::1]:0",
        ]
    )
    func refused(entry: String) throws {
        #expect(throws: HTTPDNSClientError.self) { try HTTPDNSClient.Proxy.Exceptions([entry]) }
    }

    @Test("The variable's form is read by curl's rules", arguments: NoProxyCase.all)
    func variable(example: NoProxyCase) throws {
        #expect(
            try contains(HTTPDNSClient.Proxy.Exceptions(curl: example.list), example.host, port: 80) == example.isDirect
        )
    }

    /// So are names outside ASCII: hosts are compared as A-labels.
    @Test("Entries of no_proxy that match no host are named once, when the client is made")
    func unusable() throws {
        let entries = ["*.one.test", "one.test:80", ".", "[::1]", "10.0.0.0/33", "bücher.test", "http://x.test"]
        #expect(HTTPDNSClient.Proxy.Exceptions(curl: entries.joined(separator: ", ")).unusable == entries)
        for example in NoProxyCase.all where example.isDirect {
            let list = HTTPDNSClient.Proxy.Exceptions(curl: example.list)
            #expect(list.unusable.isEmpty, "\(example.list)")
        }
        let log = RecordedLog()
        for rules in [HTTPDNSClient.Proxy.Rules.environment, .off] {
            _ = try Rig {
                $0.proxy = rules
                $0.environment = { $0 == "no_proxy" ? "*.one.test,two.test" : nil }
                $0.logger = log.logger(.warning)
            }
        }
        #expect(log.messages == ["no_proxy has entries that match no host"])
        #expect(log.events.first?.metadata?["entries"] == "*.one.test")
    }

    @Test(
        "The curl program reaches the same hosts without its proxy",
        .enabled(if: ServerRig.isAvailable([.witnesses])),
        arguments: NoProxyCase.all.filter { !$0.isAsDocumented }
    )
    func witness(example: NoProxyCase) async throws {
        let address = HTTPDNSAddress(example.host)
        let ok: [RawServer.Step] = [.readHead, .respond()]
        let direct = try RawServer(address: address?.description ?? "127.0.0.1") { _ in ok }
        let proxy = try RawServer { _ in ok }
        let host = address?.bracketed ?? example.host
        let resolve = address == nil ? ["--resolve", "\(host):\(direct.port):127.0.0.1"] : []
        let curl = try await Command(
            "curl",
            ["-q", "-s"] + resolve + ["http://\(host):\(direct.port)/"],
            environment: [
                "http_proxy": "http://127.0.0.1:\(proxy.port)", "no_proxy": example.list, "all_proxy": "",
                "ALL_PROXY": "",
                "NO_PROXY": "",
            ]
        ).run()
        #expect(curl.status == 0, "\(curl)")
        #expect(direct.connections.count == (example.isDirect ? 1 : 0))
        #expect(proxy.connections.count == (example.isDirect ? 0 : 1))
    }
}

/// A value of `no_proxy`, a host, and whether it is reached without the proxy.
struct NoProxyCase: Sendable, CustomTestStringConvertible {
    let list: String
    let host: String
    let isDirect: Bool

    /// Whether curl 7.88.1 does otherwise than its documentation says.
    let isAsDocumented: Bool

    init(_ list: String, _ host: String, _ isDirect: Bool, isAsDocumented: Bool = false) {
        (self.list, self.host, self.isDirect, self.isAsDocumented) = (list, host, isDirect, isAsDocumented)
    }

    var testDescription: String { "\(list) for \(host)" }

    static let all = [
        NoProxyCase("one.test", "one.test", true), NoProxyCase(".one.test", "one.test", true),
        NoProxyCase("one.test", "a.one.test", true), NoProxyCase("one.test", "aone.test", false),
        NoProxyCase("one.test.", "one.test", true), NoProxyCase("two.test,one.test", "one.test", true),
        NoProxyCase("two.test one.test", "one.test", true), NoProxyCase("two.test , one.test", "one.test", true),
        NoProxyCase("*", "one.test", true), NoProxyCase("two.test,*", "one.test", false),
        NoProxyCase("*.test", "one.test", false), NoProxyCase("one.test:80", "one.test", false),
        NoProxyCase("test", "one.test", true), NoProxyCase("OnE.TEST", "one.test", true),
        NoProxyCase("", "one.test", false),
        NoProxyCase("127.0.0.0/8", "127.0.0.9", true), NoProxyCase("127.0.0.1", "127.0.0.9", false),
        NoProxyCase("127.0.0.9", "127.0.0.9", true), NoProxyCase("127.0.0.0/30", "127.0.0.9", false),
        NoProxyCase("127.0.0.9/0", "127.0.0.9", true), NoProxyCase("127.0.0.0/33", "127.0.0.9", false),
        NoProxyCase("127.0.0.9/31", "127.0.0.8", true), NoProxyCase("0.0.9", "127.0.0.9", false),
        NoProxyCase("::1", "::1", true), NoProxyCase("::/64", "::1", true, isAsDocumented: true),
        NoProxyCase("::2", "::1", false),
        NoProxyCase("[::1]", "::1", false),
    ]
}
