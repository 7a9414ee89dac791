package import HTTPDNSPrimitives

/// The type of a resource record (RFC 1035 section 3.2.2); messages may contain any number.
package struct DNSRecordType: Hashable, Sendable, CustomStringConvertible {
    package let number: UInt16

    package init(number: UInt16) { self.number = number }

    /// Creates the type of the address records of `family`.
    package init(of family: HTTPDNSAddress.Family) { self = family == .v4 ? .a : .aaaa }

    /// An IPv4 address (RFC 1035 section 3.4.1).
    package static let a = DNSRecordType(number: 1)
    /// The canonical name of an alias (RFC 1035 section 3.3.1).
    package static let cname = DNSRecordType(number: 5)
    /// The start of a zone of authority (RFC 1035 section 3.3.13).
    package static let soa = DNSRecordType(number: 6)
    /// An IPv6 address (RFC 3596).
    package static let aaaa = DNSRecordType(number: 28)
    /// The pseudo record that carries EDNS (RFC 6891).
    package static let opt = DNSRecordType(number: 41)
    /// The binding of a service to its endpoints (RFC 9460 section 2).
    package static let svcb = DNSRecordType(number: 64)
    /// The binding of a service for the schemes `https` and `http` (RFC 9460 section 9).
    package static let https = DNSRecordType(number: 65)

    /// Whether records of the type have the form of SVCB ("SVCB-compatible", RFC 9460 section 6).
    package var bindsServices: Bool { self == .svcb || self == .https }

    /// The mnemonic of the types that this codec reads; `TYPE99` for others (RFC 3597 section 5).
    package var description: String {
        switch self {
        case .a: "A"
        case .cname: "CNAME"
        case .soa: "SOA"
        case .aaaa: "AAAA"
        case .opt: "OPT"
        case .svcb: "SVCB"
        case .https: "HTTPS"
        default: "TYPE\(number)"
        }
    }
}
