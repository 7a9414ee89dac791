package import HTTPDNSPrimitives

/// A resource record of class IN that the resolving of a host looks at.
package struct DNSRecord: Hashable, Sendable {
    package enum Content: Hashable, Sendable {
        /// A or AAAA, by the address's family.
        case address(HTTPDNSAddress)
        /// CNAME: the owner is an alias of this name.
        case alias(DNSName)
        /// SOA: how long the absence of a record may be remembered, in seconds (RFC 2308 section 4).
        case startOfAuthority(minimum: UInt32)
        /// SVCB or HTTPS.
        case service(ServiceRecord)
        /// SVCB or HTTPS in a form that voids all such records of its owner (RFC 9460 section 2.2).
        case malformedService(DNSMessageError)
    }

    package let owner: DNSName
    /// The time to live as it is in the message, in seconds. See ``DNSTimeToLive``.
    package let timeToLive: UInt32
    package let content: Content

    package init(owner: DNSName, timeToLive: UInt32, content: Content) {
        self.owner = owner
        self.timeToLive = timeToLive
        self.content = content
    }
}

/// The reading of the 32 bits of a time to live.
package enum DNSTimeToLive {
    /// The longest life that a record gets, 7 days (RFC 8767 section 4).
    package static let maximumSeconds: UInt32 = 604_800

    /// The life in seconds. A value with the upper bit set is a large one, not a negative one (RFC 8767 section 4, which
    /// replaces RFC 2181's zero).
    package static func seconds(_ value: UInt32) -> UInt32 { min(value, maximumSeconds) }
}
