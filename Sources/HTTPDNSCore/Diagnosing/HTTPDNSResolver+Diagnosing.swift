internal import HTTPDNSPrimitives

extension HTTPDNSResolver {
    /// What is cached now and could serve, by name. Looking at it does not count as a use.
    /// - Parameters:
    ///   - limit: How many at most. Which ones, when there are more, is not said; it is the same ones as long as they stay.
    ///   - patterns: Only the names of these; nil means all.
    package func reports(
        limit: Int,
        about patterns: [HTTPDNSRoute.Pattern]? = nil
    ) -> (reports: [AnswerReport], isTruncated: Bool) {
        let now = fixed.timeSource.now()
        var found: [CachedAnswer] = []
        for shard in cache.shards where found.count <= limit {
            // Under the lock references are copied, and nothing else.
            let answers = shard.state.withLock { $0.table.answers }
            for answer in answers where found.count <= limit && !answer.isSpent(at: now) {
                guard patterns?.contains(where: { $0.contains(answer.host) }) ?? true else { continue }
                found.append(answer)
            }
        }
        let reports = found.prefix(limit).map { $0.report(at: now) }
        return (reports.sorted { $0.order < $1.order }, found.count > limit)
    }

    /// Asks anew about names that are cached, in the background. Nothing is forgotten: what is cached serves meanwhile, and
    /// goes on serving when asking fails. A name that is asked about already, or whose providers rest, is passed over.
    /// - Parameters:
    ///   - hosts: Only these names; nil means all.
    ///   - limit: How many questions at most.
    /// - Returns: How many questions there are, and whether there would have been more.
    package func refresh(_ hosts: [HTTPDNSName]?, limit: Int) -> (asked: Int, isTruncated: Bool) {
        let wanted = hosts.map(Set.init)
        let settings = live.current.resolving
        var asked = 0
        for shard in cache.shards {
            for answer in shard.state.withLock({ $0.table.answers }) {
                let key = answer.key
                guard wanted?.contains(key.host) ?? true else { continue }
                guard asked < limit else { return (asked, true) }
                let bypass: BypassReason? = key.isBypass ? .request : nil
                if refresh(inquiry(about: key, bypass: bypass, by: settings)) { asked += 1 }
            }
        }
        return (asked, false)
    }
}

extension HTTPDNSResolver {
    /// The settings in use, reloads included.
    package var settingsInUse: HTTPDNSResolver.Configuration { live.current.resolving.configuration }

    /// How many listen to its events.
    package var listenerCount: Int { observation.broadcast.listenerCount }
}

extension CachedAnswer {
    fileprivate func report(at now: MonotonicTime) -> AnswerReport {
        let header = header
        let isKnown = header.origin != nil
        return AnswerReport(
            host: host,
            families: key.families,
            addresses: (0..<addressCount).map(address(at:)),
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
    /// Which set the rule for a key is in.
    package func origin(of key: HTTPDNSMapping.Key) -> HTTPDNSMapping.Origin {
        index.overlay.rules[key] == nil ? .base : .overlay
    }
}
