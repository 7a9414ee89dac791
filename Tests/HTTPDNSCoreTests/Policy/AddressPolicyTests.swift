// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import HTTPDNSCore

struct AddressPolicyTests {
    @Test(
        "Every special-purpose range has its scope",
        arguments: [
            ("8.8.8.8", HTTPDNSAddressPolicy.Scope.public), ("1.0.0.0", .public), ("203.0.113.7", .public),
            ("192.0.2.1", .public),
            ("198.51.100.4", .public), ("192.175.48.1", .public), ("223.255.255.255", .public),
            ("100.63.255.255", .public),
            ("100.128.0.0", .public), ("172.15.255.255", .public), ("172.32.0.0", .public), ("198.20.0.0", .public),
            ("0.0.0.0", .special), ("0.255.255.255", .special), ("10.0.0.0", .private), ("10.255.255.255", .private),
            ("100.64.0.0", .private), ("100.127.255.255", .private), ("100.100.100.200", .special),
            ("100.100.100.201", .private), ("127.0.0.1", .loopback), ("127.255.255.255", .loopback),
            ("127.0.53.53", .special), ("169.254.0.1", .special), ("169.254.169.254", .special),
            ("172.16.0.0", .private),
            ("172.31.255.255", .private), ("192.0.0.8", .special), ("192.0.0.192", .special), ("192.0.1.0", .public),
            ("192.88.99.1", .special), ("192.168.255.255", .private), ("198.18.0.0", .private),
            ("198.19.255.255", .private), ("168.63.129.16", .special), ("224.0.0.1", .special),
            ("239.255.255.255", .special), ("240.0.0.1", .special), ("255.255.255.255", .special),

            ("2001:4860:4860::8888", .public), ("2606:4700::1111", .public), ("2001:db8::7", .public),
            ("3fff::1", .public),
            ("2a00::1", .public), ("::", .special), ("::1", .loopback), ("::2", .special), ("::127.0.0.1", .special),
            ("fe80::1", .special), ("febf::1", .special), ("fec0::1", .private), ("fc00::1", .private),
            ("fdff::1", .private), ("ff02::1", .special), ("fd00:ec2::254", .special), ("fd00:ec3::254", .private),
            ("fd20:ce::254", .special), ("100::1", .special), ("100:0:0:1::1", .special), ("4000::1", .special),
            ("2001::1", .special), ("2001:2::1", .private), ("2001:20::1", .special), ("5f00::1", .special),
            // RFC 2928: 2001::/23 is for protocols; of its parts only AMT and AS112 are services that anyone may reach.
            ("2001:1::1", .special), ("2001:2:1::1", .special), ("2001:3::1", .public), ("2001:4::1", .special),
            ("2001:4:112::1", .public), ("2001:4:113::1", .special), ("2001:f::1", .special), ("2001:40::1", .special),
            ("2001:1ff:ffff::1", .special), ("2001:200::1", .public),

            ("::ffff:203.0.113.7", .public), ("::ffff:10.0.0.1", .private), ("::ffff:127.0.0.1", .loopback),
            ("::ffff:169.254.169.254", .special), ("::ffff:0:127.0.0.1", .loopback), ("64:ff9b::203.0.113.7", .public),
            ("64:ff9b::10.0.0.1", .private), ("64:ff9b::127.0.0.1", .loopback), ("64:ff9b::169.254.169.254", .special),
            ("64:ff9b:1::203.0.113.7", .private), ("64:ff9b:1::169.254.169.254", .special), ("64:ff9b:1::", .private),
            ("64:ff9b:2::1", .special), ("2002:cb00:7107::1", .public), ("2002:a00:1::1", .private),
            ("2002:7f00:1::1", .loopback), ("2002:a9fe:a9fe::1", .special), ("2003::1", .public),
        ]
    )
    func classifies(text: String, scope: HTTPDNSAddressPolicy.Scope) throws {
        #expect(HTTPDNSAddressPolicy.Scope(of: try #require(HTTPDNSAddress(text))) == scope)
    }

