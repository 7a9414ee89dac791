public import HTTPDNSPrimitives

/// The host of a URL: a name or an address literal.
public enum HTTPDNSHost: Hashable, Sendable, CustomStringConvertible {
    /// A DNS name.
    case name(HTTPDNSName)
    /// An address literal, which needs no lookup.
    case address(HTTPDNSAddress)

    /// The canonical text; an IPv6 address has no brackets.
    public var description: String {
        switch self {
        case .name(let name): name.description
        case .address(let address): address.description
        }
    }
}
