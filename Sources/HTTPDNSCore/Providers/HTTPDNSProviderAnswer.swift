public import HTTPDNSPrimitives

/// The answer of a provider: one outcome for each family of the query.
public struct HTTPDNSProviderAnswer: Hashable, Sendable {
    /// The outcome for IPv4; nil when it was not queried.
    public var v4: HTTPDNSProviderAnswer.Family?
    /// The outcome for IPv6; nil when it was not queried.
    public var v6: HTTPDNSProviderAnswer.Family?
    /// The outcome for records of type HTTPS; nil when they were not queried, or the provider cannot query them.
    public var services: HTTPDNSProviderAnswer.HTTPSRecords?
    /// Whether the service reported for every family that its answer is valid for all clients (a scope prefix length of 0, RFC
    /// 7871 section 7.3.1).
    ///
    /// Queries with other client subnets share such an answer.
    public var holdsForAllClients = false

    /// Creates an answer.
    public init(v4: HTTPDNSProviderAnswer.Family? = nil, v6: HTTPDNSProviderAnswer.Family? = nil) {
        self.v4 = v4
        self.v6 = v6
    }

    /// Creates the answer to a query from all addresses of the name.
    /// - Parameters:
    ///   - addresses: The addresses of both families, in the order of preference. A family without any is "no data". Nil means
    ///     that the name does not exist.
    ///   - timeToLive: The lifetime of the answer, also where it has no addresses.
    ///   - query: The query; other families than its own are left out.
    public init(_ addresses: [HTTPDNSAddress]?, timeToLive: Duration, to query: HTTPDNSProviderQuery) {
        func outcome(_ family: HTTPDNSAddress.Family) -> HTTPDNSProviderAnswer.Family {
            guard let addresses else { return .nameError(timeToLive: timeToLive) }
            let own = addresses.filter { $0.family == family }
            return own.isEmpty
                ? .noData(timeToLive: timeToLive) : .addresses(own, timeToLive: timeToLive, canonicalName: nil)
        }
        if query.families.contains(.v4) { v4 = outcome(.v4) }
        if query.families.contains(.v6) { v6 = outcome(.v6) }
    }
}

extension HTTPDNSProviderAnswer {
    /// The outcome for one family.
    public enum Family: Hashable, Sendable {
        /// At least one address, owned by the last name of a loop-free alias chain from the queried name.
        ///
        /// The time to live is the least of the whole chain, less the HTTP response's Age, before the resolver's own limits.
        case addresses([HTTPDNSAddress], timeToLive: Duration, canonicalName: HTTPDNSName?)
        /// The name exists without addresses of this family. A nil time to live means that the provider gave none.
        case noData(timeToLive: Duration?)
        /// The name does not exist (NXDOMAIN).
        case nameError(timeToLive: Duration?)
        /// This family failed; the other may be valid. Never cached as "no such name".
        case failed(HTTPDNSProviderError)
    }
}
