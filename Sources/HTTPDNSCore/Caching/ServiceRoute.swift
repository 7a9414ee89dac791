internal import HTTPDNSPrimitives

/// Where the HTTPS records of a name lead requests to its own port (RFC 9460).
struct ServiceRoute: Hashable, Sendable {
    /// The port that records of a bare name are about (RFC 9460 section 9.1); others have names of their own.
    static let port: UInt16 = 443

    /// Where to connect, in the order in which to try.
    var endpoints: [HTTPDNSEndpoint]
    /// The protocols that the record behind the first endpoint offers.
    var applicationProtocols: [String]
    /// Why there is no way to connect, when the owner of the name says so.
    var unavailable: String?
}
