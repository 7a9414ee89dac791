internal import HTTPDNSPrimitives

/// The result of a name's HTTPS records for requests to its own port (RFC 9460).
struct ServiceRoute: Hashable, Sendable {
    /// The port that the records of a bare name apply to (RFC 9460 section 9.1); other ports have their own names.
    static let port: UInt16 = 443

    /// The endpoints to connect to, in the order to try.
    var endpoints: [HTTPDNSEndpoint]
    /// The protocols that the record behind the first endpoint offers.
    var applicationProtocols: [String]
    /// The reason that no connection is possible, when the owner of the name declares it.
    var unavailable: String?
}
