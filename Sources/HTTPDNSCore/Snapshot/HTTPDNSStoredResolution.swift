public import HTTPDNSPrimitives

/// A positive answer as it is kept outside of the process, with calendar times: no other clock is valid across processes.
public struct HTTPDNSStoredResolution: Hashable, Sendable {
    /// The queried name.
    public var host: HTTPDNSName
    /// The queried families; all ``addresses`` are of these.
    public var families: HTTPDNSAddress.Families
    /// A text that identifies the source of the answer: the route's pattern and its providers.
    ///
    /// An answer whose route the settings no longer contain is not used.
    public var route: String
    /// The client network of the query (RFC 7871); nil when none was sent.
    public var clientSubnet: HTTPDNSAddressBlock?
    /// The addresses, in the answer's order; at least one.
    public var addresses: [HTTPDNSAddress]
    /// The name of the provider that answered.
    public var provider: String
    /// The most private scope that the provider was allowed to answer at that time; nil when that is not known.
    public var providerScope: HTTPDNSAddressPolicy.Scope?
    /// The name at the end of the alias chain; nil when the answer had no alias.
    public var canonicalName: HTTPDNSName?
    /// The time the query was sent, in milliseconds since 1970-01-01 00:00 UTC.
    public var receivedAt: Int64
    /// The lifetime of the answer from then on. Stores keep whole nanoseconds.
    public var timeToLive: Duration

    /// Creates a stored answer. Nothing is checked; stores leave out invalid answers.
    public init(
        host: HTTPDNSName,
        families: HTTPDNSAddress.Families,
        route: String,
        clientSubnet: HTTPDNSAddressBlock? = nil,
        addresses: [HTTPDNSAddress],
        provider: String,
        providerScope: HTTPDNSAddressPolicy.Scope? = nil,
        canonicalName: HTTPDNSName? = nil,
        receivedAt: Int64,
        timeToLive: Duration
    ) {
        self.host = host
        self.families = families
        self.route = route
        self.clientSubnet = clientSubnet
        self.addresses = addresses
        self.provider = provider
        self.providerScope = providerScope
        self.canonicalName = canonicalName
        self.receivedAt = receivedAt
        self.timeToLive = timeToLive
    }
}

extension HTTPDNSStoredResolution {
    /// The key of a stored answer; there is one answer for each.
    struct Key: Hashable {
        let host: HTTPDNSName
        let families: HTTPDNSAddress.Families
        let route: String
        let clientSubnet: HTTPDNSAddressBlock?
    }

    var key: Key { Key(host: host, families: families, route: route, clientSubnet: clientSubnet) }

    /// Returns the newest answer for each key, newest first, `limit` at most.
    static func freshest(of resolutions: [HTTPDNSStoredResolution], limit: Int) -> [HTTPDNSStoredResolution] {
        // Answers of the same time keep their order, so that the result does not depend on the sorting algorithm.
        let sorted = resolutions.enumerated().sorted { left, right in
            (right.element.receivedAt, left.offset) < (left.element.receivedAt, right.offset)
        }
        var seen: Set<Key> = []
        var freshest: [HTTPDNSStoredResolution] = []
        for (_, resolution) in sorted {
            guard freshest.count < limit else { break }
            if seen.insert(resolution.key).inserted { freshest.append(resolution) }
        }
        return freshest
    }
}