    @Test(
        "A provider may return addresses as private as its limit, and no more",
        arguments: [
            (HTTPDNSAddressPolicy.Scope.public, "203.0.113.7", true), (.public, "10.0.0.1", false),
            (.public, "127.0.0.1", false),
            (.public, "169.254.169.254", false), (.public, "::ffff:10.0.0.1", false), (.public, "2002:7f00:1::", false),
            (.private, "203.0.113.7", true), (.private, "10.0.0.1", true), (.private, "127.0.0.1", false),
            (.loopback, "203.0.113.7", true), (.loopback, "10.0.0.1", true), (.loopback, "127.0.0.2", true),
            (.loopback, "169.254.169.254", false), (.loopback, "0.0.0.0", false),
            (.special, "10.0.0.1", true), (.special, "127.0.0.1", true), (.special, "169.254.20.10", false),
        ]
    )
    func limitsProviders(limit: HTTPDNSAddressPolicy.Scope, text: String, isAllowed: Bool) throws {
        let address = try #require(HTTPDNSAddress(text))
        let refusal = HTTPDNSAddressPolicy().refusal(of: address, from: .provider, providerScope: limit)
        #expect((refusal == nil) == isAllowed, "\(refusal ?? "allowed")")
    }

    @Test("A provider of unknown scope counts as public")
    func distrustsUnknownProviders() {
        let policy = HTTPDNSAddressPolicy()
        #expect(policy.refusal(of: HTTPDNSAddress(v4: 10, 0, 0, 1), from: .provider, providerScope: nil) != nil)
    }

    @Test(
        "Other sources may name private and loopback addresses, but no special ones",
        arguments: [HTTPDNSResolver.Resolution.Source.mapping, .request, .system, .literal]
    )
    func trustsTheOperator(source: HTTPDNSResolver.Resolution.Source) throws {
        let policy = HTTPDNSAddressPolicy()
        for text in ["203.0.113.7", "10.0.0.1", "127.0.0.1", "::1", "fd00::1"] {
            #expect(policy.refusal(of: try #require(HTTPDNSAddress(text)), from: source, providerScope: nil) == nil)
        }
        for text in ["169.254.169.254", "0.0.0.0", "::", "224.0.0.1", "fe80::1", "255.255.255.255", "100.100.100.200"] {
            #expect(
                policy.refusal(of: try #require(HTTPDNSAddress(text)), from: source, providerScope: nil) != nil,
                "\(text)"
            )
        }
    }

