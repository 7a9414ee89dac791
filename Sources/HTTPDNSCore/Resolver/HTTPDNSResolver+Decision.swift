// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

extension HTTPDNSResolver {
    /// The outcome of the steps that need neither cache nor network.
    enum Decision {
        case settled(HTTPDNSResolver.Resolution)
        case lookFor(CacheLookup)
    }

    /// Applies the steps that need neither cache nor network: the request, literals, the kill switch, mappings, rollouts.
    func decide(
        _ query: HTTPDNSResolver.Query,
        by settings: LiveSettings
    ) throws(HTTPDNSResolver.Error) -> Decision {
        if live.isClosed { throw .shutDown(host: query.host.description) }
        if let families = query.families, families.intersection(.both).isEmpty {
            throw .noFamily(host: query.host.description)
        }
        if !query.addresses.isEmpty {
            return .settled(try settle(query.addresses, .request, query, by: settings))
        }
        let name: HTTPDNSName
        switch query.host {
        case .address(let address):
            let endpoint = HTTPDNSEndpoint(address: address, port: query.port)
            return .settled(try settle([endpoint], .literal, query, by: settings))
        case .name(let host):
            name = host
        }
        if name.isLocalhost { return .settled(try settle(loopbacks(query), .literal, query, by: settings)) }
        let key = CacheKey(name, families: query.families, clientSubnet: query.clientSubnet)
        var lookup = CacheLookup(self, query, by: settings, key)
        if query.usesSystemResolver {
            lookup.takeSystem(.request)
            return .lookFor(lookup)
        }
        // The kill switch precedes every mapping: the mappings may be the cause of the trouble.
        if let entry = switchEntry(for: name, by: settings) {
            lookup.switchOff(by: entry)
            return .lookFor(lookup)
        }
        guard let first = settings.mappings.index.rule(for: name, port: query.port) else {
            roll(&lookup)
            return .lookFor(lookup)
        }
        if let resolution = prepared(first, port: query.port, families: query.families, by: settings) {
            return .settled(resolution)
        }
        let chain = ViaChain(from: name, port: query.port, in: settings.mappings.index)
        return try decide(lookup, by: first, chain)
    }

    /// Returns whether a mapping or the providers of a route decide about a query, and the system resolver has no part in it: at
    /// present, by the settings and the kill switch.
    /// - Parameter allowingFallback: Whether the system resolver may answer after the providers of a route.
    package func decidesAlone(_ query: HTTPDNSResolver.Query, allowingFallback: Bool = false) -> Bool {
        let settings = live.current
        // What a mapping names is refused, or of another family.
        guard let decision = try? decide(query, by: settings) else { return true }
        switch decision {
        case .settled(let resolution): return resolution.source == .mapping
        case .lookFor(let lookup):
            let route = settings.resolving.routes.entry(for: lookup.key.host)?.route
            guard lookup.systemOnly == nil, case .providers(_, let fallback)? = route?.action else { return false }
            return fallback == .off || allowingFallback
        }
    }

    /// The names that mappings and routes with providers decide about, each for all names below it as well; nil for every name. None
    /// while the kill switch is off. For a listener whose clients are to ask for no other ones: a few that they ask for may be decided
    /// elsewhere.
    package var decidedZones: Set<HTTPDNSName>? {
        guard killSwitch.isOn else { return [] }
        let settings = live.current
        var zones: Set<HTTPDNSName> = []
        for (key, mapping) in settings.mappings.rules where key.port == nil {
            guard mapping.action != .system, let zone = key.pattern.zone else { continue }
            zones.insert(zone)
        }
        for route in settings.resolving.configuration.routes where route.mode == .use {
            guard case .providers = route.action else { continue }
            guard let zone = route.pattern.zone else { return nil }
            zones.insert(zone)
        }
        return zones
    }

    /// Returns the resolution of a prepared rule, if neither families nor policy could remove an address from it.
    func prepared(
        _ rule: IndexedRule,
        port: UInt16,
        families: HTTPDNSAddress.Families?,
        by settings: LiveSettings
    ) -> HTTPDNSResolver.Resolution? {
        let resolving = settings.resolving
        guard rule.isPrepared, !resolving.routes.hasAddressRules,
            (families ?? resolving.configuration.usableFamilies).isSuperset(of: rule.families),
            rule.isAllowed(by: resolving.configuration.policy, under: resolving.number)
        else { return nil }
        return HTTPDNSResolver.Resolution(
            rule,
            isReversed: rule.drawsReverse(random: random),
            port: port,
            generation: settings.mappings.generation
        )
    }

