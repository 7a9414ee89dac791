internal import HTTPDNS

/// What HTTP-DNS and the system resolver say about one name, and which of it TLS could prove.
struct Comparison: Sendable {
    /// What the requests of the client would use: HTTP-DNS, or a mapping in its place.
    enum ClientAnswer: Sendable {
        case resolved(HTTPDNSResolver.Resolution)
        /// A definite answer without addresses, such as `name not found`.
        case nothing(String)
        /// No provider and no mapping is asked about the name.
        case notAsked(String)
        case failed(CommandFailure)
    }

    /// What the system resolver says, before any policy.
    enum SystemAnswer: Hashable, Sendable {
        case addresses([HTTPDNSAddress])
        /// The system does not know the name, or has no address for it.
        case nothing(String)
        case failed(String)
    }

    /// What came of connecting to one address with the name.
    enum Proof: Hashable, Sendable {
        case verified(Duration)
        /// Whoever is there cannot prove the name, or nobody may be asked there.
        case refused(String)
        /// Nobody answered, which proves nothing.
        case unreachable(String)
    }

    var host: HTTPDNSName
    var port: UInt16
    var client: ClientAnswer
    var system: SystemAnswer
    /// By endpoint; without probes only of those that nobody may dial.
    var proofs: [HTTPDNSEndpoint: Proof] = [:]
    /// Whether proofs were asked for.
    var isProbed = false

    /// The client's endpoints; empty when it has none.
    var clientEndpoints: [HTTPDNSEndpoint] {
        if case .resolved(let resolution) = client { resolution.endpoints } else { [] }
    }

    /// The system's addresses at the port asked about.
    var systemEndpoints: [HTTPDNSEndpoint] {
        guard case .addresses(let addresses) = system else { return [] }
        return addresses.map { HTTPDNSEndpoint(address: $0, port: port) }
    }

    /// All endpoints, each once, the client's first.
    var endpoints: [HTTPDNSEndpoint] {
        var seen: Set<HTTPDNSEndpoint> = []
        return (clientEndpoints + systemEndpoints).filter { seen.insert($0).inserted }
    }

    /// Whether both sides gave an answer, if only that there is none.
    var isComparable: Bool {
        switch (client, system) {
        case (.notAsked, _), (.failed, _), (_, .failed): false
        default: true
        }
    }
}
