public import HTTPDNSPrimitives

/// A rule of the mappings for one host or suffix.
public struct HTTPDNSMapping: Hashable, Sendable {
    /// An address with its share of the requests.
    public struct Target: Hashable, Sendable {
        /// The address to dial.
        public var address: HTTPDNSAddress
        /// The port to dial; nil means the port of the URL.
        public var port: UInt16?
        /// The share of the requests, 1 to 1,000,000, relative to the sum of all weights.
        ///
        /// `nil` means that the rule has no weights: its addresses are tried in the given order. Either all addresses of a rule
        /// have a weight, or none has.
        public var weight: Int?

        /// Creates a target.
        public init(_ address: HTTPDNSAddress, port: UInt16? = nil, weight: Int? = nil) {
            self.address = address
            self.port = port
            self.weight = weight
        }
    }

    /// The effect of a rule.
    public enum Action: Hashable, Sendable {
        /// Dials one of these addresses: in the given order, or, with weights, each first as often as its weight requires.
        ///
        /// Addresses with equal weights get equal shares.
        case addresses([Target])
        /// Dials the addresses of another name, found by that name's own mapping or route.
        ///
        /// Host, SNI and certificate name stay those of the request. With `takesIdentity`, URL, SNI and certificate name are
        /// those of the other name and only the Host field stays.
        case via(HTTPDNSName, takesIdentity: Bool)
        /// Queries the system resolver.
        case bypass
        /// Resolves the name as if there were no rule.
        ///
        /// These addresses are dialed only when the route's providers, stale answers and the system resolver have no address.
        case lastResort([Target])
    }

    package enum Content: Hashable, Sendable {
        case action(Action)
        /// A factory below got text that it could not parse; ``HTTPDNSMappingStore/apply(_:)`` throws this.
        case invalid(String)
    }

    package var content: Content
    /// The time a resolution from this rule is used before the rule is read again; nil means until the rule changes.
    public var timeToLive: Duration?
    /// The position of the rule in its source.
    public var location: HTTPDNSSourceLocation?

    /// Creates a rule.
    public init(_ action: Action, timeToLive: Duration? = nil, location: HTTPDNSSourceLocation? = nil) {
        content = .action(action)
        self.timeToLive = timeToLive
        self.location = location
    }

    /// The effect of the rule; nil while it holds text that could not be parsed.
    public var action: Action? {
        if case .action(let action) = content { action } else { nil }
    }
}
