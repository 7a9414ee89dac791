internal import HTTPDNSPrimitives

/// The steps after a query has its answer, from whichever source.
extension HTTPDNSResolver {
    /// Counts the source, compares in shadow mode, and records the reason that no provider was queried.
    func concluded(_ resolution: HTTPDNSResolver.Resolution, _ name: CacheLookup, by settings: LiveSettings)
        -> HTTPDNSResolver.Resolution
    {
        for count in name.counts { counting.count(count) }
        if let key = name.shadow {
            compare(key, withSystem: .addresses(Set(resolution.endpoints.map(\.address))), by: settings)
        }
        guard name.bypass != nil else { return resolution }
        var resolution = resolution
        resolution.reason = name.bypass
        if let off = name.off { resolution.switchedOff = off }
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
        if let key = name.shadow {
            let isDefinite = error.code == .nameNotFound || error.code == .noAddresses
            compare(key, withSystem: isDefinite ? .nothing : .failed, by: settings)
        }
        let route = name.bypass == nil ? settings.resolving.routes.basis(for: name.host).counting : counting.unrouted
        guard let passage = name.passage, !passage.lastResort.isEmpty else {
            route.countFailure(error.code)
            throw error
        }
        let endpoints = WeightedOrder.arrange(passage.lastResort, random: random).map {
            HTTPDNSEndpoint(address: $0.address, port: $0.port ?? question.port)
        }
        guard var resolution = try? settle(endpoints, .lastResort, question, by: settings) else {
            route.countFailure(error.code)
            throw error
        }
        var rule = passage.rule
        rule.targets = passage.lastResort
        resolution.rule = rule
        resolution.identity = passage.identity
        // As short as the first back-off after a failure: as soon as a source answers again, its addresses are used.
        resolution.timeToLive = Lifetimes.backoff(afterFailures: 1)
        resolution.failedAttempts = error.attempts
        counting.count(.lastResort)
        return resolution
    }
}
