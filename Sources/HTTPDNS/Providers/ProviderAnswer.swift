public import HTTPDNSPrimitives

/// What a provider said, one outcome for each family that was asked for.
public struct ProviderAnswer: Hashable, Sendable {
    /// The outcome for IPv4; nil when it was not asked for.
    public var v4: FamilyAnswer?
    /// The outcome for IPv6; nil when it was not asked for.
    public var v6: FamilyAnswer?
    /// The outcome for records of type HTTPS; nil when they were not asked for, or the provider cannot ask for them.
    public var services: ServiceAnswer?

    /// Creates an answer.
    public init(v4: FamilyAnswer? = nil, v6: FamilyAnswer? = nil) {
        self.v4 = v4
        self.v6 = v6
    }
}

/// The outcome for one family.
public enum FamilyAnswer: Hashable, Sendable {
    /// At least one address, owned by the end of one loop-free alias chain from the name asked. The time to live is the
    /// least of the whole chain, with the HTTP response's Age taken off, before the resolver's own limits.
    case addresses([IPAddress], timeToLive: Duration, canonicalName: HostName?)
    /// The name exists without addresses of this family. A nil time to live means that the provider gave none.
    case noData(timeToLive: Duration?)
    /// The name does not exist (NXDOMAIN).
    case nameError(timeToLive: Duration?)
    /// This family failed; the other may be good. Never cached as "no such name".
    case failed(ProviderError)
}
