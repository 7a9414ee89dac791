package import HTTPDNSPrimitives

/// What the services of a name come to.
package enum ServiceChoice: Hashable, Sendable {
    /// The name's own addresses and the URL's port, as if it had no services.
    case plain(Reason)
    /// Where to connect.
    case candidates(ServiceCandidates)

    /// Why services are not used.
    package enum Reason: Hashable, Sendable {
        /// There is no usable record, or nobody could ask for one.
        case noRecord
        /// The question failed: it may be asked again soon.
        case failed(HTTPDNSProviderError)
        /// The records in alias mode lead back to this name.
        case aliasLoop(HTTPDNSName)
        /// The records in alias mode lead through more than ``ServiceSelection/maximumAliases`` names.
        case tooManyAliases
        /// The names that the records lead to have no address.
        case noAddress
    }
}

/// Addresses and ports in the order to try: the records by their priority, then the name at the end of the aliases, then
/// the name asked (RFC 9460 section 3). Nothing here changes who the server must prove to be: Host, SNI and certificate
/// stay those of the name asked (RFC 9460 section 9.4).
package struct ServiceCandidates: Hashable, Sendable {
    /// At least one, each once, at most ``AnswerReading/maximumAddressesPerFamily`` of each family. No policy has seen
    /// them yet.
    package var endpoints: [ServiceEndpoint]
    /// The protocols that the most preferred record offers, as ALPN identifiers; empty without a record in service mode.
    package var applicationProtocols: [String] = []
    /// The least time to live of all answers that this rests on.
    package var timeToLive: Duration
    /// The name whose services these are, where it is not the name asked.
    package var serviceName: HTTPDNSName?
    /// What failed on the way. The choice is good, but a later one may be better.
    package var missing: HTTPDNSProviderError?
}

/// An address, with the port where the service says one.
package struct ServiceEndpoint: Hashable, Sendable {
    package var address: HTTPDNSAddress
    /// Nil means the URL's, which the port of another endpoint may happen to be.
    package var port: UInt16?

    package init(address: HTTPDNSAddress, port: UInt16? = nil) {
        self.address = address
        self.port = port
    }
}

/// Why a service cannot be reached, whatever addresses its name has.
package struct ServiceUnavailable: Hashable, Sendable, CustomStringConvertible {
    /// The name that says so.
    package var name: HTTPDNSName
    /// How long that may be remembered.
    package var timeToLive: Duration

    /// What happened, where, and what to do.
    package var description: String {
        "\(name) has an HTTPS record in alias mode with the target \".\": its owner says that the service is not available "
            + "(RFC 9460 section 2.5.1); to connect nevertheless, turn services off on the route"
    }
}
