// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// A query that the request, literals and mappings left open: the key to look up in the cache, and the source otherwise.
struct CacheLookup: Sendable {
    /// The key. Its name is the query's own, or the one at the end of its `via` rules.
    var key: CacheKey
    /// The reason that the system resolver is queried, unless the name's route decides.
    var systemOnly: SystemOnlyReason?
    var generation: UInt64
    /// The mapping rule that applied.
    var mappingTrace: MappingTrace?
    /// The counts to add for it.
    var counts: [OccurrenceCount] = []
    /// The kill switch entry, for ``SystemOnlyReason/switchedOff``.
    var switchedOff: HTTPDNSResolver.KillSwitch.Entry?
    /// The key of the query to the providers whose answer is to be compared.
    var shadow: CacheKey?

    var host: HTTPDNSName { key.host }
}

/// The effect of the mapping rules that led to a name.
final class MappingTrace: Sendable {
    let mapping: HTTPDNSResolver.AppliedMapping
    /// The name whose `via` rules lead to another one; nil without such rules.
    let queriedName: HTTPDNSName?
    let identity: HTTPDNSName?
    /// The shortest time to live of the rules.
    let timeToLive: Duration?
    /// The addresses for the case that no source has one; empty without such a rule.
    let lastResort: [HTTPDNSMapping.Target]
    /// Whether results are the same as without a rule, as long as a source has addresses.
    var isSilent: Bool { !lastResort.isEmpty && mapping.via.isEmpty }

    init(
        mapping: HTTPDNSResolver.AppliedMapping,
        queriedName: HTTPDNSName?,
        identity: HTTPDNSName?,
        timeToLive: Duration?,
        lastResort: [HTTPDNSMapping.Target] = []
    ) {
        self.mapping = mapping
        self.queriedName = queriedName
        self.identity = identity
        self.timeToLive = timeToLive
        self.lastResort = lastResort
    }
}

/// The steps after a query has its answer, from whichever source.
extension HTTPDNSResolver {
    /// Counts the source, compares in shadow mode, and records the reason that no provider was queried.
    func concluded(_ resolution: HTTPDNSResolver.Resolution, _ name: CacheLookup, by settings: LiveSettings)
        -> HTTPDNSResolver.Resolution
    {
        for count in name.counts { counting.count(count) }
        compare(name, withSystem: .addresses(Set(resolution.endpoints.map(\.address))), by: settings)
        guard name.systemOnly != nil else { return resolution }
        var resolution = resolution
        resolution.reason = name.systemOnly
        if let entry = name.switchedOff { resolution.switchedOff = entry }
        return resolution
    }

    /// Returns addresses of last resort, if a rule has some, after every source failed.
    /// - Throws: The failure, when there are none.
    func lastResort(
        after error: HTTPDNSResolver.Error,
        _ name: CacheLookup,
        _ question: HTTPDNSResolver.Query,
        by settings: LiveSettings
    ) throws(HTTPDNSResolver.Error) -> HTTPDNSResolver.Resolution {
        if error.code == .shutDown { throw error }
        for count in name.counts { counting.count(count) }
        let isDefinite = error.code == .nameNotFound || error.code == .noAddresses
        compare(name, withSystem: isDefinite ? .nothing : .failed, by: settings)
        let entry = name.systemOnly == nil ? settings.resolving.routes.entry(for: name.host) : nil
        let route = entry?.counting ?? counting.unrouted
        guard let mappingTrace = name.mappingTrace, !mappingTrace.lastResort.isEmpty else {
            route.countFailure(error.code)
            throw error
        }
        let endpoints = WeightedOrder.arrange(mappingTrace.lastResort, random: random).map {
            HTTPDNSEndpoint(address: $0.address, port: $0.port ?? question.port)
        }
        guard var resolution = try? settle(endpoints, .lastResort, question, by: settings) else {
            route.countFailure(error.code)
            throw error
        }
        var mapping = mappingTrace.mapping
        mapping.targets = mappingTrace.lastResort
        resolution.mapping = mapping
        resolution.identity = mappingTrace.identity
        // As short as the first back-off after a failure: as soon as a source answers again, its addresses are used.
        resolution.timeToLive = Lifetimes.backoff(afterFailures: 1)
        resolution.failedAttempts = error.attempts
        counting.count(.lastResort)
        return resolution
    }
}
