extension HTTPDNSResolver {
    /// The present status of a resolver or a client: states rather than counts of events.
    public struct Status: Hashable, Sendable {
        /// Whether the kill switch has turned everything off.
        public var isSwitchedOff = false
        /// The number of single routes that the kill switch has turned off.
        public var routesSwitchedOff = 0
        /// Whether each provider is in quarantine, by its name.
        public var quarantined: [String: Bool] = [:]
        /// The number of times that newer settings took effect. A resolver alone has no file, and counts none.
        public var reloadsSucceeded = 0
        /// The number of times that settings were read and could not be used.
        public var reloadsFailed = 0
        /// Whether the present content of the settings' source is not in use, because of a mistake in it.
        public var isReloadFailing = false

        /// Requests that were sent to an address of the system resolver after connecting to all of a provider's addresses
        /// failed.
        ///
        /// A resolver alone opens no connections, and counts none, here and below.
        public var connectionFallbacks = 0
        /// Requests for which connecting to the system resolver's addresses failed too.
        public var connectionFallbacksFailed = 0
        /// Requests that used the system resolver immediately, because an earlier request had to fall back.
        public var connectionFallbacksAhead = 0
        /// Hosts that presently use the system resolver for that reason.
        public var fallenBackHosts = 0

        /// Creates the status of a healthy resolver.
        public init() {}
    }
}

extension ObservedResolver {
    /// The status of a healthy resolver.
    public var condition: HTTPDNSResolver.Status { HTTPDNSResolver.Status() }
}

extension HTTPDNSResolver {
    /// The present status: kill switch and providers.
    public var condition: HTTPDNSResolver.Status {
        var condition = HTTPDNSResolver.Status()
        condition.isSwitchedOff = !killSwitch.isOn
        condition.routesSwitchedOff = killSwitch.offs.count { $0.scope != .everything }
        for health in providerHealth {
            if case .quarantined = health.state {
                condition.quarantined[health.name] = true
            } else {
                condition.quarantined[health.name] = false
            }
        }
        return condition
    }
}
