package import HTTPDNSCore

/// A request to a service through its control socket: one line of JSON.
package struct ControlRequest: Hashable, Sendable {
    /// The command of a request.
    package enum Command: Hashable, Sendable {
        /// Return the identity of the service.
        case ping
        /// Return the state of the service.
        case dump(Selection)
        /// Turn the kill switch, for one route or for everything.
        case turn(isOn: Bool, route: HTTPDNSRoute.Pattern?)
        /// Refresh these names, or all cached ones; no answer is removed.
        case refresh([HTTPDNSName]?)
        /// Report every event, with a ``dump(_:)`` at an interval.
        case watch(interval: Duration, Selection)
    }

    /// The answers and mappings in a dump.
    package struct Selection: Hashable, Sendable {
        /// The maximum number of each.
        package var limit: Int
        /// The patterns of the names; nil means all names.
        package var names: [HTTPDNSRoute.Pattern]?

        package init(limit: Int = Selection.defaultLimit, names: [HTTPDNSRoute.Pattern]? = nil) {
            self.limit = limit
            self.names = names
        }

        /// The default limit, fit for reading on a terminal.
        package static let defaultLimit = 200
        /// The maximum limit.
        package static let maximumLimit = 2000
    }

    package var command: Command

    package init(_ command: Command) { self.command = command }

    /// The name of the command in requests and replies.
    package var word: String {
        switch command {
        case .ping: "ping"
        case .dump: "dump"
        case .turn: "switch"
        case .refresh: "refresh"
        case .watch: "watch"
        }
    }
}
