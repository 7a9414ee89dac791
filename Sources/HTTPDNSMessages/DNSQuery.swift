// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSPrimitives

/// The encoder of queries.
package enum DNSQuery {
    /// The block size of padding, so that the length of a query reveals little (RFC 8467 section 4.1).
    static let paddingBlockOctets = 128

    /// The UDP payload size in the OPT record, by the recommendation of DNS Flag Day 2020. It has no effect over HTTPS, but a front
    /// end may forward the record to a resolver.
    private static let offeredPayloadOctets: UInt16 = 1232
    /// The OPT record with an empty padding option: root 1, type 2, class 2, TTL 4, RDLENGTH 2, code 2, length 2.
    private static let optionRecordOctets = 15

    /// Returns the message for one question. It has ID 0, so that HTTP caches recognize equal queries (RFC 8484 section 4.1),
    /// recursion desired, and an EDNS record with padding. It is at most 384 octets long.
    /// - Parameters:
    ///   - clientSubnet: The client network (RFC 7871); `nil` sends none.
    ///   - usesEDNS: Whether the query has an EDNS record. Without it, there is no client network and no padding.
    ///   - isPadded: Whether the padding hides the length of the name, which only encryption makes sense of.
    ///   - wishes: What it asks of signatures.
    package static func encoded(
        _ question: DNSQuestion,
        clientSubnet: DNSClientSubnet? = nil,
        usesEDNS: Bool = true,
        isPadded: Bool = true,
        wishes: DNSSignatureWishes = DNSSignatureWishes()
    ) -> [UInt8] {
        let options = clientSubnet?.option ?? []
        let unpadded =
            DNSWireFormat.headerOctets + question.name.octets.count + 4 + optionRecordOctets + options.count
        let padding = isPadded ? (paddingBlockOctets - unpadded % paddingBlockOctets) % paddingBlockOctets : 0

        var message: [UInt8] = []
        message.reserveCapacity(unpadded + padding)
        message.appendBigEndian(0 as UInt16)
        message.appendBigEndian(DNSWireFormat.Flag.recursionDesired | wishes.flags)
        for count in [1, 0, 0, usesEDNS ? 1 : 0] as [UInt16] { message.appendBigEndian(count) }

        message.append(contentsOf: question.name.octets)
        message.appendBigEndian(question.type.number)
        message.appendBigEndian(DNSWireFormat.internetClass)
        guard usesEDNS else { return message }

        message.append(contentsOf: DNSName.root.octets)
        message.appendBigEndian(DNSRecordType.opt.number)
        message.appendBigEndian(offeredPayloadOctets)
        message.appendBigEndian(wishes.wantsSignatures ? DNSSignatureWishes.signaturesFlag : 0)
        message.appendBigEndian(UInt16(truncatingIfNeeded: options.count + (isPadded ? 4 + padding : 0)))
        message.append(contentsOf: options)
        guard isPadded else { return message }
        message.appendBigEndian(DNSOptions.padding)
        message.appendBigEndian(UInt16(truncatingIfNeeded: padding))
        message.append(contentsOf: repeatElement(0, count: padding))
        return message
    }
}

/// What a query asks of signatures (RFC 4035 section 3.2), for a client that checks them.
package struct DNSSignatureWishes: Hashable, Sendable {
    /// The bit DO in the TTL of an OPT record (RFC 3225 section 3).
    static let signaturesFlag: UInt32 = 0x8000

    /// Whether the response is to have signatures (DO).
    package var wantsSignatures = false
    /// The bits AD and CD of the header.
    var flags: UInt16 = 0

    package init() {}
}

/// The question of a query: the records of one type, of class IN, at one name.
package struct DNSQuestion: Hashable, Sendable, CustomStringConvertible {
    package let name: DNSName
    package let type: DNSRecordType

    package init(name: DNSName, type: DNSRecordType) {
        self.name = name
        self.type = type
    }

    /// The question for messages, such as `img.shop.test. A`.
    package var description: String { "\(name) \(type)" }
}

/// The client network of a query, as EDNS option 8 carries it (RFC 7871 section 6).
package struct DNSClientSubnet: Hashable, Sendable {
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
        let head = [0, UInt8(truncatingIfNeeded: DNSOptions.clientSubnet), 0, length]
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
