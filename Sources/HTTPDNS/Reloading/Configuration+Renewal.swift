// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSPrimitives

extension HTTPDNSClient.Configuration {
    /// Returns these settings, updated from a source.
    ///
    /// Values that code changed since the source was read keep the code's value, whatever the source contains later.
    /// This applies to single mappings, routes and providers, to single limits of time and of the cache, and to every
    /// other setting as a whole.
    /// - Parameters:
    ///   - old: The settings of the source when these were made.
    ///   - new: The settings of the source now.
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
        take(\.bandwidth)
        take(\.versions)
        take(\.headers)
        take(\.credentials)
        take(\.allowsCleartextCredentials)
        take(\.redirects)
        take(\.retries)
        take(\.retryBudget)
        take(\.mergesIdenticalReads)
        take(\.cookies)
        if responseCaching.isSame(as: old.responseCaching) { renewed.responseCaching = new.responseCaching }
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
        if resolver.mappings == old.resolver.mappings {
            // The usual case: code added nothing, and ten thousand rules are neither walked nor indexed again.
            renewed.resolver.mappings = new.resolver.mappings
            renewed.resolver.indexedMappings = new.resolver.indexedMappings
        } else {
            renewed.resolver.mappings = merged(resolver.mappings, old.resolver.mappings, new.resolver.mappings)
        }
        renewed.resolver.providerLimits =
            merged(resolver.providerLimits, old.resolver.providerLimits, new.resolver.providerLimits)
        renewed.resolver.routes = resolver.routes.renewed(from: old.resolver.routes, to: new.resolver.routes)
        renewed.resolver.providers =
            resolver.providers.renewed(from: old.resolver.providers, to: new.resolver.providers)
        return renewed
    }
}

/// Returns `new`, except for the keys at which `mine` and `old` differ.
private func merged<Key: Hashable, Value: Equatable>(
    _ mine: [Key: Value],
    _ old: [Key: Value],
    _ new: [Key: Value]
) -> [Key: Value] {
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
    /// Code may have kept a provider of the file that another object with the same settings has replaced since.
    fileprivate func renewed(from old: [any HTTPDNSProvider], to new: [any HTTPDNSProvider]) -> [any HTTPDNSProvider] {
        func isSame(_ left: any HTTPDNSProvider, _ right: any HTTPDNSProvider) -> Bool {
            left.name == right.name && left.isEquivalent(to: right)
        }
        let mine = filter { provider in !old.contains { isSame($0, provider) } }
        let gone = Set(old.map(\.name)).subtracting(map(\.name))
        let own = Set(mine.map(\.name)).union(gone)
        return new.filter { !own.contains($0.name) } + mine
    }
}
