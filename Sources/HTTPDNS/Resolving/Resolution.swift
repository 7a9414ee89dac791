public import HTTPDNSPrimitives

/// The addresses of a host, and where they came from.
public struct Resolution: Hashable, Sendable {
    /// Where the addresses came from.
    public struct Source: Hashable, Sendable, CustomStringConvertible {
        /// The word for it in JSON and logs.
        public let description: String

        /// The request named them itself (`pinnedTo`).
        public static let request = Source(description: "request")
        /// A rule of the mappings.
        public static let mapping = Source(description: "mapping")
        /// An HTTP-DNS provider, now or through the cache.
        public static let provider = Source(description: "provider")
        /// The system resolver.
        public static let system = Source(description: "system")
        /// The URL had an address, or `localhost`.
        public static let literal = Source(description: "literal")
    }

    /// Where to connect, in the order in which they are tried. Never empty, and allowed by the address policy.
    public var endpoints: [Endpoint]
    /// Where they came from.
    public var source: Source
    /// The provider's name, for ``Source/provider``.
    public var provider: String?
    /// Whether they came out of the cache.
    public var isCached = false
    /// Whether they are past their time to live.
    public var isStale = false
    /// How long ago they were asked for.
    public var age: Duration = .zero
    /// How long they may still be used; nil means no expiry.
    public var timeToLive: Duration?
    /// The generation of the mappings at the time.
    public var generation: UInt64 = 0
    /// The name at the end of the alias chain, when it differs from the name asked.
    public var canonicalName: HostName?
    /// The name that URL, SNI and certificate take over from a `via` rule with `keep: [host]`; nil in all other cases.
    public var identity: HostName?
    /// The mapping rule that decided, and the chain of `via` names behind it.
    public var rule: AppliedRule?
    /// The route that decided.
    public var route: Route?
    /// Providers that were asked before the one that answered, and how they failed.
    public var failedAttempts: [ProviderAttempt] = []
    /// How long the resolving took.
    public var elapsed: Duration = .zero

    /// Creates a resolution.
    public init(endpoints: [Endpoint], source: Source) {
        self.endpoints = endpoints
        self.source = source
    }
}
