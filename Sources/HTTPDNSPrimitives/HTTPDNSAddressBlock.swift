/// A range of addresses in CIDR notation: `10.0.0.0/8`, `2001:db8::/32`. A bare address is a block of one.
public struct HTTPDNSAddressBlock: Hashable, Sendable, LosslessStringConvertible {
    /// The first address of the block; bits after the prefix are zero.
    public let address: HTTPDNSAddress
    /// The number of leading bits that all addresses of the block share: 0 to 32 for IPv4, 0 to 128 for IPv6.
    public let prefixLength: Int

    /// Creates the block of `prefixLength` leading bits that contains `address`; nil when the length does not fit the family.
    public init?(_ address: HTTPDNSAddress, prefixLength: Int) {
        let bits = address.family == .v4 ? 32 : 128
        guard (0...bits).contains(prefixLength) else { return nil }
        self.address = address.masked(to: prefixLength)
        self.prefixLength = prefixLength
    }

    /// Parses CIDR notation or a bare address. Bits set after the prefix give nil, because they are a mistake.
    public init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = HTTPDNSAddress(String(parts[0])) else { return nil }
        let bits = address.family == .v4 ? 32 : 128
        guard parts.count == 2 else {
            self.init(address, prefixLength: bits)
            return
        }
        let digits = parts[1]
        guard digits.allSatisfy({ $0.isASCII && $0.isNumber }), digits == "0" || !digits.hasPrefix("0"),
            let length = Int(digits), length <= bits, address.masked(to: length) == address
        else { return nil }
        self.init(address, prefixLength: length)
    }

    /// Returns whether `address` lies in the block. Families never match each other: `::ffff:10.0.0.1` is not in `10.0.0.0/8`.
    public func contains(_ address: HTTPDNSAddress) -> Bool {
        address.family == self.address.family && address.masked(to: prefixLength) == self.address
    }

    /// CIDR notation, always with the prefix length.
    public var description: String { "\(address)/\(prefixLength)" }
}

extension HTTPDNSAddress {
    fileprivate func masked(to prefixLength: Int) -> HTTPDNSAddress {
        func mask(_ length: Int) -> UInt64 {
            length <= 0 ? 0 : length >= 64 ? .max : ~(UInt64.max >> UInt64(length))
        }
        switch family {
        case .v4:
            return HTTPDNSAddress(family: .v4, high: 0, low: low & (mask(prefixLength + 32) & 0xffff_ffff))
        case .v6:
            return HTTPDNSAddress(family: .v6, high: high & mask(prefixLength), low: low & mask(prefixLength - 64))
        }
    }
}
