// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore
import Testing

/// The ranges of the IANA registries and the addresses of the clouds, each with its edges.
struct SpecialPurposeTests {
    /// A range, its scope, and the scopes of the adjacent addresses.
    struct Range: Sendable, CustomTestStringConvertible {
        var block: String
        var scope: HTTPDNSAddressPolicy.Scope
        var before: HTTPDNSAddressPolicy.Scope?
        var after: HTTPDNSAddressPolicy.Scope?

        init(
            _ block: String,
            _ scope: HTTPDNSAddressPolicy.Scope,
            _ before: HTTPDNSAddressPolicy.Scope?,
            _ after: HTTPDNSAddressPolicy.Scope?
        ) {
            (self.block, self.scope, self.before, self.after) = (block, scope, before, after)
        }

        var testDescription: String { block }
    }

    @Test(
        "A range's first and last address have its scope, adjacent ones have their own",
        arguments: [
            Range("0.0.0.0/8", .special, nil, .public), Range("10.0.0.0/8", .private, .public, .public),
            Range("100.64.0.0/10", .private, .public, .public),
            Range("100.100.100.200/32", .special, .private, .private),
            Range("127.0.0.0/8", .loopback, .public, .public),
            Range("127.0.53.53/32", .special, .loopback, .loopback),
            Range("168.63.129.16/32", .special, .public, .public), Range("169.254.0.0/16", .special, .public, .public),
            Range("172.16.0.0/12", .private, .public, .public), Range("192.0.0.0/24", .special, .public, .public),
            Range("192.0.0.192/32", .special, .special, .special), Range("192.0.2.0/24", .public, .public, .public),
            Range("192.31.196.0/24", .public, .public, .public), Range("192.52.193.0/24", .public, .public, .public),
            Range("192.88.99.0/24", .special, .public, .public), Range("192.168.0.0/16", .private, .public, .public),
            Range("192.175.48.0/24", .public, .public, .public), Range("198.18.0.0/15", .private, .public, .public),
            Range("198.51.100.0/24", .public, .public, .public), Range("203.0.113.0/24", .public, .public, .public),
            Range("224.0.0.0/4", .special, .public, .special), Range("240.0.0.0/4", .special, .special, nil),
            Range("255.255.255.255/32", .special, .special, nil),

            Range("::/128", .special, nil, .loopback), Range("::1/128", .loopback, .special, .special),
            Range("::/96", .special, nil, .special), Range("::ffff:0:0/96", .special, .special, .special),
            Range("::ffff:10.0.0.0/104", .private, .public, .public),
            Range("::ffff:127.0.0.0/104", .loopback, .public, .public),
            Range("::ffff:169.254.0.0/112", .special, .public, .public),
            Range("::ffff:0:10.0.0.0/104", .private, .public, .public),
            Range("64:ff9b::192.168.0.0/112", .private, .public, .public),
            Range("64:ff9b::100.100.100.200/128", .special, .private, .private),
            Range("64:ff9b::/96", .special, .special, .special), Range("64:ff9b:1::/48", .private, .special, .special),
            Range("100::/64", .special, .special, .special), Range("100:0:0:1::/64", .special, .special, .special),
            Range("2000::/3", .public, .special, .special), Range("2001::/32", .special, .public, .special),
            Range("2001::/23", .special, .public, .public), Range("2001:1::1/128", .special, .special, .special),
            Range("2001:2::/48", .private, .special, .special), Range("2001:3::/32", .public, .special, .special),
            Range("2001:4:112::/48", .public, .special, .special), Range("2001:10::/28", .special, .special, .special),
            Range("2001:20::/28", .special, .special, .special), Range("2001:30::/28", .special, .special, .special),
            Range("2001:db8::/32", .public, .public, .public), Range("2002:a00::/24", .private, .public, .public),
            Range("2002:a9fe::/32", .special, .public, .public), Range("2002:7f00::/24", .loopback, .public, .public),
            Range("2002::/24", .special, .public, .public), Range("2620:4f:8000::/48", .public, .public, .public),
            Range("3fff::/20", .public, .public, .public), Range("5f00::/16", .special, .special, .special),
            Range("fc00::/7", .private, .special, .special), Range("fd00:ec2::/32", .special, .private, .private),
            Range("fd20:ce::/64", .special, .private, .private), Range("fd00:c1::/64", .special, .private, .private),
            Range("fd00:42::/64", .special, .private, .private),
            Range("fd00:a9fe:a9fe::/64", .special, .private, .private),
            Range("fe80::/10", .special, .special, .private), Range("fec0::/10", .private, .special, .special),
            Range("ff00::/8", .special, .private, nil),
        ]
    )
    func edges(range: Range) throws {
        let block = try #require(HTTPDNSAddressBlock(range.block))
        #expect(HTTPDNSAddressPolicy.Scope(of: block.address) == range.scope, "\(block.address)")
        #expect(HTTPDNSAddressPolicy.Scope(of: block.last) == range.scope, "\(block.last)")
        #expect(block.address.predecessor.map { HTTPDNSAddressPolicy.Scope(of: $0) } == range.before)
        #expect(block.last.successor.map { HTTPDNSAddressPolicy.Scope(of: $0) } == range.after)
    }