    private func decide(
        _ lookup: CacheLookup,
        by first: IndexedRule,
        _ chain: ViaChain
    ) throws(HTTPDNSResolver.Error) -> Decision {
        let (query, settings) = (lookup.query, lookup.settings)
        var mapping = HTTPDNSResolver.AppliedMapping(
            key: first.key,
            origin: first.origin,
            location: first.mapping.location,
            via: chain.names
        )
        let generation = settings.mappings.generation
        let endpoints: [HTTPDNSEndpoint]
        switch chain.last?.mapping.action {
        case .addresses(let targets):
            mapping.targets = targets
            endpoints = WeightedOrder.arrange(targets, random: random).map {
                HTTPDNSEndpoint(address: $0.address, port: $0.port ?? query.port)
            }
        case nil where chain.target.isLocalhost:
            endpoints = loopbacks(query)
        case .system, .via, .lastResort, nil:
            return .lookFor(follow(lookup, mapping, chain))
        }
        var resolution = try settle(endpoints, .mapping, query, by: settings)
        resolution.generation = generation
        resolution.mapping = mapping
        resolution.identity = chain.identity
        resolution.timeToLive = chain.timeToLive
        return .settled(resolution)
    }

    /// Returns the cache lookup at the end of the rules, when these have no addresses, or only addresses of last resort.
    private func follow(
        _ lookup: CacheLookup,
        _ mapping: HTTPDNSResolver.AppliedMapping,
        _ chain: ViaChain
    ) -> CacheLookup {
        var queriedName: HTTPDNSName?
        if !chain.names.isEmpty { queriedName = lookup.host }
        var lastResort: [HTTPDNSMapping.Target] = []
        if case .lastResort(let targets) = chain.last?.mapping.action { lastResort = targets }
        var lookup = lookup
        lookup.key = CacheKey(chain.target, families: lookup.query.families, clientSubnet: lookup.query.clientSubnet)
        lookup.mappingTrace = MappingTrace(
            mapping: mapping,
            queriedName: queriedName,
            identity: chain.identity,
            timeToLive: chain.timeToLive,
            lastResort: lastResort
        )
        if chain.last?.mapping.action == .system {
            lookup.takeSystem(.mapping)
        } else if !chain.names.isEmpty, let entry = switchEntry(for: chain.target, by: lookup.settings) {
            // The target of `via` rules can be off while the queried name is on.
            lookup.switchOff(by: entry)
        } else {
            roll(&lookup)
        }
        return lookup
    }

    /// Sends a query to the system resolver if it is outside its route's rollout, or its route is in shadow mode.
    private func roll(_ lookup: inout CacheLookup) {
        decideMode(of: &lookup)
        lookup.key = withoutUselessDot(lookup.key, by: lookup.settings)
        lookup.shadow = lookup.shadow.map { withoutUselessDot($0, by: lookup.settings) }
    }

    /// Returns the key without the trailing dot of its name, if neither the system resolver nor a search list is used for it: only
    /// these treat names with a trailing dot differently.
    private func withoutUselessDot(_ key: CacheKey, by settings: LiveSettings) -> CacheKey {
        guard key.host.isAbsolute, !key.isSystemOnly,
            let route = settings.resolving.routes.entry(for: key.host)?.route, route.search == nil,
            case .providers(_, fallback: .off) = route.action
        else { return key }
        let host = HTTPDNSName(canonical: key.host.description, hash: key.host.nameHash)
        return CacheKey(host, families: key.families, clientSubnet: key.clientSubnet)
    }

