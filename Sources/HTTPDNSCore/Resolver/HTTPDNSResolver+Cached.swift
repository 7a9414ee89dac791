// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

// The queries that are answered without a wait, most of them by the cached answer alone.
extension HTTPDNSResolver {
    /// Returns the answer if it needs no wait; else nil.
    ///
    /// It needs none when it is pinned, literal, mapped to addresses, fresh in the cache, or stale while no provider may be
    /// queried. A use shortly before the end of an answer's lifetime starts a refresh in the background.
    /// - Parameter hasMissed: Whether ``cached(_:port:)`` has just returned nil for the same query.
    /// - Throws: ``HTTPDNSResolver/Error`` for an address that the policy refuses, or a cached negative answer or failure.
    package func cached(
        _ query: HTTPDNSResolver.Query,
        hasMissed: Bool = false
    ) throws(HTTPDNSResolver.Error) -> HTTPDNSResolver.Resolution? {
        if !hasMissed, let resolution = directHit(query) { return resolution }
        switch try decide(query, by: live.current) {
        case .settled(let resolution):
            if let count = AnswerCount.immediate(resolution.source) { counting.count(count) }
            return resolution
        case .lookFor(let lookup):
            return try lookup.cached()
        }
    }

    /// Returns a fresh cached answer that alone decides the query, or the addresses of a rule that do: the path of most queries.
    ///
    /// For an answer it reads the version of the settings, and not the settings themselves: ``DirectUse`` was recorded with the answer under
    /// that version.
    /// - Returns: Nil in all other cases.
    private func directHit(_ query: HTTPDNSResolver.Query) -> HTTPDNSResolver.Resolution? {
        guard case .name(let host) = query.host, query.freshAfter == nil, query.addresses.isEmpty,
            query.families?.intersection(.both).isEmpty != true,
            // Requests of a client have no client subnet of their own.
            query.usesSystemResolver || query.clientSubnet == nil
        else { return nil }
        return directHit(
            host,
            port: query.port,
            families: query.families,
            systemOnly: query.usesSystemResolver,
            hasRolloutKey: query.rolloutKey != nil
        )
    }

    /// Returns a fresh cached answer or addresses of a rule that alone decide a query with nothing but a name and a port; nil in
    /// all other cases.
    package func cached(_ host: HTTPDNSName, port: UInt16) -> HTTPDNSResolver.Resolution? {
        directHit(host, port: port, families: nil, systemOnly: false, hasRolloutKey: false)
    }

    private func directHit(
        _ host: HTTPDNSName,
        port: UInt16,
        families: HTTPDNSAddress.Families?,
        systemOnly: Bool,
        hasRolloutKey: Bool
    ) -> HTTPDNSResolver.Resolution? {
        let version = live.word
        guard killSwitch.isFullyOn, !live.isClosed else { return nil }
        guard
            let (answer, use) = cache.findForDirectUse(
                host,
                families: families,
                isSystemOnly: systemOnly,
                under: version
            ),
            !use.dependsOnKey || !hasRolloutKey
        else { return systemOnly ? nil : mappedHit(host, port: port, families: families) }
        let now = fixed.timeSource.coarseNow()
        guard answer.isFresh(at: now), now < answer.refreshAt, let origin = answer.directOrigin else { return nil }
        origin.counters.increment(AnswerCount.hit(fromSystem: origin.source == .system, isStale: false).rawValue)
        if use.countsRollout { counting.count(.rolledOut) }
        let life = answer.expiresAt.nanoseconds(since: now)
        let age = max(now.nanoseconds(since: answer.sentAt), 0)
        // The last use of the answer, which is moved and not copied.
        var resolution = HTTPDNSResolver.Resolution(
            .cached(answer, port: port),
            source: origin.source,
            life: life,
            age: age
        )
        resolution.isCached = true
        resolution.generation = version.generation
        if systemOnly { resolution.reason = .request }
        return resolution
    }

    /// Returns the addresses of a rule for exactly this name, which are the same for each query; nil in all other cases.
    private func mappedHit(
        _ host: HTTPDNSName,
        port: UInt16,
        families: HTTPDNSAddress.Families?
    ) -> HTTPDNSResolver.Resolution? {
        let settings = live.current
        guard !host.isLocalhost, let rule = settings.mappings.index.onlyRule(for: host, port: port),
            let resolution = prepared(rule, port: port, families: families, by: settings)
        else { return nil }
        counting.count(.mapped)
        return resolution
    }
}