    @Test(
        "An IPv4 address in a local NAT64 prefix counts at each position of RFC 6052",
        arguments: [
            // 169.254.169.254 under a prefix of 96, 64, 56 and 48 bits.
            ("64:ff9b:1::a9fe:a9fe", HTTPDNSAddressPolicy.Scope.special), ("64:ff9b:1:0:a9:fea9:fe00:0", .special),
            ("64:ff9b:1:a9:fe:a9fe::", .special), ("64:ff9b:1:a9fe:a9:fe00::", .special),
            // 127.0.0.1 likewise.
            ("64:ff9b:1::7f00:1", .loopback), ("64:ff9b:1:0:7f:0:100:0", .loopback),
            ("64:ff9b:1:7f:0:1::", .loopback), ("64:ff9b:1:7f00:0:100::", .loopback),
            // Public and private ones: the network's own, so private.
            ("64:ff9b:1::cb00:7107", .private), ("64:ff9b:1:cb00:71:700::", .private), ("64:ff9b:1::a00:1", .private),
            ("64:ff9b:1::", .private),
            // Bits where RFC 6052 wants zeros: no such address.
            ("64:ff9b:1:a9fe:ffa9:fe00::", .private), ("64:ff9b:1:a9fe:a9:fe00:0:1", .private),
            ("64:ff9b:1:0:100:0:a9fe:a9fe", .private), ("64:ff9b:1:7f:0:1:8000:0", .private),
            ("64:ff9b:1:0:7f:0:180:0", .private),
        ]
    )
    func localTranslation(text: String, scope: HTTPDNSAddressPolicy.Scope) throws {
        #expect(HTTPDNSAddressPolicy.Scope(of: try #require(HTTPDNSAddress(text))) == scope)
    }

    @Test("A refusal names the kind of an address, and how it is embedded")
    func names() throws {
        let texts = [
            "fd00:ec2::254": "a metadata service (AWS, fd00:ec2::/32)",
            "127.0.53.53": "the mark of a name collision (ICANN)",
            "2002:a9fe:a9fe::1": "a metadata service, inside a 6to4 address (2002::/16)",
            "64:ff9b:1::a9fe:a9fe":
                "a metadata service, inside a NAT64 address of a network's own (64:ff9b:1::/48)",
            "64:ff9b:2::1": "reserved (outside 2000::/3)",
        ]
        for (text, name) in texts {
            let address = try #require(HTTPDNSAddress(text))
            let refusal = HTTPDNSAddressPolicy().refusal(of: address, from: .mapping, providerScope: nil)
            #expect(refusal?.hasPrefix("\(address) is \(name), ") == true, "\(refusal ?? "allowed")")
        }
    }
}

extension HTTPDNSAddressBlock {
    fileprivate var last: HTTPDNSAddress {
        let bits = address.family == .v4 ? 32 : 128
        let host = bits - prefixLength
        let low: UInt64 = host >= 64 ? .max : 1 << UInt64(host) - 1
        let high: UInt64 = host <= 64 ? 0 : host == 128 ? .max : 1 << UInt64(host - 64) - 1
        return HTTPDNSAddress(family: address.family, high: address.high | high, low: address.low | low)
    }
}

extension HTTPDNSAddress {
    fileprivate var successor: HTTPDNSAddress? {
        switch family {
        case .v4: return low == 0xffff_ffff ? nil : HTTPDNSAddress(family: .v4, high: 0, low: low + 1)
        case .v6:
            guard low == .max else { return HTTPDNSAddress(family: .v6, high: high, low: low + 1) }
            return high == .max ? nil : HTTPDNSAddress(family: .v6, high: high + 1, low: 0)
        }
    }

    fileprivate var predecessor: HTTPDNSAddress? {
        guard low == 0 else { return HTTPDNSAddress(family: family, high: high, low: low - 1) }
        return family == .v4 || high == 0 ? nil : HTTPDNSAddress(family: .v6, high: high - 1, low: .max)
    }
}
