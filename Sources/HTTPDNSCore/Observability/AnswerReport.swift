package import HTTPDNSPrimitives

/// A readable report on one key of the cache at a moment.
package struct AnswerReport: Sendable {
    /// The name.
    package var host: HTTPDNSName
    /// The families that the query itself named; nil for those of the name's route.
    package var families: HTTPDNSAddress.Families?
    /// The addresses, IPv4 first; empty for a negative answer, and without an answer.
    package var addresses: [HTTPDNSAddress]
    /// The source of the addresses; nil while only a failure is known.
    package var source: HTTPDNSResolver.Resolution.Source?
    /// The provider's name.
    package var provider: String?
    /// The route of the answer.
    package var route: HTTPDNSRoute.Pattern?
    /// The time since the answer was requested; nil without an answer.
    package var age: Duration?
    /// The remaining lifetime; negative for an answer that may only be served as stale.
    package var timeLeft: Duration?
    /// The reason that there are no addresses, for a negative answer.
    package var negative: HTTPDNSResolver.Error.Code?
    /// The failure of the latest lookup since then.
    package var failure: HTTPDNSResolver.Error.Code?
    /// The time until the next lookup after the failure.
    package var retryIn: Duration?
}

extension HTTPDNSResolver {
    /// Returns reports on the usable cached answers, by name. This does not count as a use.
    /// - Parameters:
    ///   - limit: The maximum number. Of more, an arbitrary selection is returned, which is stable as long as the answers stay.
    ///   - patterns: Patterns of the names; nil means all names.
    package func reports(
        limit: Int,
        about patterns: [HTTPDNSRoute.Pattern]? = nil
    ) -> (reports: [AnswerReport], isTruncated: Bool) {
        let now = fixed.timeSource.now()
        var found: [CachedAnswer] = []
        for shard in cache.shards where found.count <= limit {
            // Under the lock only references are copied.
            let answers = shard.state.withLock { $0.table.answers }
            for answer in answers where found.count <= limit && !answer.isSpent(at: now) {
                guard patterns?.contains(where: { $0.contains(answer.host) }) ?? true else { continue }
                found.append(answer)
            }
        }
        let reports = found.prefix(limit).map { $0.report(at: now) }
        return (reports.sorted { $0.order < $1.order }, found.count > limit)
    }

    /// Refreshes cached answers in the background.
    ///
    /// No answer is removed: the cached one is served meanwhile, and also when the refresh fails. Names with a lookup in
    /// flight, or whose providers are in back-off, are skipped.
    /// - Parameters:
    ///   - hosts: Only these names; nil means all.
    ///   - limit: The maximum number of lookups.
    /// - Returns: The number of lookups, and whether there would have been more.
    package func refresh(_ hosts: [HTTPDNSName]?, limit: Int) -> (asked: Int, isTruncated: Bool) {
        let wanted = hosts.map(Set.init)
        let settings = live.current.resolving
        var asked = 0
        for shard in cache.shards {
            for answer in shard.state.withLock({ $0.table.answers }) {
                let key = answer.key
                guard wanted?.contains(key.host) ?? true else { continue }
                guard asked < limit else { return (asked, true) }
                let systemOnly: SystemOnlyReason? = key.isSystemOnly ? .request : nil
                if refresh(inquiry(about: key, systemOnly: systemOnly, by: settings)) { asked += 1 }
            }
        }
        return (asked, false)
    }
}

extension HTTPDNSResolver {
    /// The settings in use, reloads included.
    package var settingsInUse: HTTPDNSResolver.Configuration { live.current.resolving.configuration }

    /// The number of listeners to its events.
    package var listenerCount: Int { observation.broadcast.listenerCount }
}

extension CachedAnswer {
    fileprivate func report(at now: MonotonicTime) -> AnswerReport {
        let header = header
        let isKnown = header.origin != nil
        return AnswerReport(
            host: host,
            families: key.families,
            addresses: addresses,
            source: header.origin?.source,
            provider: header.origin?.provider,
            route: header.origin?.route?.pattern,
            age: isKnown ? now - header.sentAt : nil,
            timeLeft: isKnown ? header.expiresAt - now : nil,
            negative: header.details?.negative?.code,
            failure: header.details?.failure?.error.code,
            retryIn: header.details?.failure.map { max($0.retryAt - now, .zero) }
        )
    }
}

extension AnswerReport {
    fileprivate var order: (String, UInt8, String) {
        (host.description, families?.rawValue ?? 0, source?.description ?? "")
    }
}

extension HTTPDNSMappings {
    /// Returns the layer that has the rule for a key.
    package func origin(of key: HTTPDNSMapping.Key) -> HTTPDNSMapping.Origin {
        index.overlay.rules[key] == nil ? .base : .overlay
    }
}
