/// The server's result for a query as a whole: the header's RCODE with EDNS's upper bits (RFC 6891 section 6.1.3).
package struct DNSResponseCode: Hashable, Sendable, CustomStringConvertible {
    package let number: UInt16

    package init(number: UInt16) { self.number = number }

    package static let noError = DNSResponseCode(number: 0)
    package static let serverFailure = DNSResponseCode(number: 2)
    /// NXDOMAIN: the name at the end of the alias chain does not exist (RFC 6604 section 3).
    package static let nameError = DNSResponseCode(number: 3)
    package static let refused = DNSResponseCode(number: 5)

    /// The mnemonic in the IANA registry for those that resolvers send to clients; `RCODE 23` for others.
    package var description: String {
        switch number {
        case 0: "NOERROR"
        case 1: "FORMERR"
        case 2: "SERVFAIL"
        case 3: "NXDOMAIN"
        case 4: "NOTIMP"
        case 5: "REFUSED"
        case 9: "NOTAUTH"
        case 16: "BADVERS"
        default: "RCODE \(number)"
        }
    }
}
