internal import HTTPDNSPrimitives

extension Resolver {
    /// What can be said about a question without cache or network.
    enum Decision {
        case settled(Resolution)
        case ask(Inquiry)
    }

    /// Goes through the sources that need neither cache nor network: the request, literals, mappings.
    func decide(_ question: ResolutionQuestion) throws(ResolutionError) -> Decision {
        try requireRunning(question)
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
        let set = mappings.current
        if question.bypass {
            return .ask(inquiry(for: name, nil, bypass: .request, question, generation: set.generation))
        }
        let chain = set.rules.isEmpty ? nil : ViaChain(from: name, port: question.port, in: set.index)
        guard let chain, let first = chain.first else {
            return .ask(routed(name, question, generation: set.generation))
        }
        return try decide(question, by: first, chain, generation: set.generation)
    }

    private func decide(
        _ question: ResolutionQuestion,
        by first: RuleIndex.Match,
        _ chain: ViaChain,
        generation: UInt64
    ) throws(ResolutionError) -> Decision {
        var rule = AppliedRule(key: first.key, location: first.mapping.location, via: chain.names)
        let endpoints: [Endpoint]
        switch chain.last?.mapping.action {
        case .addresses(let targets):
            if chain.names.isEmpty { rule.targets = targets }
            endpoints = WeightedOrder.arrange(targets, random: random).map {
                Endpoint(address: $0.address, port: $0.port ?? question.port)
            }
        case nil where chain.target.isLocalhost:
            endpoints = loopbacks(question)
        case .bypass, .via, nil:
            var inquiry =
                chain.last?.mapping.action == .bypass
                ? inquiry(for: chain.target, nil, bypass: .mapping, question, generation: generation)
                : routed(chain.target, question, generation: generation)
            inquiry.rule = rule
            inquiry.identity = chain.identity
            inquiry.ruleTimeToLive = chain.timeToLive
            return .ask(inquiry)
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

    /// Who is asked about a name that no mapping decides.
    private func routed(_ name: HostName, _ question: ResolutionQuestion, generation: UInt64) -> Inquiry {
        guard let entry = routes.entry(for: name) else {
            let reason: BypassReason = name.isInternal ? .internalName : .noRoute
            return inquiry(for: name, nil, bypass: reason, question, generation: generation)
        }
        return inquiry(for: name, entry, bypass: nil, question, generation: generation)
    }

    private func inquiry(
        for name: HostName,
        _ entry: RouteTable.Entry?,
        bypass: BypassReason?,
        _ question: ResolutionQuestion,
        generation: UInt64
    ) -> Inquiry {
        let isBypass = entry.map { $0.route.action == .bypass } ?? true
        return Inquiry(
            host: name,
            families: question.families ?? entry?.route.families ?? configuration.families,
            route: entry?.route,
            source: isBypass ? AnswerKey.system : entry?.number ?? AnswerKey.system,
            bypassReason: isBypass ? bypass ?? .route : nil,
            generation: generation
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
        var resolution = Resolution(
            endpoints: try allowed(wanted, source, providerScope: nil, host: host),
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
        host: String
    ) throws(ResolutionError) -> [Endpoint] {
        let policy = configuration.policy
        var refusals: [String] = []
        var refused: [Endpoint] = []
        for endpoint in endpoints {
            guard let refusal = policy.refusal(of: endpoint.address, from: source, providerScope: providerScope) else {
                continue
            }
            refusals.append(refusal)
            refused.append(endpoint)
        }
        if refused.isEmpty { return endpoints }
        let left = endpoints.filter { !refused.contains($0) }
        if left.isEmpty { throw .policyRefused(refusals, host: host) }
        return left
    }
}
