internal import HTTPDNSPrimitives

/// A range of addresses that is not simply public, with its scope and a name for people.
///
/// Sources: the IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890) as of 2025, and the vendors' pages for
/// the addresses at which clouds hand credentials to the machine.
struct SpecialPurposeBlock: Sendable {
    var high: UInt64
    var low: UInt64
    var prefixLength: Int
    var scope: AddressScope
    var name: String

    /// The scope of an address, and what it is; the name is nil for a public one.
    static func classify(_ address: IPAddress) -> (scope: AddressScope, name: String?) {
        switch address.family {
        case .v4: classify(v4: address.low)
        case .v6: classify(high: address.high, low: address.low)
        }
    }

    private static func classify(v4 address: UInt64) -> (scope: AddressScope, name: String?) {
        for block in v4 where address >> UInt64(32 - block.prefixLength) == block.low >> UInt64(32 - block.prefixLength)
        {
            return (block.scope, block.name)
        }
        return (.public, nil)
    }

    private static func classify(high: UInt64, low: UInt64) -> (scope: AddressScope, name: String?) {
        if let (inner, form) = embeddedV4(high: high, low: low) {
            let (scope, name) = classify(v4: inner)
            return (scope, name.map { "\($0), inside an \(form) address" })
        }
        // RFC 8215: NAT64 of a network's own. The last 32 bits are the IPv4 address with the usual /96 prefix; where a
        // longer part is, they are zero and say nothing.
        if high >> 16 == 0x0064_ff9b_0001 {
            let inner = low & 0xffff_ffff
            let (scope, _) = inner == 0 ? (.private, nil) : classify(v4: inner)
            return (max(scope, .private), "NAT64 of a network's own (64:ff9b:1::/48)")
        }
        for block in v6 where block.containsV6(high: high, low: low) {
            return (block.scope, block.name)
        }
        // RFC 4291 section 2.4 and the IANA registry: only 2000::/3 is given out for global unicast.
        return high >> 61 == 0b001 ? (.public, nil) : (.special, "reserved (outside 2000::/3)")
    }

    /// The IPv4 address that the network, or this machine, would take out of an IPv6 address and use.
    private static func embeddedV4(high: UInt64, low: UInt64) -> (UInt64, String)? {
        if high == 0, low >> 32 == 0xffff { return (low & 0xffff_ffff, "IPv4-mapped") }
        // RFC 2765: IPv4-translated, ::ffff:0:0:0/96.
        if high == 0, low >> 32 == 0xffff_0000 { return (low & 0xffff_ffff, "IPv4-translated") }
        if high == 0x0064_ff9b_0000_0000, low >> 32 == 0 { return (low, "NAT64 (64:ff9b::/96)") }
        if high >> 48 == 0x2002 { return (high >> 16 & 0xffff_ffff, "6to4 (2002::/16)") }
        return nil
    }

    private func containsV6(high otherHigh: UInt64, low otherLow: UInt64) -> Bool {
        if prefixLength <= 64 {
            return otherHigh >> UInt64(64 - prefixLength) == high >> UInt64(64 - prefixLength)
        }
        return otherHigh == high && otherLow >> UInt64(128 - prefixLength) == low >> UInt64(128 - prefixLength)
    }

    private static func ipv4(
        _ first: UInt64,
        _ second: UInt64,
        _ third: UInt64,
        _ fourth: UInt64,
        _ prefixLength: Int,
        _ scope: AddressScope,
        _ name: String
    ) -> SpecialPurposeBlock {
        let low = first << 24 | second << 16 | third << 8 | fourth
        return SpecialPurposeBlock(high: 0, low: low, prefixLength: prefixLength, scope: scope, name: name)
    }

    private static func ipv6(
        _ high: UInt64,
        low: UInt64 = 0,
        _ prefixLength: Int,
        _ scope: AddressScope,
        _ name: String
    ) -> SpecialPurposeBlock {
        SpecialPurposeBlock(high: high, low: low, prefixLength: prefixLength, scope: scope, name: name)
    }

