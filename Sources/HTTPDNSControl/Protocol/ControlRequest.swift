package import HTTPDNSCore

/// What a peer asks of a service through its control socket: one line of JSON.
package struct ControlRequest: Hashable, Sendable {
    /// What is to be done.
    package enum Command: Hashable, Sendable {
        /// Say who you are.
        case ping
        /// Say how you are.
        case dump(Selection)
        /// Turn the kill switch, for one route or for everything.
        case turn(isOn: Bool, route: HTTPDNSRoute.Pattern?)
        /// Ask providers anew about these names, or about all that are cached; nothing is forgotten.
        case refresh([HTTPDNSName]?)
        /// Tell everything that happens, with a ``dump(_:)`` at an interval.
        case watch(interval: Duration, Selection)
    }

    /// Which answers and mappings a dump has.
    package struct Selection: Hashable, Sendable {
        /// How many of each at most.
        package var limit: Int
        /// Only those about these names; nil means all.
        package var names: [HTTPDNSRoute.Pattern]?

        package init(limit: Int = Selection.defaultLimit, names: [HTTPDNSRoute.Pattern]? = nil) {
            self.limit = limit
            self.names = names
        }

        /// As many as people look through.
        package static let defaultLimit = 200
        /// How many may be asked for.
        package static let maximumLimit = 2000
    }

    package var command: Command

    package init(_ command: Command) { self.command = command }

    /// The word for the command, as in requests and replies.
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
