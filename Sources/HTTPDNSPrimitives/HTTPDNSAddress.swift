// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

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
    var mappedV4: HTTPDNSAddress? {
        guard family == .v6, high == 0, low >> 32 == 0xffff else { return nil }
        return HTTPDNSAddress(family: .v4, high: 0, low: low & 0xffff_ffff)
    }

    /// The text form with brackets around an IPv6 address, as URLs and libcurl require.
    public var bracketed: String {
        family == .v4 ? description : "[\(description)]"
    }
}

extension HTTPDNSAddress: CustomStringConvertible, LosslessStringConvertible {
    /// Parses `203.0.113.7` or any RFC 4291 text form of an IPv6 address, without brackets.
    ///
    /// Forms that programs read differently give nil: octal and hexadecimal parts, leading zeros, fewer than four parts,
    /// spaces, zone identifiers.
    public init?(_ text: String) {
        var text = text
        let address = text.withUTF8 { bytes in
            bytes.contains(UInt8(ascii: ":")) ? HTTPDNSAddress.v6(bytes[...]) : HTTPDNSAddress.v4(bytes[...])
        }
        guard let address else { return nil }
        self = address
    }

    private static func v4(_ text: Slice<UnsafeBufferPointer<UInt8>>) -> HTTPDNSAddress? {
        var value: UInt64 = 0
        var part = 0
        var digits = 0
        var dots = 0
        for byte in text {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"):
                guard digits < 3, digits == 0 || part > 0 else { return nil }
                part = part * 10 + Int(byte - UInt8(ascii: "0"))
                digits += 1
                guard part <= 255 else { return nil }
            case UInt8(ascii: "."):
                guard digits > 0, dots < 3 else { return nil }
                value = value << 8 | UInt64(part)
                (part, digits, dots) = (0, 0, dots + 1)
            default:
                return nil
            }
        }
        guard dots == 3, digits > 0 else { return nil }
        return HTTPDNSAddress(family: .v4, high: 0, low: value << 8 | UInt64(part))
    }

    private static func v6(_ text: Slice<UnsafeBufferPointer<UInt8>>) -> HTTPDNSAddress? {
        var before: [UInt16] = []
        var after: [UInt16]?
        var index = text.startIndex
        if text.starts(with: [UInt8(ascii: ":"), UInt8(ascii: ":")]) {
            after = []
            index += 2
        }
        while index < text.endIndex {
            let end = text[index...].firstIndex(of: UInt8(ascii: ":")) ?? text.endIndex
            let group = text[index..<end]
            var groups: [UInt16]
            if end == text.endIndex, group.contains(UInt8(ascii: ".")) {
                guard let tail = v4(group) else { return nil }
                groups = [UInt16(tail.low >> 16), UInt16(tail.low & 0xffff)]
            } else {
                guard let value = hexadecimal(group) else { return nil }
                groups = [value]
            }
            if after == nil { before += groups } else { after? += groups }
            guard end < text.endIndex else { break }
            index = end + 1
            if index < text.endIndex, text[index] == UInt8(ascii: ":") {
                guard after == nil else { return nil }
                after = []
                index += 1
            } else if index == text.endIndex {
                return nil
            }
        }
        let count = before.count + (after?.count ?? 0)
        guard after == nil ? count == 8 : count <= 7 else { return nil }
        let groups = before + Array(repeating: 0, count: 8 - count) + (after ?? [])
        return HTTPDNSAddress(
            family: .v6,
            high: groups[..<4].reduce(0) { $0 << 16 | UInt64($1) },
            low: groups[4...].reduce(0) { $0 << 16 | UInt64($1) }
        )
    }

    private static func hexadecimal(_ group: Slice<UnsafeBufferPointer<UInt8>>) -> UInt16? {
        guard (1...4).contains(group.count) else { return nil }
        var value: UInt16 = 0
        for byte in group {
            guard let digit = Character(UnicodeScalar(byte)).hexDigitValue else { return nil }
            value = value << 4 | UInt16(digit)
        }
        return value
    }

    /// The text form: `203.0.113.7`, or for IPv6 that of RFC 5952 section 4: lower case, longest run of zeros as `::`.
    ///
    /// IPv4-mapped addresses have their IPv4 part in decimal, as section 5 recommends.
    public var description: String {
        switch family {
        case .v4: dottedDecimal(low)
        case .v6: mappedV4.map { "::ffff:\($0)" } ?? compressed
        }
    }

    private func dottedDecimal(_ value: UInt64) -> String {
        "\(value >> 24 & 255).\(value >> 16 & 255).\(value >> 8 & 255).\(value & 255)"
    }

    private var compressed: String {
        let groups = (0..<8).map { UInt16(truncatingIfNeeded: ($0 < 4 ? high : low) >> (48 - 16 * ($0 % 4))) }
        // The first of the longest runs of at least two zero groups (RFC 5952 section 4.2).
        var run = 0..<0
        var start = 0
        for (index, group) in groups.enumerated() {
            if group != 0 {
                start = index + 1
            } else if index + 1 - start > max(run.count, 1) {
                run = start..<index + 1
            }
        }
        func text(_ part: some Sequence<UInt16>) -> String {
            part.map { String($0, radix: 16) }.joined(separator: ":")
        }
        return run.isEmpty ? text(groups) : "\(text(groups[..<run.lowerBound]))::\(text(groups[run.upperBound...]))"
    }
}

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

/// An address and the port to dial; the port may differ from the URL's.
public struct HTTPDNSEndpoint: Hashable, Sendable, CustomStringConvertible {
    /// The address to dial.
    public var address: HTTPDNSAddress
    /// The TCP port to dial, 1 to 65535.
    public var port: UInt16

    /// Creates an endpoint.
    public init(address: HTTPDNSAddress, port: UInt16) {
        self.address = address
        self.port = port
    }

    /// `203.0.113.7:443`, or `[2001:db8::7]:443` for IPv6 (RFC 5952 section 6).
    public var description: String {
        "\(address.bracketed):\(port)"
    }
}
