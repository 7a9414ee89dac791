/// The encoder of queries.
package enum DNSQuery {
    /// The block size of padding, so that the length of a query reveals little (RFC 8467 section 4.1).
    package static let paddingBlockOctets = 128

    /// The UDP payload size in the OPT record. It has no effect over HTTPS, but a front end may forward the record to a
    /// resolver; 1232 is the recommendation of DNS Flag Day 2020.
    private static let offeredPayloadOctets: UInt16 = 1232
    /// EDNS option 12, padding (RFC 7830 section 3).
    private static let paddingOption: UInt16 = 12
    /// The OPT record with an empty padding option: root 1, type 2, class 2, TTL 4, RDLENGTH 2, code 2, length 2.
    private static let optionRecordOctets = 15

    /// Returns the message for one question. It has ID 0, so that HTTP caches recognize equal queries (RFC 8484 section 4.1),
    /// recursion desired, and an EDNS record with padding. It is at most 384 octets long.
    /// - Parameter clientSubnet: The client network (RFC 7871); `nil` sends none.
    package static func encoded(_ question: DNSQuestion, clientSubnet: DNSClientSubnet? = nil) -> [UInt8] {
        let options = clientSubnet?.option ?? []
        let unpadded =
            DNSWireFormat.headerOctets + question.name.octets.count + 4 + optionRecordOctets + options.count
        let padding = (paddingBlockOctets - unpadded % paddingBlockOctets) % paddingBlockOctets

        var message: [UInt8] = []
        message.reserveCapacity(unpadded + padding)
        message.appendBigEndian(0 as UInt16)
        message.appendBigEndian(DNSWireFormat.Flag.recursionDesired)
        for count in [1, 0, 0, 1] as [UInt16] { message.appendBigEndian(count) }

        message.append(contentsOf: question.name.octets)
        message.appendBigEndian(question.type.number)
        message.appendBigEndian(DNSWireFormat.internetClass)

        message.append(contentsOf: DNSName.root.octets)
        message.appendBigEndian(DNSRecordType.opt.number)
        message.appendBigEndian(offeredPayloadOctets)
        message.appendBigEndian(0 as UInt32)
        message.appendBigEndian(UInt16(truncatingIfNeeded: options.count + 4 + padding))
        message.append(contentsOf: options)
        message.appendBigEndian(paddingOption)
        message.appendBigEndian(UInt16(truncatingIfNeeded: padding))
        message.append(contentsOf: repeatElement(0, count: padding))
        return message
    }
}

extension [UInt8] {
    fileprivate mutating func appendBigEndian(_ value: some FixedWidthInteger & UnsignedInteger) {
        for shift in stride(from: value.bitWidth - 8, through: 0, by: -8) {
            append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }
}
