extension HTTPDNSResolver {
    /// How a resolver, or a client, stands at a moment: what is no count of things that happened.
    public struct Status: Hashable, Sendable {
        /// Whether the kill switch has everything off.
        public var isSwitchedOff = false
        /// How many single routes it has off.
        public var routesSwitchedOff = 0
        /// Whether each provider is in quarantine, by its name.
        public var quarantined: [String: Bool] = [:]
        /// How often newer settings took effect. A resolver by itself has no file, and counts none.
        public var reloadsSucceeded = 0
        /// How often settings that were read could not be used.
        public var reloadsFailed = 0
        /// Whether what the settings' source says now is not in use, because of a mistake in it.
        public var isReloadFailing = false

        /// Requests that were sent to an address of the system resolver after none of a provider's could be connected to. A
        /// resolver by itself connects to nothing, and counts none, here and below.
        public var connectionFallbacks = 0
        /// Requests for which the system resolver's addresses could not be connected to either.
        public var connectionFallbacksFailed = 0
        /// Requests that took the system path at once, because one before them had to fall back.
        public var connectionFallbacksAhead = 0
        /// Hosts that take the system path at present, for that reason.
        public var fallenBackHosts = 0

        /// Creates the condition of a resolver with which all is well.
        public init() {}
    }
}

extension ObservedResolver {
    /// All is well.
    public var condition: HTTPDNSResolver.Status { HTTPDNSResolver.Status() }
}

extension HTTPDNSResolver {
    /// How it stands: switch and providers.
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
