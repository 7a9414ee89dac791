// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The purpose of an address that is not simply public: its scope, and a readable name.
///
/// Sources: the IANA IPv4 and IPv6 Special-Purpose Address Registries (RFC 6890, RFC 8190) as of October 2025. The vendors'
/// pages have the addresses at which clouds provide credentials to the machine. Addresses that those registries call globally
/// reachable are public: AS112 (192.31.196.0/24, 192.175.48.0/24, 2001:4:112::/48, 2620:4f:8000::/48) and automatic multicast
/// tunneling (192.52.193.0/24, 2001:3::/32). The anycast addresses 192.0.0.9, 192.0.0.10 and 2001:1::1 to 2001:1::3 are not:
/// they lead to a device of the local network that speaks PCP, TURN or DNS-SD, and no web server is there. Keys (2001:20::/28,
/// 2001:30::/28) are not addresses that a connection could reach.
///
/// The decision is code and not a table, because every answer is checked on every use: a public address takes a few
/// comparisons.
struct SpecialPurpose {
    var scope: HTTPDNSAddressPolicy.Scope
    var name: StaticString
    /// The form that carries the deciding IPv4 address; nil when the address itself decided.
    var form: StaticString?

    private init(_ scope: HTTPDNSAddressPolicy.Scope, _ name: StaticString) {
        self.scope = scope
        self.name = name
    }

    /// A readable description of the address.
    var text: String { form.map { "\(name), inside \($0)" } ?? "\(name)" }

    /// Returns the purpose of an address; nil when it is simply public.
    static func of(_ address: HTTPDNSAddress) -> SpecialPurpose? {
        switch address.family {
        case .v4: of(v4: UInt32(truncatingIfNeeded: address.low))
        case .v6: of(high: address.high, low: address.low)
        }
    }
}

// MARK: - IPv4

extension SpecialPurpose {
    /// Returns the purpose of an IPv4 address. Single addresses precede the ranges around them.
    private static func of(v4 address: UInt32) -> SpecialPurpose? {
        switch address >> 24 {
        case 0: SpecialPurpose(.special, "unspecified (0.0.0.0/8)")
        case 10: SpecialPurpose(.private, "private (10.0.0.0/8)")
        case 100 where address == 0x6464_64c8: SpecialPurpose(.special, "a metadata service (Alibaba Cloud)")
        case 100 where address >> 22 == 0x6440_0000 >> 22:
            SpecialPurpose(.private, "shared by a carrier (100.64.0.0/10)")
        case 127 where address == 0x7f00_3535: SpecialPurpose(.special, "the mark of a name collision (ICANN)")
        case 127: SpecialPurpose(.loopback, "loopback (127.0.0.0/8)")
        case 168 where address == 0xa83f_8110: SpecialPurpose(.special, "a service of the machine's host (Azure)")
        case 169 where address == 0xa9fe_a9fe: SpecialPurpose(.special, "a metadata service")
        case 169 where address >> 16 == 0xa9fe: SpecialPurpose(.special, "link-local (169.254.0.0/16)")
        case 172 where address >> 20 == 0xac1: SpecialPurpose(.private, "private (172.16.0.0/12)")
        case 192: of192(address)
        case 198 where address >> 17 == 0xc612_0000 >> 17: SpecialPurpose(.private, "for benchmarks (198.18.0.0/15)")
        case 224...239: SpecialPurpose(.special, "multicast (224.0.0.0/4)")
        case 240...255 where address == .max: SpecialPurpose(.special, "broadcast")
        case 240...255: SpecialPurpose(.special, "reserved (240.0.0.0/4)")
        default: nil
        }
    }

    private static func of192(_ address: UInt32) -> SpecialPurpose? {
        switch address >> 8 {
        case 0xc0_0000 where address & 0xff == 192: SpecialPurpose(.special, "a metadata service (Oracle Cloud)")
        case 0xc0_0000: SpecialPurpose(.special, "kept for protocols (192.0.0.0/24)")
        case 0xc0_5863: SpecialPurpose(.special, "a relay of 6to4, given up (192.88.99.0/24)")
        case 0xc0_a800...0xc0_a8ff: SpecialPurpose(.private, "private (192.168.0.0/16)")
        default: nil
        }
    }
}

