// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSPrimitives

extension HTTPDNSAddressPolicy {
    /// The network scope of an address; a larger scope is more private.
    public enum Scope: Int, Hashable, Comparable, Sendable, CustomStringConvertible {
        /// Reachable from anywhere.
        ///
        /// The ranges for documentation (RFC 5737, RFC 3849, RFC 9637) count as public: examples and tests use them, and no
        /// host answers there.
        case `public`
        /// Addresses of a private network (RFC 1918, RFC 4193, RFC 6598 and the like).
        case `private`
        /// Addresses of this machine.
        case loopback
        /// Link-local, metadata, unspecified, multicast, broadcast and reserved addresses. Every source needs an explicit allow
        /// for them.
        case special

        /// Returns whether the left scope is more public than the right one.
        public static func < (left: HTTPDNSAddressPolicy.Scope, right: HTTPDNSAddressPolicy.Scope) -> Bool {
            left.rawValue < right.rawValue
        }

        /// Determines the scope of an address, by the IANA registries of special-purpose addresses (RFC 6890).
        ///
        /// Forms that carry an IPv4 address have the scope of that address: IPv4-mapped (`::ffff:10.0.0.1`), NAT64
        /// (`64:ff9b::/96`), 6to4 (`2002::/16`). Otherwise they would bypass every rule for IPv4. Local-use NAT64
        /// (`64:ff9b:1::/48`, RFC 8215) is private at least.
        public init(of address: HTTPDNSAddress) {
            self = SpecialPurpose.of(address)?.scope ?? .public
        }

        /// The name of the scope: `public`, `private`, `loopback`, `special`.
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
