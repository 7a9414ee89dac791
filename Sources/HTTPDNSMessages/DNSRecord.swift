package import HTTPDNSPrimitives

/// A resource record of class IN that is used to resolve a host.
package struct DNSRecord: Hashable, Sendable {
    package enum Content: Hashable, Sendable {
        /// A or AAAA, by the address's family.
        case address(HTTPDNSAddress)
        /// CNAME: the owner is an alias of this name.
        case alias(DNSName)
        /// SOA: the time for which a negative answer may be cached, in seconds (RFC 2308 section 4).
        case startOfAuthority(minimum: UInt32)
        /// SVCB or HTTPS.
        case service(ServiceRecord)
        /// A malformed SVCB or HTTPS record, which invalidates all such records of its owner (RFC 9460 section 2.2).
        case malformedService(DNSMessageError)
    }

    package let owner: DNSName
    /// The time to live as in the message, in seconds. See ``DNSTimeToLive``.
    package let timeToLive: UInt32
    package let content: Content

    package init(owner: DNSName, timeToLive: UInt32, content: Content) {
        self.owner = owner
        self.timeToLive = timeToLive
        self.content = content
    }
}

/// The interpretation of the 32 bits of a time to live.
package enum DNSTimeToLive {
    /// The maximum time to live of a record, 7 days (RFC 8767 section 4).
    package static let maximumSeconds: UInt32 = 604_800

    /// Returns the time to live in seconds. A value with the upper bit set is a large number, not a negative one (RFC 8767
    /// section 4, which replaces RFC 2181's zero).
    package static func seconds(_ value: UInt32) -> UInt32 { min(value, maximumSeconds) }
}
