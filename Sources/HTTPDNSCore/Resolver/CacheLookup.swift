internal import HTTPDNSPrimitives

/// A query that the request, literals and mappings left open: the key to look up in the cache, and the source otherwise.
struct CacheLookup: Sendable {
    /// The key. Its name is the query's own, or the one at the end of its `via` rules.
    var key: CacheKey
    /// The reason that the system resolver is queried, unless the name's route decides.
    var bypass: BypassReason?
    var generation: UInt64
    /// The mapping rule that applied.
    var passage: MappingTrace?
    /// The counts to add for it.
    var counts: [OccurrenceCount] = []
    /// The kill switch entry, for ``BypassReason/switchedOff``.
    var off: HTTPDNSResolver.KillSwitch.Off?
    /// The key of the query to the providers whose answer is to be compared.
    var shadow: CacheKey?

    var host: HTTPDNSName { key.host }
}

/// The effect of the mapping rules that led to a name.
final class MappingTrace: Sendable {
    let rule: HTTPDNSResolver.AppliedMapping
    let identity: HTTPDNSName?
    /// The shortest time to live of the rules.
    let timeToLive: Duration?
    /// The addresses for the case that no source has one; empty without such a rule.
    let lastResort: [HTTPDNSMapping.Target]
    /// Whether results are the same as without a rule, as long as a source has addresses.
    var isSilent: Bool { !lastResort.isEmpty && rule.via.isEmpty }

    init(
        rule: HTTPDNSResolver.AppliedMapping,
        identity: HTTPDNSName?,
        timeToLive: Duration?,
        lastResort: [HTTPDNSMapping.Target] = []
    ) {
        self.rule = rule
        self.identity = identity
        self.timeToLive = timeToLive
        self.lastResort = lastResort
    }
}