// MARK: - IPv6

extension SpecialPurpose {
    private static func of(high: UInt64, low: UInt64) -> SpecialPurpose? {
        switch high >> 48 {
        case 0x2001: of2001(high)
        case 0x2002: inside(high >> 16, "a 6to4 address (2002::/16)")
        // RFC 4291 section 2.4 and the IANA registry of the address space: all space allocated for global unicast.
        case 0x2000...0x3fff: nil
        case 0 where high == 0: ofZero(low)
        case 0x64: of64(high: high, low: low)
        case 0x100 where high >> 1 == 0x0100 << 47:
            SpecialPurpose(.special, "a black hole (100::/64, 100:0:0:1::/64)")
        case 0x5f00: SpecialPurpose(.special, "a routing segment (5f00::/16)")
        case 0xfc00...0xfdff: ofUniqueLocal(high)
        case 0xfe80...0xfebf: SpecialPurpose(.special, "link-local (fe80::/10)")
        case 0xfec0...0xfeff: SpecialPurpose(.private, "site-local, given up (fec0::/10)")
        case 0xff00...0xffff: SpecialPurpose(.special, "multicast (ff00::/8)")
        default: reserved
        }
    }

    private static var reserved: SpecialPurpose { SpecialPurpose(.special, "reserved (outside 2000::/3)") }

    /// Returns the purpose of an address in 2001::/16.
    ///
    /// 2001::/23 is reserved for protocols (RFC 2928); its globally reachable parts count as public.
    private static func of2001(_ high: UInt64) -> SpecialPurpose? {
        let second = high >> 32 & 0xffff
        guard second < 0x200 else { return nil }
        switch second {
        case 0: return SpecialPurpose(.special, "a Teredo tunnel (2001::/32)")
        case 2 where high >> 16 & 0xffff == 0: return SpecialPurpose(.private, "for benchmarks (2001:2::/48)")
        case 3: return nil
        case 4 where high >> 16 & 0xffff == 0x112: return nil
        case 0x10...0x1f: return SpecialPurpose(.special, "a key and no address (2001:10::/28)")
        case 0x20...0x2f: return SpecialPurpose(.special, "a key and no address (2001:20::/28)")
        case 0x30...0x3f: return SpecialPurpose(.special, "a key and no address (2001:30::/28)")
        default: return SpecialPurpose(.special, "kept for protocols (2001::/23)")
        }
    }

    private static func ofUniqueLocal(_ high: UInt64) -> SpecialPurpose {
        if high >> 32 == 0xfd00_0ec2 { return SpecialPurpose(.special, "a metadata service (AWS, fd00:ec2::/32)") }
        switch high {
        case 0xfd20_00ce << 32: return SpecialPurpose(.special, "a metadata service (Google Cloud, fd20:ce::/64)")
        case 0xfd00_00c1 << 32: return SpecialPurpose(.special, "a metadata service (Oracle Cloud, fd00:c1::/64)")
        case 0xfd00_0042 << 32: return SpecialPurpose(.special, "a metadata service (Scaleway, fd00:42::/64)")
        case 0xfd00_a9fe_a9fe << 16: return SpecialPurpose(.special, "a metadata service (Akamai, fd00:a9fe:a9fe::/64)")
        default: return SpecialPurpose(.private, "private (fc00::/7)")
        }
    }

    /// Returns the purpose of an address in ::/64: loopback, unspecified, and IPv4 in two forms.
    ///
    /// IPv4-compatible addresses (::/96, RFC 4291 section 2.5.5.1) are deprecated and lead to no host.
    private static func ofZero(_ low: UInt64) -> SpecialPurpose? {
        switch low {
        case 0: SpecialPurpose(.special, "unspecified (::)")
        case 1: SpecialPurpose(.loopback, "loopback (::1)")
        case let low where low >> 32 == 0xffff: inside(low, "an IPv4-mapped address")
        // RFC 2765: ::ffff:0:0:0/96.
        case let low where low >> 32 == 0xffff_0000: inside(low, "an IPv4-translated address")
        default: reserved
        }
    }

