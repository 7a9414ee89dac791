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
