/// An IPv4 or IPv6 address. Its text form is that of RFC 5952; IPv4 addresses are parsed in full decimal form only.
public struct HTTPDNSAddress: Hashable, Sendable {
    /// The two families of addresses.
    public enum Family: Hashable, Sendable, CaseIterable {
        /// IPv4, DNS record type A.
        case v4
        /// IPv6, DNS record type AAAA.
        case v6
    }

    /// The address's family.
    public let family: Family
    /// The upper 64 bits of an IPv6 address; 0 for IPv4.
    package let high: UInt64
    /// The lower 64 bits of an IPv6 address; the 32 bits of an IPv4 address.
    package let low: UInt64

    package init(family: Family, high: UInt64, low: UInt64) {
        self.family = family
        self.high = high
        self.low = low
    }

    /// Creates an IPv4 address from its four bytes, as in `203.0.113.7`.
    public init(v4 first: UInt8, _ second: UInt8, _ third: UInt8, _ fourth: UInt8) {
        self.init(
            family: .v4,
            high: 0,
            low: UInt64(first) << 24 | UInt64(second) << 16 | UInt64(third) << 8 | UInt64(fourth)
        )
    }

    /// Creates an address from its bytes in network order: 4 for IPv4, 16 for IPv6. Any other number gives nil.
    public init?(bytes: some Collection<UInt8>) {
        switch bytes.count {
        case 4:
            self.init(family: .v4, high: 0, low: bytes.reduce(0) { $0 << 8 | UInt64($1) })
        case 16:
            self.init(
                family: .v6,
                high: bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) },
                low: bytes.suffix(8).reduce(0) { $0 << 8 | UInt64($1) }
            )
        default:
            return nil
        }
    }

    /// The address's bytes in network order: 4 or 16.
    public var bytes: [UInt8] {
        switch family {
        case .v4: (0..<4).map { UInt8(truncatingIfNeeded: low >> (24 - 8 * $0)) }
        case .v6: (0..<16).map { UInt8(truncatingIfNeeded: ($0 < 8 ? high : low) >> (56 - 8 * ($0 % 8))) }
        }
    }

    /// The IPv4 address inside an IPv4-mapped IPv6 address (`::ffff:203.0.113.7`), else nil.
    package var mappedV4: HTTPDNSAddress? {
        guard family == .v6, high == 0, low >> 32 == 0xffff else { return nil }
        return HTTPDNSAddress(family: .v4, high: 0, low: low & 0xffff_ffff)
    }

    /// The text form with brackets around an IPv6 address, as URLs and libcurl require.
    public var bracketed: String {
        family == .v4 ? description : "[\(description)]"
    }
}
