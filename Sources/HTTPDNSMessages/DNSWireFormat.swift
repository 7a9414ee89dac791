/// The numbers of the wire format that the encoder and the parser share.
package enum DNSWireFormat {
    /// The number of octets in a message's header (RFC 1035 section 4.1.1).
    package static let headerOctets = 12
    /// The maximum length of a message: the length is a 16-bit number on every transport (RFC 8484 section 6).
    package static let maximumMessageOctets = 65_535
    /// Class IN, the Internet (RFC 1035 section 3.2.4).
    package static let internetClass: UInt16 = 1

    /// Flag bits of the header's second word (RFC 1035 section 4.1.1).
    package enum Flag {
        package static let response: UInt16 = 0x8000
        package static let operationCode: UInt16 = 0x7800
        package static let truncated: UInt16 = 0x0200
        package static let recursionDesired: UInt16 = 0x0100
        package static let responseCode: UInt16 = 0x000f
    }
}
