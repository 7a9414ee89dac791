extension HTTPDNSResolver.Counters {
    /// The plain numbers by their names, for output. A test compares them with the existing ones.
    package static let named: KeyValuePairs<String, any WritableKeyPath<HTTPDNSResolver.Counters, Int> & Sendable> = [
        "hits": \.hits, "staleHits": \.staleHits, "negativeHits": \.negativeHits, "failureHits": \.failureHits,
        "immediate": \.immediate, "misses": \.misses, "joined": \.joined, "overloaded": \.overloaded,
        "staleServedAfterWait": \.staleServedAfterWait, "policyRefusals": \.policyRefusals,
        "refreshesStarted": \.refreshesStarted, "refreshesSucceeded": \.refreshesSucceeded,
        "refreshesFailed": \.refreshesFailed, "changes": \.changes, "evictions": \.evictions, "restored": \.restored,
        "systemQueries": \.systemQueries, "systemFailures": \.systemFailures, "cacheEntries": \.cacheEntries,
        "cacheBytes": \.cacheBytes, "shadowAgreed": \.shadowAgreed, "shadowDiffered": \.shadowDiffered,
        "shadowFailed": \.shadowFailed, "lastResort": \.lastResort, "switchedOff": \.switchedOff,
        "rolledOut": \.rolledOut, "heldBack": \.heldBack,
    ]

    /// The numbers by their names.
    package var byName: [String: Int] {
        Dictionary(HTTPDNSResolver.Counters.named.map { ($0.key, self[keyPath: $0.value]) }, uniquingKeysWith: { $1 })
    }

    /// Creates counters from numbers by name; unknown names are ignored.
    package init(byName numbers: [String: Int]) {
        self.init()
        for (name, field) in HTTPDNSResolver.Counters.named { self[keyPath: field] = numbers[name] ?? 0 }
    }
}
