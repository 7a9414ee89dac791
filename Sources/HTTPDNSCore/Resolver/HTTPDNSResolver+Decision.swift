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
        _ question: HTTPDNSResolver.Query,
        by settings: LiveSettings
    ) throws(HTTPDNSResolver.Error) -> Decision {
        try requireRunning(question)
        if let families = question.families, families.intersection(.both).isEmpty {
            throw .noFamily(host: question.host.description)
        }
        if !question.addresses.isEmpty {
            return .settled(try settle(question.addresses, .request, question, by: settings))
        }
        let name: HTTPDNSName
        switch question.host {
        case .address(let address):
            let endpoint = HTTPDNSEndpoint(address: address, port: question.port)
            return .settled(try settle([endpoint], .literal, question, by: settings))
        case .name(let host):
            name = host
        }
        if name.isLocalhost { return .settled(try settle(loopbacks(question), .literal, question, by: settings)) }
        let generation = settings.mappings.generation
        if question.usesSystemResolver {
            let key = CacheKey(name, families: question.families, isSystemOnly: true)
            return .lookFor(CacheLookup(key: key, systemOnly: .request, generation: generation))
        }
        // The kill switch precedes every mapping: the mappings may be the cause of the trouble.
        if let entry = switchEntry(for: name, by: settings) {
            let key = CacheKey(name, families: question.families, isSystemOnly: true)
            return .lookFor(
                CacheLookup(
                    key: key,
                    systemOnly: .switchedOff,
                    generation: generation,
                    counts: [.switchedOff],
                    switchedOff: entry
                )
            )
        }
        guard let first = settings.mappings.index.rule(for: name, port: question.port) else {
            let key = CacheKey(name, families: question.families, clientSubnet: question.clientSubnet)
            return .lookFor(roll(CacheLookup(key: key, generation: generation), question, by: settings))
        }
        if let resolution = prepared(first, port: question.port, families: question.families, by: settings) {
            return .settled(resolution)
        }
        let chain = ViaChain(from: name, port: question.port, in: settings.mappings.index)
        return try decide(question, by: first, chain, settings)
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
        _ question: HTTPDNSResolver.Query,
        by first: IndexedRule,
        _ chain: ViaChain,
        _ settings: LiveSettings
    ) throws(HTTPDNSResolver.Error) -> Decision {
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
                HTTPDNSEndpoint(address: $0.address, port: $0.port ?? question.port)
            }
        case nil where chain.target.isLocalhost:
            endpoints = loopbacks(question)
        case .system, .via, .lastResort, nil:
            return .lookFor(lookFor(question, mapping, chain, settings))
        }
        var resolution = try settle(endpoints, .mapping, question, by: settings)
        resolution.generation = generation
        resolution.mapping = mapping
        resolution.identity = chain.identity
        resolution.timeToLive = chain.timeToLive
        return .settled(resolution)
    }

    /// Returns the cache lookup at the end of the rules, when these have no addresses, or only addresses of last resort.
    private func lookFor(
        _ question: HTTPDNSResolver.Query,
        _ mapping: HTTPDNSResolver.AppliedMapping,
        _ chain: ViaChain,
        _ settings: LiveSettings
    ) -> CacheLookup {
        let isSystemOnly = chain.last?.mapping.action == .system
        var queriedName: HTTPDNSName?
        if !chain.names.isEmpty, case .name(let name) = question.host { queriedName = name }
        var lastResort: [HTTPDNSMapping.Target] = []
        if case .lastResort(let targets) = chain.last?.mapping.action { lastResort = targets }
        var name = CacheLookup(
            key: CacheKey(
                chain.target,
                families: question.families,
                isSystemOnly: isSystemOnly,
                clientSubnet: isSystemOnly ? nil : question.clientSubnet
            ),
            systemOnly: isSystemOnly ? .mapping : nil,
            generation: settings.mappings.generation,
            mappingTrace: MappingTrace(
                mapping: mapping,
                queriedName: queriedName,
                identity: chain.identity,
                timeToLive: chain.timeToLive,
                lastResort: lastResort
            )
        )
        if isSystemOnly { return name }
        // The target of `via` rules can be off while the queried name is on.
        if !chain.names.isEmpty, let entry = switchEntry(for: chain.target, by: settings) {
            name.key = CacheKey(chain.target, families: question.families, isSystemOnly: true)
            name.systemOnly = .switchedOff
            name.counts = [.switchedOff]
            name.switchedOff = entry
            return name
        }
        return roll(name, question, by: settings)
    }

    private func switchEntry(for name: HTTPDNSName, by settings: LiveSettings) -> HTTPDNSResolver.KillSwitch.Entry? {
        if killSwitch.isFullyOn { return nil }
        return killSwitch.entry(for: name, decidedBy: settings.resolving.routes.entry(for: name)?.route.pattern)
    }

    /// Sends a query to the system resolver if it is outside its route's rollout, or its route is in shadow mode.
    private func roll(
        _ name: CacheLookup,
        _ question: HTTPDNSResolver.Query,
        by settings: LiveSettings
    ) -> CacheLookup {
        var name = rolled(name, question, by: settings)
        name.key = withoutUselessDot(name.key, by: settings)
        name.shadow = name.shadow.map { withoutUselessDot($0, by: settings) }
        return name
    }

    /// Returns the key without the trailing dot of its name, if the system resolver is never queried for it.
    ///
    /// Only the system resolver treats names with a trailing dot differently.
    private func withoutUselessDot(_ key: CacheKey, by settings: LiveSettings) -> CacheKey {
        guard key.host.isAbsolute, !key.isSystemOnly,
            case .providers(_, fallback: .off) = settings.resolving.routes.entry(for: key.host)?.route.action
        else { return key }
        let host = HTTPDNSName(canonical: key.host.description, hash: key.host.nameHash)
        return CacheKey(host, families: key.families, clientSubnet: key.clientSubnet)
    }

    private func rolled(
        _ name: CacheLookup,
        _ question: HTTPDNSResolver.Query,
        by settings: LiveSettings
    ) -> CacheLookup {
        guard settings.resolving.routes.hasModes,
            let route = settings.resolving.routes.entry(for: name.host)?.route, case .providers = route.action
        else { return name }
        var name = name
        if let rollout = route.rollout {
            let place: UInt64 =
                switch rollout.by {
                case .process: rolloutPlace
                case .key: RolloutPlace.of(question.rolloutKey ?? question.host.description, in: route.pattern)
                }
            name.counts = [place < rollout.share ? .rolledOut : .outsideRollout]
            if place >= rollout.share {
                name.systemOnly = .outsideRollout
                name.key = CacheKey(name.host, families: question.families, isSystemOnly: true)
                return name
            }
        }
        if route.mode == .shadow {
            name.shadow = name.key
            name.systemOnly = .shadow
            name.key = CacheKey(name.host, families: question.families, isSystemOnly: true)
        }
        return name
    }

    /// Returns both loopback addresses, whatever the system has for `localhost` (RFC 6761 section 6.3).
    private func loopbacks(_ question: HTTPDNSResolver.Query) -> [HTTPDNSEndpoint] {
        [HTTPDNSAddress(v4: 127, 0, 0, 1), HTTPDNSAddress(family: .v6, high: 0, low: 1)].map {
            HTTPDNSEndpoint(address: $0, port: question.port)
        }
    }

    /// Returns the lookup for a name: its route, providers and families.
    func lookup(for question: CacheLookup, by settings: LiveSettings) -> UpstreamLookup {
        var lookup = lookup(about: question.key, systemOnly: question.systemOnly, by: settings.resolving)
        lookup.queriedName = question.mappingTrace?.queriedName
        return lookup
    }

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
        _ question: HTTPDNSResolver.Query,
        by settings: LiveSettings
    ) throws(HTTPDNSResolver.Error) -> HTTPDNSResolver.Resolution {
        let families = question.families ?? settings.resolving.configuration.usableFamilies
        let host = question.host.description
        let wanted = endpoints.filter { families.contains($0.address.family) }
        guard !wanted.isEmpty else { throw .noneOfFamily(families, among: endpoints, source, host: host) }
        let routes = settings.resolving.routes
        var route: HTTPDNSRoute?
        if routes.hasAddressRules, case .name(let name) = question.host { route = routes.entry(for: name)?.route }
        var resolution = HTTPDNSResolver.Resolution(
            endpoints: try allowed(wanted, source, providerScope: nil, route: route, host: host, by: settings),
            source: source
        )
        resolution.generation = settings.mappings.generation
        return resolution
    }

    /// Returns the endpoints that the policy allows, in their order.
    /// - Throws: ``HTTPDNSResolver/Error`` with code `policyRefused` when none is left.
    func allowed(
        _ endpoints: [HTTPDNSEndpoint],
        _ source: HTTPDNSResolver.Resolution.Source,
        providerScope: HTTPDNSAddressPolicy.Scope?,
        route: HTTPDNSRoute?,
        provider: String? = nil,
        host: String,
        by settings: LiveSettings
    ) throws(HTTPDNSResolver.Error) -> [HTTPDNSEndpoint] {
        let policy = settings.resolving.configuration.policy
        var refusals: [(address: HTTPDNSAddress, refusal: AddressRefusal)] = []
        var refused: [HTTPDNSEndpoint] = []
        for endpoint in endpoints {
            let refusal = policy.reason(
                of: endpoint.address,
                from: source,
                providerScope: providerScope,
                route: route,
                provider: provider
            )
            guard let refusal else { continue }
            refusals.append((endpoint.address, refusal))
            refused.append(endpoint)
        }
        if refused.isEmpty { return endpoints }
        let left = endpoints.filter { !refused.contains($0) }
        if left.isEmpty {
            counting.count(.policyRefusal)
            throw .policyRefused(AddressRefusal.summary(refusals), host: host)
        }
        return left
    }
}
