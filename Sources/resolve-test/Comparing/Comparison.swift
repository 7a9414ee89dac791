internal import HTTPDNS

/// The answers of HTTP-DNS and the system resolver for one name, with their verification by TLS.
struct Comparison: Sendable {
    /// The answer that the client's requests would use: from HTTP-DNS, or from a mapping.
    enum ClientAnswer: Sendable {
        case resolved(HTTPDNSResolver.Resolution)
        /// A definite answer without addresses, such as `name not found`.
        case nothing(String)
        /// No provider and no mapping covers the name.
        case notAsked(String)
        case failed(CommandFailure)
    }

    /// The answer of the system resolver, before any policy.
    enum SystemAnswer: Hashable, Sendable {
        case addresses([HTTPDNSAddress])
        /// The system does not know the name, or has no address for it.
        case nothing(String)
        case failed(String)
    }

    /// The result of a connection to one address with the name.
    enum Proof: Hashable, Sendable {
        case verified(Duration)
        /// The peer cannot prove the name, or the address must not be dialed.
        case refused(String)
        /// There was no response, which proves nothing.
        case unreachable(String)
    }

    var host: HTTPDNSName
    var port: UInt16
    var client: ClientAnswer
    var system: SystemAnswer
    /// The results by endpoint; without probes only of endpoints that must not be dialed.
    var proofs: [HTTPDNSEndpoint: Proof] = [:]
    /// Whether the answers were verified.
    var isProbed = false

    /// The client's endpoints; empty when it has none.
    var clientEndpoints: [HTTPDNSEndpoint] {
        if case .resolved(let resolution) = client { resolution.endpoints } else { [] }
    }

    /// The system's addresses with the queried port.
    var systemEndpoints: [HTTPDNSEndpoint] {
        guard case .addresses(let addresses) = system else { return [] }
        return addresses.map { HTTPDNSEndpoint(address: $0, port: port) }
    }

    /// All endpoints without duplicates, the client's first.
    var endpoints: [HTTPDNSEndpoint] {
        var seen: Set<HTTPDNSEndpoint> = []
        return (clientEndpoints + systemEndpoints).filter { seen.insert($0).inserted }
    }

    /// Whether both sides gave an answer, positive or negative.
    var isComparable: Bool {
        switch (client, system) {
        case (.notAsked, _), (.failed, _), (_, .failed): false
        default: true
        }
    }
}