    @Test("An allowed block admits its addresses from every source, and no others")
    func allowsBlocks() throws {
        let policy = HTTPDNSAddressPolicy(allowed: [
            try #require(HTTPDNSAddressBlock("169.254.20.0/24")), try #require(HTTPDNSAddressBlock("10.0.0.0/8")),
        ])
        for source in [HTTPDNSResolver.Resolution.Source.provider, .mapping, .literal] {
            #expect(
                policy.refusal(of: HTTPDNSAddress(v4: 169, 254, 20, 10), from: source, providerScope: .public) == nil
            )
            #expect(
                policy.refusal(of: HTTPDNSAddress(v4: 169, 254, 21, 10), from: source, providerScope: .public) != nil
            )
        }
        #expect(policy.refusal(of: HTTPDNSAddress(v4: 10, 1, 2, 3), from: .provider, providerScope: .public) == nil)
        let mapped = try #require(HTTPDNSAddress("::ffff:10.1.2.3"))
        #expect(policy.refusal(of: mapped, from: .provider, providerScope: .public) != nil)
    }

    @Test(
        "A denied block is refused from every source, whatever allows it",
        arguments: HTTPDNSResolver.Resolution.Source.all
    )
    func denies(source: HTTPDNSResolver.Resolution.Source) throws {
        let (outer, inner) = (
            try #require(HTTPDNSAddressBlock("10.0.0.0/8")), try #require(HTTPDNSAddressBlock("10.1.0.0/16"))
        )
        var route = HTTPDNSRoute(.any, .system)
        route.allowed = [inner]
        let policy = HTTPDNSAddressPolicy(
            allowed: [outer],
            denied: [inner, try #require(HTTPDNSAddressBlock("203.0.113.0/24"))]
        )
        for (text, isRefused) in [
            ("10.1.2.3", true), ("203.0.113.7", true), ("10.2.0.1", false), ("198.51.100.4", false),
        ] {
            let refusal = policy.refusal(
                of: try #require(HTTPDNSAddress(text)),
                from: source,
                providerScope: .loopback,
                route: route
            )
            #expect((refusal != nil) == isRefused, "\(text): \(refusal ?? "allowed")")
            if let refusal { #expect(refusal.contains("policy.deny")) }
            #expect(!policy.admits(everythingOfScope: .public, from: source, providerScope: .public))
        }
    }

    @Test(
        "A denied IPv4 block covers its addresses inside IPv6 ones",
        arguments: [
            "::ffff:203.0.113.7", "::ffff:0:203.0.113.7", "::203.0.113.7", "64:ff9b::cb00:7107", "2002:cb00:7107::1",
            "64:ff9b:1::cb00:7107", "64:ff9b:1:cb00:71:700::", "2001:0:c000:201::34ff:8ef8",
        ]
    )
    func deniesEmbedded(text: String) throws {
        let address = try #require(HTTPDNSAddress(text))
        let everything = [try #require(HTTPDNSAddressBlock("::/0"))]
        let denying = HTTPDNSAddressPolicy(
            allowed: everything,
            denied: [try #require(HTTPDNSAddressBlock("203.0.113.0/24"))]
        )
        #expect(denying.refusal(of: address, from: .mapping, providerScope: nil)?.contains("policy.deny") == true)
        let other = HTTPDNSAddressPolicy(
            allowed: everything,
            denied: [try #require(HTTPDNSAddressBlock("198.51.100.0/24"))]
        )
        #expect(other.refusal(of: address, from: .mapping, providerScope: nil) == nil)
    }

    @Test(
        "A denied 0.0.0.0/8 covers only IPv6 addresses that embed such an address",
        arguments: [
            ("::ffff:0.0.0.1", true), ("::0.0.0.2", true), ("64:ff9b::1", true), ("2002:0:1::1", true),
            ("::1", false), ("::", false), ("64:ff9b:1::cb00:7107", false), ("64:ff9b:1:cb00:71:700::", false),
        ]
    )
    func deniesThisNetwork(text: String, isDenied: Bool) throws {
        let policy = HTTPDNSAddressPolicy(denied: [try #require(HTTPDNSAddressBlock("0.0.0.0/8"))])
        #expect((policy.denial(of: try #require(HTTPDNSAddress(text))) != nil) == isDenied)
    }

    @Test("Refused addresses of one kind have one text and one advice")
    func summary() throws {
        let addresses = ["127.0.0.2", "127.0.0.3", "169.254.1.1", "10.0.0.2"].compactMap { HTTPDNSAddress($0) }
        let policy = HTTPDNSAddressPolicy()
        func summary(_ addresses: [HTTPDNSAddress]) throws -> AddressRefusal.Summary {
            AddressRefusal.summary(
                try addresses.map { address in
                    let source = AddressSource(source: .provider, provider: "doh")
                    return (address, try #require(policy.reason(of: address, from: source, route: nil)))
                }
            )
        }
        let two = try summary(Array(addresses.prefix(2)))
        #expect(
            two.text
                == "127.0.0.2, 127.0.0.3 are loopback (127.0.0.0/8); provider \"doh\" may answer public addresses only"
        )
        #expect(two.remedy == "answer_scope: loopback of the provider (answerScope in code), or policy.allow")
        let all = try summary(addresses)
        #expect(
            all.text.contains("; 169.254.1.1 is link-local (169.254.0.0/16), which no source may name; 10.0.0.2 is ")
        )
        #expect(all.remedy.split(separator: "; ").count == 3)
        let many = try summary((1...20).map { HTTPDNSAddress(v4: 127, 0, 0, $0) })
        #expect(many.text.hasPrefix("127.0.0.1, ") && many.text.contains(", 127.0.0.8 and 12 more are loopback"))
    }

    @Test("A refusal names the address' kind, the reason and how to allow it")
    func teaches() throws {
        let policy = HTTPDNSAddressPolicy()
        let named = policy.refusal(
            of: HTTPDNSAddress(v4: 10, 0, 0, 2),
            from: .provider,
            providerScope: nil,
            provider: "corp"
        )
        #expect(
            named == "10.0.0.2 is private (10.0.0.0/8); provider \"corp\" may answer public addresses only; "
                + "allow it with answer_scope: private of the provider (answerScope in code), or policy.allow"
        )
        #expect(
            policy.refusal(of: HTTPDNSAddress(v4: 127, 0, 0, 2), from: .provider, providerScope: .public)
                == "127.0.0.2 is loopback (127.0.0.0/8); the provider may answer public addresses only; "
                + "allow it with answer_scope: loopback of the provider (answerScope in code), or policy.allow"
        )
        #expect(
            policy.refusal(of: HTTPDNSAddress(v4: 169, 254, 169, 254), from: .mapping, providerScope: nil)
                == "169.254.169.254 is a metadata service, which no source may name; "
                + "allow it with policy.allow, or the route's allow"
        )
        let mapped = policy.refusal(
            of: try #require(HTTPDNSAddress("::ffff:10.0.0.1")),
            from: .provider,
            providerScope: nil
        )
        #expect(mapped?.hasPrefix("::ffff:10.0.0.1 is private (10.0.0.0/8), inside an IPv4-mapped address") == true)
    }
}