    /// Returns the purpose of a NAT64 address: with the well-known prefix (RFC 6052 section 2.1), or a local-use prefix (RFC
    /// 8215).
    ///
    /// A network that translates under a prefix of its global addresses cannot be recognized.
    private static func of64(high: UInt64, low: UInt64) -> SpecialPurpose? {
        if high == 0x0064_ff9b << 32, low >> 32 == 0 { return inside(low, "a NAT64 address (64:ff9b::/96)") }
        guard high >> 16 == 0x0064_ff9b_0001 else { return reserved }
        var purpose = SpecialPurpose(.private, "NAT64 of a network's own (64:ff9b:1::/48)")
        // A reading in 0.0.0.0/8 is not a translated address, only one of the other readings at a wrong offset.
        for address in localTranslations(high: high, low: low) where address >> 24 != 0 {
            guard let inner = of(v4: address), inner.scope > purpose.scope else { continue }
            purpose = inner
            purpose.form = "a NAT64 address of a network's own (64:ff9b:1::/48)"
        }
        return purpose
    }

    /// Returns the IPv4 addresses that 64:ff9b:1::/48 may carry.
    ///
    /// The network chooses the length of its prefix, and with it their position (RFC 6052 section 2.2). The most private
    /// reading counts.
    private static func localTranslations(high: UInt64, low: UInt64) -> [UInt32] {
        // The byte after bit 64 is zero under every prefix.
        guard low >> 56 == 0 else { return [] }
        var readings = [UInt32(truncatingIfNeeded: low)]  // a prefix of 96 bits
        // Under the shorter prefixes all bits after the address are zero.
        if low << 40 == 0 { readings.append(UInt32(truncatingIfNeeded: low >> 24)) }  // 64
        if low << 32 == 0 { readings.append(UInt32(truncatingIfNeeded: (high & 0xff) << 24 | low >> 32)) }  // 56
        if low << 24 == 0 { readings.append(UInt32(truncatingIfNeeded: (high & 0xffff) << 16 | low >> 40)) }  // 48
        return readings
    }

    /// Returns the purpose of an IPv4 address that the network, or this machine, would extract from an IPv6 address and use.
    /// Otherwise these forms would bypass every rule for IPv4.
    private static func inside(_ bits: UInt64, _ form: StaticString) -> SpecialPurpose? {
        var purpose = of(v4: UInt32(truncatingIfNeeded: bits))
        purpose?.form = form
        return purpose
    }

    /// Returns the IPv4 addresses that an IPv6 address may carry: those of the forms above, and the client behind a Teredo
    /// address (RFC 4380 section 4).
    ///
    /// Empty for IPv4 addresses. `::` and `::1` are no IPv4-compatible addresses.
    static func embeddedIPv4(in address: HTTPDNSAddress) -> [HTTPDNSAddress] {
        guard address.family == .v6 else { return [] }
        return embedded(high: address.high, low: address.low).map {
            HTTPDNSAddress(family: .v4, high: 0, low: UInt64($0))
        }
    }

    private static func embedded(high: UInt64, low: UInt64) -> [UInt32] {
        switch high >> 48 {
        case 0 where high == 0 && low > 1 && [0, 0xffff, 0xffff_0000].contains(low >> 32):
            [UInt32(truncatingIfNeeded: low)]
        case 0x64 where high == 0x0064_ff9b << 32 && low >> 32 == 0: [UInt32(truncatingIfNeeded: low)]
        // As for ``of64(high:low:)``: a reading in 0.0.0.0/8 is one at a wrong offset.
        case 0x64 where high >> 16 == 0x0064_ff9b_0001:
            localTranslations(high: high, low: low).filter { $0 >> 24 != 0 }
        case 0x2001 where high >> 32 == 0x2001_0000: [~UInt32(truncatingIfNeeded: low)]
        case 0x2002: [UInt32(truncatingIfNeeded: high >> 16)]
        default: []
        }
    }
}
