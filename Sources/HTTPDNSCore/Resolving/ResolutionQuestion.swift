public import HTTPDNSPrimitives

extension HTTPDNSResolver {
    /// One question to a resolver.
    public struct Query: Hashable, Sendable {
        /// The host to connect to.
        public var host: HTTPDNSHost
        /// The URL's port.
        public var port: UInt16
        /// Endpoints that the request itself names; they win over everything else. Nil and empty mean none.
        public var pinnedTo: [HTTPDNSEndpoint]?
        /// Whether mappings, routes, providers and the answers cached from them are passed over: the system resolver answers,
        /// and only its own answers are cached (``HTTPDNSResolver/Configuration/Cache/systemTimeToLive``). ``pinnedTo``,
        /// literals and `localhost` are decided before it.
        public var bypass = false
        /// The families allowed; nil means the route's or the resolver's setting.
        public var families: HTTPDNSAddress.Families?
        /// The network on whose behalf is asked, for answers close to it (RFC 7871); nil means the route's setting. Answers
        /// for different networks are kept apart.
        public var clientSubnet: HTTPDNSAddressBlock?
        /// What places the question in a rollout by key (``HTTPDNSRoute/Rollout/Stickiness/key``), such as a user's number;
        /// nil means the host's name. It has no say in anything else, and is kept nowhere.
        public var rolloutKey: String?
        /// How long it may take; nil means the resolver's setting, and never more than that.
        public var timeLimit: Duration?
        /// A cached answer that was asked for before this moment, on the resolver's clock, is not good enough: it serves only
        /// when asking anew brings nothing. Mappings, literals and ``pinnedTo`` are as they are.
        package var freshAfter: MonotonicTime?

        /// Creates a question about a host on a port.
        public init(_ host: HTTPDNSHost, port: UInt16) {
            self.host = host
            self.port = port
        }
    }
}
