public import HTTPDNSPrimitives

extension HTTPDNSResolver.KillSwitch {
    /// What is turned off.
    public enum Scope: Hashable, Sendable, CustomStringConvertible {
        /// All names.
        case everything
        /// The names that the route with this pattern decides about; without such a route, those that it would decide
        /// about if it were there.
        case route(HTTPDNSRoute.Pattern)

        /// `everything`, or the pattern.
        public var description: String {
            switch self {
            case .everything: "everything"
            case .route(let pattern): pattern.description
            }
        }
    }

    /// Who has turned something off.
    public enum Origin: String, Hashable, Sendable, CaseIterable {
        /// The configuration file: `enabled: false`, of the whole or of a route.
        case file
        /// The environment variable `HTTPDNS_DISABLED` at start.
        case environment
        /// A call of ``HTTPDNSResolver/KillSwitch/turnOff(_:by:)`` in the program.
        case api
        /// An operator, through the program's socket.
        case socket
    }

    /// Something that is off.
    public struct Off: Hashable, Sendable {
        /// What is off.
        public var scope: Scope
        /// Who turned it off.
        public var origin: Origin
        /// Since when, on the resolver's clock.
        public var since: MonotonicTime

        /// Creates a record.
        public init(scope: Scope, origin: Origin, since: MonotonicTime) {
            self.scope = scope
            self.origin = origin
            self.since = since
        }
    }
}
