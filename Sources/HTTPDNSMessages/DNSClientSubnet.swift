package import HTTPDNSPrimitives

/// The client network of a query, as EDNS option 8 carries it (RFC 7871 section 6).
package struct DNSClientSubnet: Hashable, Sendable {
    /// The option's code.
    static let optionCode: UInt16 = 8

    /// The network, truncated to hide the individual machine: 24 bits of IPv4, 56 of IPv6 (RFC 7871 section 11.1).
    package let network: HTTPDNSAddressBlock

    /// Truncates `network` to the prefix that a resolver should disclose; a shorter prefix is unchanged.
    package init(_ network: HTTPDNSAddressBlock) {
        let longest = network.address.family == .v4 ? 24 : 56
        self.network = HTTPDNSAddressBlock(network.address, prefixLength: min(network.prefixLength, longest)) ?? network
    }

    /// The number of the address family (IANA, "Address Family Numbers").
    private var familyNumber: UInt16 { network.address.family == .v4 ? 1 : 2 }

    /// The octets that contain the prefix; the bits after the prefix are zero.
    private var addressOctets: ArraySlice<UInt8> { network.address.bytes.prefix((network.prefixLength + 7) / 8) }

    /// The complete option of a query: code, length, family, source prefix length, scope prefix length 0, address.
    package var option: [UInt8] {
        let length = UInt8(truncatingIfNeeded: 4 + addressOctets.count)
        let head = [0, UInt8(truncatingIfNeeded: Self.optionCode), 0, length]
        let prefix = [0, UInt8(truncatingIfNeeded: familyNumber), UInt8(truncatingIfNeeded: network.prefixLength), 0]
        return head + prefix + addressOctets
    }

    /// Reads the scope prefix length of a response's option.
    /// - Throws: ``DNSMessageError`` with code `wrongClientSubnet` when the option is malformed, or its family, source prefix
    ///   length or address differ from the query's: such a response is dropped (RFC 7871 sections 7.3 and 11.2).
    func scope(in option: inout DNSMessageReader) throws(DNSMessageError) -> Int {
        let start = option.offset
        func fault(_ reason: String) -> DNSMessageError {
            DNSMessageError(.wrongClientSubnet, at: start, "client subnet option: \(reason) (RFC 7871 section 7.3)")
        }
        guard option.remaining >= 4 else { throw fault("\(option.remaining) octets; it has at least 4") }
        let family = try option.readUInt16()
        let lengths = try option.readUInt16()
        let (source, scope) = (Int(lengths >> 8), Int(lengths & 0xff))
        let address = try option.readOctets(option.remaining)
        guard family == familyNumber, source == network.prefixLength, address == addressOctets else {
            throw fault("family \(family) and \(source) bits of a network that is not the query's \(network)")
        }
        guard scope <= network.address.family.bits else { throw fault("a scope of \(scope) bits") }
        return scope
    }
}

extension HTTPDNSAddress.Family {
    fileprivate var bits: Int { self == .v4 ? 32 : 128 }
}