    /// The first block that an address lies in decides, so single addresses stand before the ranges round them.
    private static let v4: [SpecialPurposeBlock] = [
        ipv4(100, 100, 100, 200, 32, .special, "a metadata service (Alibaba Cloud)"),
        ipv4(192, 0, 0, 192, 32, .special, "a metadata service (Oracle Cloud)"),
        ipv4(168, 63, 129, 16, 32, .special, "a service of the machine's host (Azure)"),
        ipv4(127, 0, 53, 53, 32, .special, "the mark of a name collision (ICANN)"),
        ipv4(169, 254, 169, 254, 32, .special, "a metadata service"),
        ipv4(0, 0, 0, 0, 8, .special, "unspecified (0.0.0.0/8)"),
        ipv4(10, 0, 0, 0, 8, .private, "private (10.0.0.0/8)"),
        ipv4(100, 64, 0, 0, 10, .private, "shared by a carrier (100.64.0.0/10)"),
        ipv4(127, 0, 0, 0, 8, .loopback, "loopback (127.0.0.0/8)"),
        ipv4(169, 254, 0, 0, 16, .special, "link-local (169.254.0.0/16)"),
        ipv4(172, 16, 0, 0, 12, .private, "private (172.16.0.0/12)"),
        ipv4(192, 0, 0, 0, 24, .special, "kept for protocols (192.0.0.0/24)"),
        ipv4(192, 88, 99, 0, 24, .special, "a relay of 6to4, given up (192.88.99.0/24)"),
        ipv4(192, 168, 0, 0, 16, .private, "private (192.168.0.0/16)"),
        ipv4(198, 18, 0, 0, 15, .private, "for benchmarks (198.18.0.0/15)"),
        ipv4(255, 255, 255, 255, 32, .special, "broadcast"),
        ipv4(224, 0, 0, 0, 4, .special, "multicast (224.0.0.0/4)"),
        ipv4(240, 0, 0, 0, 4, .special, "reserved (240.0.0.0/4)"),
    ]

    private static let v6: [SpecialPurposeBlock] = [
        ipv6(0, 128, .special, "unspecified (::)"),
        ipv6(0, low: 1, 128, .loopback, "loopback (::1)"),
        ipv6(0xfd00_0ec2 << 32, 32, .special, "a metadata service (AWS, fd00:ec2::/32)"),
        ipv6(0xfd20_00ce << 32, 64, .special, "a metadata service (Google Cloud, fd20:ce::/64)"),
        ipv6(0xfd00_00c1 << 32, 64, .special, "a metadata service (Oracle Cloud, fd00:c1::/64)"),
        ipv6(0xfd00_0042 << 32, 64, .special, "a metadata service (Scaleway, fd00:42::/64)"),
        ipv6(0x0100 << 48, 63, .special, "a black hole (100::/64, 100:0:0:1::/64)"),
        ipv6(0x2001_0000 << 32, 32, .special, "a Teredo tunnel (2001::/32)"),
        ipv6(0x2001_0002 << 32, 48, .private, "for benchmarks (2001:2::/48)"),
        ipv6(0x2001_0010 << 32, 28, .special, "a key and no address (2001:10::/28)"),
        ipv6(0x2001_0020 << 32, 28, .special, "a key and no address (2001:20::/28)"),
        ipv6(0x2001_0030 << 32, 28, .special, "a key and no address (2001:30::/28)"),
        ipv6(0x2001_0003 << 32, 32, .public, "automatic multicast tunnelling (2001:3::/32)"),
        ipv6(0x2001_0004_0112 << 16, 48, .public, "AS112 (2001:4:112::/48)"),
        ipv6(0x2001 << 48, 23, .special, "kept for protocols (2001::/23)"),
        ipv6(0x5f00 << 48, 16, .special, "a routing segment (5f00::/16)"),
        ipv6(0xfc00 << 48, 7, .private, "private (fc00::/7)"),
        ipv6(0xfe80 << 48, 10, .special, "link-local (fe80::/10)"),
        ipv6(0xfec0 << 48, 10, .private, "site-local, given up (fec0::/10)"),
        ipv6(0xff00 << 48, 8, .special, "multicast (ff00::/8)"),
    ]
}
