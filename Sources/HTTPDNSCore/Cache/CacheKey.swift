internal import HTTPDNSMessages
package import HTTPDNSPrimitives

/// The key of a cached answer.
///
/// Ports share addresses, so the port is not part of it. Neither is the route: it follows from the name, and each answer has
/// its own route.
package struct CacheKey: Hashable, Sendable {
    let host: HTTPDNSName
    /// The families that the query itself names; nil means those of the name's route.
    let families: HTTPDNSAddress.Families?
    /// Whether the answer comes from the system resolver, regardless of the routes.
    let isBypass: Bool
    /// The client network that the query itself names; nil means that of the name's route.
    let clientSubnet: HTTPDNSAddressBlock?
    let hash: UInt64

    package init(
        _ host: HTTPDNSName,
        families: HTTPDNSAddress.Families? = nil,
        isBypass: Bool = false,
        clientSubnet: HTTPDNSAddressBlock? = nil
    ) {
        self.host = host
        self.families = families
        self.isBypass = isBypass
        // Cut as it is sent: all clients of one network share an answer.
        let clientSubnet = clientSubnet.map { DNSClientSubnet($0).network }
        self.clientSubnet = clientSubnet
        var salt = UInt64(families?.rawValue ?? 0) << 1 | (isBypass ? 1 : 0) | (host.isAbsolute ? 1 << 9 : 0)
        if let clientSubnet {
            salt |=
                clientSubnet.address.low &* 0x9e37_79b9_7f4a_7c15 &+ clientSubnet.address.high << 8
                &+ UInt64(truncatingIfNeeded: clientSubnet.prefixLength) << 56
        }
        hash = NameHash.hash(host, salt: salt)
    }

    /// The key of an answer for any client.
    var withoutClientSubnet: CacheKey { CacheKey(host, families: families, isBypass: isBypass) }

    package static func == (left: CacheKey, right: CacheKey) -> Bool {
        left.hash == right.hash && left.families == right.families && left.isBypass == right.isBypass
            && left.host == right.host && left.host.isAbsolute == right.host.isAbsolute
            && left.clientSubnet == right.clientSubnet
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}
