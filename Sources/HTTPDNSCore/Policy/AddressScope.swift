public import HTTPDNSPrimitives

extension HTTPDNSAddressPolicy {
    /// How far an address reaches; a larger scope is more private.
    public enum Scope: Int, Hashable, Comparable, Sendable, CustomStringConvertible {
        /// Reachable from anywhere. The ranges for documentation (RFC 5737, RFC 3849, RFC 9637) count as public: they are
        /// what examples and tests are written with, and nothing answers there.
        case `public`
        /// A network's own (RFC 1918, RFC 4193, RFC 6598 and the like).
        case `private`
        /// This machine's own.
        case loopback
        /// Link-local, metadata, unspecified, multicast, broadcast, reserved: needs an explicit allow from everyone.
        case special

        /// The more public scope is the smaller one.
        public static func < (left: HTTPDNSAddressPolicy.Scope, right: HTTPDNSAddressPolicy.Scope) -> Bool {
            left.rawValue < right.rawValue
        }

        /// The scope of an address, by the IANA registries of special-purpose addresses (RFC 6890).
        ///
        /// Forms that carry an IPv4 address have the scope of the address inside: IPv4-mapped (`::ffff:10.0.0.1`), NAT64
        /// (`64:ff9b::/96`), 6to4 (`2002::/16`). Else they would lead round every rule about IPv4. NAT64 of a network's own
        /// (`64:ff9b:1::/48`, RFC 8215) is private at least.
        public init(of address: HTTPDNSAddress) {
            self = SpecialPurpose.of(address)?.scope ?? .public
        }

        /// The word for it: `public`, `private`, `loopback`, `special`.
        public var description: String {
            switch self {
            case .public: "public"
            case .private: "private"
            case .loopback: "loopback"
            case .special: "special"
            }
        }
    }
}