    private func decideMode(of lookup: inout CacheLookup) {
        let routes = lookup.settings.resolving.routes
        guard routes.hasModes, let route = routes.entry(for: lookup.host)?.route, case .providers = route.action else {
            return
        }
        if let rollout = route.rollout {
            let query = lookup.query
            let place: UInt64 =
                switch rollout.by {
                case .process: rolloutPlace
                case .key: RolloutPlace.of(query.rolloutKey ?? query.host.description, in: route.pattern)
                }
            lookup.counts = [place < rollout.share ? .rolledOut : .outsideRollout]
            if place >= rollout.share {
                lookup.takeSystem(.outsideRollout)
                return
            }
        }
        if route.mode == .shadow {
            lookup.shadow = lookup.key
            lookup.takeSystem(.shadow)
        }
    }

    /// Returns both loopback addresses, whatever the system has for `localhost` (RFC 6761 section 6.3).
    private func loopbacks(_ query: HTTPDNSResolver.Query) -> [HTTPDNSEndpoint] {
        [HTTPDNSAddress(v4: 127, 0, 0, 1), HTTPDNSAddress(family: .v6, high: 0, low: 1)].map {
            HTTPDNSEndpoint(address: $0, port: query.port)
        }
    }

    /// Returns the lookup at the sources for a key: its route, providers and families.
    func lookup(about key: CacheKey, systemOnly: SystemOnlyReason?, by settings: ResolvingSettings) -> UpstreamLookup {
        let entry = systemOnly == nil ? settings.routes.entry(for: key.host) : nil
        var reason = systemOnly
        if reason == nil {
            if let entry {
                reason = entry.route.action == .system ? .route : nil
            } else {
                reason = settings.routes.isInternal(key.host) ? .internalName : .noRoute
            }
        }
        let chosen = key.families ?? entry?.route.families ?? settings.configuration.families
        // The system resolver is queried for both families: its queries cost nothing, and the hosts file may have `::1`.
        let isFree = chosen != nil || reason != nil || ipv6.exists(at: fixed.timeSource.coarseNow())
        return UpstreamLookup(
            resolver: self,
            settings: settings,
            key: key,
            families: chosen ?? .both,
            queried: isFree ? chosen ?? .both : .v4,
            route: entry?.route,
            systemOnlyReason: reason
        )
    }

    /// Returns a resolution of addresses that the request, the URL or a mapping names.
    func settle(
        _ endpoints: [HTTPDNSEndpoint],
        _ source: HTTPDNSResolver.Resolution.Source,
        _ query: HTTPDNSResolver.Query,
        by settings: LiveSettings
    ) throws(HTTPDNSResolver.Error) -> HTTPDNSResolver.Resolution {
        let families = query.families ?? settings.resolving.configuration.usableFamilies
        let wanted = endpoints.filter { families.contains($0.address.family) }
        guard !wanted.isEmpty else {
            throw .noneOfFamily(families, among: endpoints, source, host: query.host.description)
        }
        let routes = settings.resolving.routes
        var route: HTTPDNSRoute?
        if routes.hasAddressRules, case .name(let name) = query.host { route = routes.entry(for: name)?.route }
        var resolution = HTTPDNSResolver.Resolution(
            endpoints: try allowed(wanted, from: AddressSource(source: source), route: route, query, by: settings),
            source: source
        )
        resolution.generation = settings.mappings.generation
        return resolution
    }

    /// Returns the endpoints that the policy allows, in their order.
    /// - Throws: ``HTTPDNSResolver/Error`` with code `policyRefused` when none is left.
    func allowed(
        _ endpoints: [HTTPDNSEndpoint],
        from source: AddressSource,
        route: HTTPDNSRoute?,
        _ query: HTTPDNSResolver.Query,
        by settings: LiveSettings
    ) throws(HTTPDNSResolver.Error) -> [HTTPDNSEndpoint] {
        let policy = settings.resolving.configuration.policy
        var refusals: [(address: HTTPDNSAddress, refusal: AddressRefusal)] = []
        var refused: [HTTPDNSEndpoint] = []
        for endpoint in endpoints {
            guard let refusal = policy.reason(of: endpoint.address, from: source, route: route) else { continue }
            refusals.append((endpoint.address, refusal))
            refused.append(endpoint)
        }
        if refused.isEmpty { return endpoints }
        let left = endpoints.filter { !refused.contains($0) }
        if left.isEmpty {
            counting.count(.policyRefusal)
            throw .policyRefused(AddressRefusal.summary(refusals), host: query.host.description)
        }
        return left
    }
}
