public import HTTPDNSPrimitives

/// What stands where a URL has its host: a name or an address literal.
public enum Host: Hashable, Sendable, CustomStringConvertible {
    /// A DNS name.
    case name(HostName)
    /// An address literal; it is never looked up.
    case address(IPAddress)

    /// The canonical text; an IPv6 address has no brackets.
    public var description: String {
        switch self {
        case .name(let name): name.description
        case .address(let address): address.description
        }
    }
}
