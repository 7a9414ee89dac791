public import HTTPDNSPrimitives

/// What stands where a URL has its host: a name or an address literal.
public enum HTTPDNSHost: Hashable, Sendable, CustomStringConvertible {
    /// A DNS name.
    case name(HTTPDNSName)
    /// An address literal; it is never looked up.
    case address(HTTPDNSAddress)

    /// The canonical text; an IPv6 address has no brackets.
    public var description: String {
        switch self {
        case .name(let name): name.description
        case .address(let address): address.description
        }
    }
}
