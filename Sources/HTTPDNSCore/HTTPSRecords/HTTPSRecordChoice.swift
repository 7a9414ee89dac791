package import HTTPDNSPrimitives

/// The result of a name's HTTPS records.
package enum HTTPSRecordChoice: Hashable, Sendable {
    /// The name's own addresses and the URL's port, as without HTTPS records.
    case plain(Reason)
    /// The endpoints to connect to.
    case candidates(ServiceCandidates)

    /// The reason that HTTPS records are not used.
    package enum Reason: Hashable, Sendable {
        /// There is no usable record, or no provider could query one.
        case noRecord
        /// The query failed: it may be repeated soon.
        case failed(HTTPDNSProviderError)
        /// The records in alias mode lead back to this name.
        case aliasLoop(HTTPDNSName)
        /// The records in alias mode lead through more than ``HTTPSRecordSelection/maximumAliases`` names.
        case tooManyAliases
        /// The names that the records lead to have no address.
        case noAddress
    }
}

/// Addresses and ports in the order to try: the records by their priority, then the name at the end of the aliases, then the
/// queried name (RFC 9460 section 3).
///
/// They do not change the server's required identity: Host, SNI and certificate stay those of the queried name (RFC 9460
/// section 9.4).
package struct ServiceCandidates: Hashable, Sendable {
    /// At least one endpoint, without duplicates, at most ``AnswerReading/maximumAddressesPerFamily`` of each family. The
    /// address policy has not been applied yet.
    package var endpoints: [ServiceEndpoint]
    /// The protocols that the most preferred record offers, as ALPN identifiers; empty without a record in service mode.
    package var applicationProtocols: [String] = []
    /// The shortest time to live of all answers that were used.
    package var timeToLive: Duration
    /// The owner of the HTTPS records, if it is not the queried name.
    package var serviceName: HTTPDNSName?
    /// A failure during the selection. The result is valid, but a later one may be better.
    package var missing: HTTPDNSProviderError?
}

/// An address, with the port if the HTTPS record has one.
package struct ServiceEndpoint: Hashable, Sendable {
    package var address: HTTPDNSAddress
    /// The port; nil means the URL's, which may equal the port of another endpoint.
    package var port: UInt16?

    package init(address: HTTPDNSAddress, port: UInt16? = nil) {
        self.address = address
        self.port = port
    }
}

/// The reason that a service cannot be reached, whatever addresses its name has.
package struct ServiceUnavailable: Hashable, Sendable, CustomStringConvertible {
    /// The name that declares it.
    package var name: HTTPDNSName
    /// The time that this may be cached.
    package var timeToLive: Duration

    /// The failure, the name, and the suggested action.
    package var description: String {
        "\(name) has an HTTPS record in alias mode with the target \".\": its owner says that the service is not available "
            + "(RFC 9460 section 2.5.1); to connect nevertheless, turn services off on the route"
    }
}
