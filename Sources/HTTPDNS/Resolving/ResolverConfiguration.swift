public import HTTPDNSPrimitives
public import Logging

/// Settings of a resolver.
public struct ResolverConfiguration: Sendable {
    /// Limits of the cache.
    public struct Cache: Hashable, Sendable {
        /// How many names are kept, at least 1.
        public var entries: Int = 4096
        /// The least time that a positive answer is kept, whatever its own time to live.
        public var minimumTimeToLive: Duration = .zero
        /// The longest time that a positive answer is kept.
        public var maximumTimeToLive: Duration = .seconds(3600)

        /// Creates the default limits.
        public init() {}
    }

    /// The providers that routes may name.
    public var providers: [any Provider] = []
    /// Who is asked about which names; a name without a route is bypassed to the system resolver.
    public var routes: [Route] = []
    /// The first set of mappings.
    public var mappings: [MappingKey: HostMapping] = [:]
    /// Which addresses may be dialled.
    public var policy = AddressPolicy()
    /// Limits of the cache.
    public var cache = Cache()
    /// The families asked for.
    public var families: AddressFamilies = .both
    /// How long one resolution may take in all.
    public var timeLimit: Duration = .seconds(3)
    /// The clock.
    public var timeSource: any TimeSource = SystemTimeSource()
    /// Where log lines go; nil means nowhere.
    public var logger: Logger?

    /// Creates settings with the defaults above: no providers, no routes, no mappings.
    public init() {}
}
