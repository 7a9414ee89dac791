public import HTTPDNSCore

extension HTTPDNSClient: ObservedResolver {
    /// The counters of the resolver since the client was made.
    public var counters: HTTPDNSResolver.Counters { resolver.counters }

    /// The events of the resolver from now on.
    public var events: HTTPDNSResolver.Events { resolver.events }

    /// The status: switch, providers, connections that fell back, and the reloads of the settings.
    public var condition: HTTPDNSResolver.Status {
        var condition = resolver.condition
        let reloads = reloads
        condition.reloadsSucceeded = Int(clamping: reloads.successes)
        condition.reloadsFailed = Int(clamping: reloads.failures)
        let connecting = connectionCounters
        condition.connectionFallbacks = connecting.fallbacks
        condition.connectionFallbacksFailed = connecting.fallbacksFailed
        condition.connectionFallbacksAhead = connecting.fallbacksAhead
        condition.fallenBackHosts = connecting.fallenBackHosts
        condition.isReloadFailing = reloads.failure != nil
        return condition
    }
}
