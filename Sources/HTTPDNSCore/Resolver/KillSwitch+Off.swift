public import HTTPDNSPrimitives

extension HTTPDNSResolver.KillSwitch {
    /// The extent of an entry in the kill switch.
    public enum Scope: Hashable, Sendable, CustomStringConvertible {
        /// All names.
        case everything
        /// The names that the route with this pattern decides about. Without such a route, the names that it would decide about
        /// if it existed.
        case route(HTTPDNSRoute.Pattern)

        /// `everything`, or the pattern.
        public var description: String {
            switch self {
            case .everything: "everything"
            case .route(let pattern): pattern.description
            }
        }
    }

    /// The origin of an entry in the kill switch.
    public enum Origin: String, Hashable, Sendable, CaseIterable {
        /// The configuration file: `enabled: false`, for everything or for a route.
        case file
        /// The environment variable `HTTPDNS_DISABLED` at start.
        case environment
        /// A call of ``HTTPDNSResolver/KillSwitch/turnOff(_:by:)`` in the program.
        case api
        /// An operator, through the program's socket.
        case socket
    }

    /// An entry of the kill switch: something that is off.
    public struct Off: Hashable, Sendable {
        /// The extent of the entry.
        public var scope: Scope
        /// The origin that turned it off.
        public var origin: Origin
        /// The time it was turned off, on the resolver's clock.
        public var since: MonotonicTime

        /// Creates a record.
        public init(scope: Scope, origin: Origin, since: MonotonicTime) {
            self.scope = scope
            self.origin = origin
            self.since = since
        }
    }
}
