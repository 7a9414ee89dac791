public import HTTPDNSPrimitives

/// What one rule of the mappings says about a host.
public struct HTTPDNSMapping: Hashable, Sendable {
    /// An address with its share of the requests.
    public struct Target: Hashable, Sendable {
        /// The address to dial.
        public var address: HTTPDNSAddress
        /// The port to dial; nil means the URL's.
        public var port: UInt16?
        /// The share of the requests, 1 to 1,000,000; it counts against the sum of all. `nil` means that the rule has no
        /// weights: its addresses are tried in the given order. Either all addresses of a rule have a weight, or none has.
        public var weight: Int?

        /// Creates a target.
        public init(_ address: HTTPDNSAddress, port: UInt16? = nil, weight: Int? = nil) {
            self.address = address
            self.port = port
            self.weight = weight
        }
    }

    /// What the rule does.
    public enum Action: Hashable, Sendable {
        /// Dial one of these: in the given order, or, if they have weights, each first as often as its weight says. Equal
        /// weights share equally.
        case addresses([Target])
        /// Dial the addresses of another name, found by that name's own mapping or route. Host, SNI and certificate stay
        /// those of the request, unless `takesIdentity`: then URL, SNI and certificate name are those of the other name
        /// and only the Host field stays.
        case via(HTTPDNSName, takesIdentity: Bool)
        /// Ask the system resolver.
        case bypass
        /// Go the name's way as if there were no rule. Only when the route's providers, stale answers and the system
        /// resolver have no address, dial these.
        case lastResort([Target])
    }

    package enum Content: Hashable, Sendable {
        case action(Action)
        /// A factory below got text that it could not read; ``HTTPDNSMappingStore/apply(_:)`` throws this.
        case invalid(String)
    }

    package var content: Content
    /// How long a resolution from this rule is used before the rule is asked again; nil means until the rule changes.
    public var timeToLive: Duration?
    /// Where the rule was written.
    public var location: HTTPDNSSourceLocation?

    /// Creates a rule.
    public init(_ action: Action, timeToLive: Duration? = nil, location: HTTPDNSSourceLocation? = nil) {
        content = .action(action)
        self.timeToLive = timeToLive
        self.location = location
    }

    /// What the rule does; nil while it holds text that could not be read.
    public var action: Action? {
        if case .action(let action) = content { action } else { nil }
    }
}
