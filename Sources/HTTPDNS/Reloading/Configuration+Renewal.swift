internal import HTTPDNSCore
internal import HTTPDNSPrimitives

extension HTTPDNSClient.Configuration {
    /// These settings with what a source says by now.
    ///
    /// What code changed in them since the source was read stays as code has it, whatever the source says later: single
    /// mappings, routes and providers, single limits of time and of the cache, every other setting as a whole.
    /// - Parameters:
    ///   - old: What the source said when these settings were made.
    ///   - new: What it says now.
    package func renewed(from old: Self, to new: Self) -> Self {
        var renewed = self
        func take<Value: Equatable>(_ path: WritableKeyPath<Self, Value>) {
            if self[keyPath: path] == old[keyPath: path] { renewed[keyPath: path] = new[keyPath: path] }
        }
        take(\.isEnabled)
        take(\.trust)
        take(\.trustByHost)
        renewed.trustOrigins = new.trustOrigins
        take(\.maximumRequestsInFlight)
        take(\.maximumResponseBody)
        take(\.versions)
        take(\.headers)
        take(\.redirects)
        take(\.retries)
        take(\.maximumIdleConnections)
        take(\.connections)
        take(\.proxy)
        take(\.unixSocket)
        take(\.reachableNetworks)
        take(\.localSource)
        take(\.timeouts.connect)
        take(\.timeouts.tls)
        take(\.timeouts.firstByte)
        take(\.timeouts.idle)
        take(\.timeouts.responseHead)
        take(\.timeouts.total)
        take(\.resolver.policy.allowed)
        take(\.resolver.policy.denied)
        take(\.resolver.preresolve)
        take(\.resolver.snapshotPath)
        take(\.resolver.families)
        take(\.resolver.internalZones)
        take(\.resolver.hedgeAfter)
        take(\.resolver.attemptLimit)
        take(\.resolver.timeLimit)
        take(\.resolver.systemThreads)
        take(\.resolver.cache.entries)
        take(\.resolver.cache.bytes)
        take(\.resolver.cache.minimumTimeToLive)
        take(\.resolver.cache.maximumTimeToLive)
        take(\.resolver.cache.systemTimeToLive)
        take(\.resolver.cache.staleLimit)
        take(\.resolver.cache.staleAfter)
        take(\.resolver.cache.refreshesAhead)
        renewed.resolver.mappings = merged(resolver.mappings, old.resolver.mappings, new.resolver.mappings)
        renewed.resolver.providerLimits =
            merged(resolver.providerLimits, old.resolver.providerLimits, new.resolver.providerLimits)
        renewed.resolver.routes = resolver.routes.renewed(from: old.resolver.routes, to: new.resolver.routes)
        renewed.resolver.providers =
            resolver.providers.renewed(from: old.resolver.providers, to: new.resolver.providers)
        return renewed
    }
}

/// `new`, but for the keys at which `mine` and `old` differ.
private func merged<Key: Hashable, Value: Equatable>(
    _ mine: [Key: Value],
    _ old: [Key: Value],
    _ new: [Key: Value]
) -> [Key: Value] {
    // The usual case: code added nothing, and ten thousand rules need no walk.
    if mine == old { return new }
    var merged = new
    for (key, value) in mine where old[key] != value { merged[key] = value }
    for key in old.keys where mine[key] == nil { merged[key] = nil }
    return merged
}

extension [HTTPDNSRoute] {
    fileprivate func renewed(from old: [HTTPDNSRoute], to new: [HTTPDNSRoute]) -> [HTTPDNSRoute] {
        if self == old { return new }
        let mine = filter { !old.contains($0) }
        let gone = Set(old.map(\.pattern)).subtracting(map(\.pattern))
        let own = Set(mine.map(\.pattern)).union(gone)
        return new.filter { !own.contains($0.pattern) } + mine
    }
}

extension [any HTTPDNSProvider] {
    /// Providers cannot be compared but for being the same object.
    fileprivate func renewed(from old: [any HTTPDNSProvider], to new: [any HTTPDNSProvider]) -> [any HTTPDNSProvider] {
        func isSame(_ left: any HTTPDNSProvider, _ right: any HTTPDNSProvider) -> Bool {
            left.name == right.name && (left as AnyObject) === (right as AnyObject)
        }
        let mine = filter { provider in !old.contains { isSame($0, provider) } }
        let gone = Set(old.map(\.name)).subtracting(map(\.name))
        let own = Set(mine.map(\.name)).union(gone)
        return new.filter { !own.contains($0.name) } + mine
    }
}
