internal import HTTPDNSPrimitives

extension Resolver {
    /// What can be said about a question without cache or network.
    enum Decision {
        case settled(Resolution)
        case lookFor(NameQuestion)
    }

    /// Goes through the sources that need neither cache nor network: the request, literals, mappings.
    func decide(_ question: ResolutionQuestion) throws(ResolutionError) -> Decision {
        try requireRunning(question)
        if let families = question.families, families.intersection(.both).isEmpty {
            throw .noFamily(host: question.host.description)
        }
        if let pinned = question.pinnedTo, !pinned.isEmpty {
            return .settled(try settle(pinned, .request, question))
        }
        let name: HostName
        switch question.host {
        case .address(let address):
            return .settled(try settle([Endpoint(address: address, port: question.port)], .literal, question))
        case .name(let host):
            name = host
        }
        if name.isLocalhost { return .settled(try settle(loopbacks(question), .literal, question)) }
        let families = question.families
        if question.bypass {
            let key = AnswerKey(name, families: families, isBypass: true)
            return .lookFor(NameQuestion(key: key, bypass: .request, generation: mappings.generation))
        }
        if let generation = mappings.generationWithoutRules {
            let key = AnswerKey(name, families: families, clientSubnet: question.clientSubnet)
            return .lookFor(NameQuestion(key: key, generation: generation))
        }
        let set = mappings.current
        guard let first = set.index.rule(for: name, port: question.port) else {
            let key = AnswerKey(name, families: families, clientSubnet: question.clientSubnet)
            return .lookFor(NameQuestion(key: key, generation: set.generation))
        }
        let chain = ViaChain(from: name, port: question.port, in: set.index)
        return try decide(question, by: first, chain, generation: set.generation)
    }

    private func decide(
        _ question: ResolutionQuestion,
        by first: RuleMatch,
        _ chain: ViaChain,
        generation: UInt64
    ) throws(ResolutionError) -> Decision {
        var rule = AppliedRule(
            key: first.key,
            origin: first.origin,
            location: first.mapping.location,
            via: chain.names
        )
        let endpoints: [Endpoint]
        switch chain.last?.mapping.action {
        case .addresses(let targets):
            if chain.names.isEmpty { rule.targets = targets }
            endpoints = WeightedOrder.arrange(targets, random: random).map {
                Endpoint(address: $0.address, port: $0.port ?? question.port)
            }
        case nil where chain.target.isLocalhost:
            endpoints = loopbacks(question)
        case .bypass, .via, .lastResort, nil:
            let isBypass = chain.last?.mapping.action == .bypass
            let key = AnswerKey(
                chain.target,
                families: question.families,
                isBypass: isBypass,
                clientSubnet: isBypass ? nil : question.clientSubnet
            )
            let passage = RulePassage(rule: rule, identity: chain.identity, timeToLive: chain.timeToLive)
            return .lookFor(
                NameQuestion(key: key, bypass: isBypass ? .mapping : nil, generation: generation, passage: passage)
            )
        }
        var resolution = try settle(endpoints, .mapping, question)
        resolution.generation = generation
        resolution.rule = rule
        resolution.identity = chain.identity
        resolution.timeToLive = chain.timeToLive
        return .settled(resolution)
    }

    /// Both loopbacks, whatever the system thinks of `localhost` (RFC 6761 section 6.3).
    private func loopbacks(_ question: ResolutionQuestion) -> [Endpoint] {
        [IPAddress(v4: 127, 0, 0, 1), IPAddress(family: .v6, high: 0, low: 1)].map {
            Endpoint(address: $0, port: question.port)
        }
    }

    /// Who is asked about a name.
    func inquiry(for question: NameQuestion) -> Inquiry {
        let name = question.host
        let entry = question.bypass == nil ? routes.entry(for: name) : nil
        var reason = question.bypass
        if reason == nil {
            if let entry {
                reason = entry.route.action == .bypass ? .route : nil
            } else {
                reason = name.isInternal ? .internalName : .noRoute
            }
        }
        return Inquiry(
            key: question.key,
            families: question.key.families ?? entry?.route.families ?? configuration.families,
            route: entry?.route,
            bypassReason: reason
        )
    }

    /// A resolution of addresses that the request, the URL or a mapping names.
    private func settle(
        _ endpoints: [Endpoint],
        _ source: Resolution.Source,
        _ question: ResolutionQuestion
    ) throws(ResolutionError) -> Resolution {
        let families = question.families ?? configuration.families
        let host = question.host.description
        let wanted = endpoints.filter { families.contains($0.address.family) }
        guard !wanted.isEmpty else { throw .noneOfFamily(families, among: endpoints, source, host: host) }
        var route: Route?
        if routes.hasAddressRules, case .name(let name) = question.host { route = routes.entry(for: name)?.route }
        var resolution = Resolution(
            endpoints: try allowed(wanted, source, providerScope: nil, route: route, host: host),
            source: source
        )
        resolution.generation = mappings.generation
        return resolution
    }

    /// Those of the endpoints that the policy lets through, in their order.
    /// - Throws: ``ResolutionError`` with code `policyRefused` when none is left.
    func allowed(
        _ endpoints: [Endpoint],
        _ source: Resolution.Source,
        providerScope: AddressScope?,
        route: Route?,
        host: String
    ) throws(ResolutionError) -> [Endpoint] {
        let policy = configuration.policy
        var refusals: [String] = []
        var refused: [Endpoint] = []
        for endpoint in endpoints {
            let refusal = policy.refusal(
                of: endpoint.address,
                from: source,
                providerScope: providerScope,
                route: route
            )
            guard let refusal else { continue }
            refusals.append(refusal)
            refused.append(endpoint)
        }
        if refused.isEmpty { return endpoints }
        let left = endpoints.filter { !refused.contains($0) }
        if left.isEmpty {
            counting.count(.policyRefusal)
            throw .policyRefused(refusals, host: host)
        }
        return left
    }
}
