public import HTTPDNSCore

extension HTTPDNSClient: ObservedResolver {
    /// What its resolver did up to now.
    public var counters: HTTPDNSResolver.Counters { resolver.counters }

    /// What happens to its resolver from now on.
    public var events: HTTPDNSResolver.Events { resolver.events }

    /// How it stands: switch, providers, connections that fell back, and the reloads of its settings.
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
