// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSCore
internal import HTTPDNSCurl
package import HTTPDNSPrimitives

extension HTTPDNSClient {
    /// Returns the status of the client now, with reasons, cached answers and limits.
    ///
    /// Counters and events of its resolver are those of ``resolver``.
    /// It sends nothing and walks through the cache: call it every few seconds rather than for every request.
    /// - Parameters:
    ///   - limit: The maximum number of answers, mappings, pools and endpoints, of each; 0 and less mean none.
    ///   - names: The names to which answers, mappings and pools are restricted; nil means all.
    public func status(limit: Int = HTTPDNSClient.Status.defaultLimit, names: [HTTPDNSRoute.Pattern]? = nil)
        -> HTTPDNSClient.Status
    {
        let now = initial.resolver.timeSource.now()
        let counters = resolver.counters
        let settings = resolver.settingsInUse
        let pools = sender.connectionPools
        let limit = max(0, limit)
        return HTTPDNSClient.Status(
            library: LibraryVersion.current,
            libcurl: CurlLibrary.version,
            libcurlCapabilities: .ofThisProcess,
            uptimeSeconds: (now - madeAt).inSeconds,
            killSwitch: HTTPDNSClient.Status.Switch(killSwitch, at: now),
            lastReload: HTTPDNSClient.Status.Reload(reloads, at: initial.resolver.wallClock.now()),
            mappings: HTTPDNSClient.Status.Mappings(resolver.mappings.current, limit: limit, names: names),
            cache: cacheDiagnostics(counters, limit: limit, names: names, at: now),
            routes: settings.routes.map { HTTPDNSClient.Status.Route($0, counters.routes[$0.pattern.description]) },
            providers: providerDiagnostics(settings.providers, counters, at: now),
            connections: HTTPDNSClient.Status.Connections(
                pools,
                requestsInFlight: sender.transfersInFlight,
                requestsWaiting: requestsWaiting,
                connectionCounters,
                pipeline.reads
            ),
            pools: HTTPDNSClient.Status.pools(pools, about: names).prefix(limit).map { HTTPDNSClient.Status.Pool($0) },
            endpoints: HTTPDNSClient.Status.endpoints(endpointRecords, limit: limit),
            limits: HTTPDNSClient.Status.Limits(
                settings,
                initial,
                pipeline,
                idleConnections: clientTransport?.maximumIdleConnections ?? initial.connections.maximumIdle
            ),
            counters: counters.byName
        )
    }

    private func cacheDiagnostics(
        _ counters: HTTPDNSResolver.Counters,
        limit: Int,
        names: [HTTPDNSRoute.Pattern]?,
        at now: MonotonicTime
    ) -> HTTPDNSClient.Status.Cache {
        let (answers, isTruncated) = resolver.answers(at: now, limit: limit, about: names)
        return HTTPDNSClient.Status.Cache(
            entries: counters.cacheEntries,
            bytes: counters.cacheBytes,
            answers: answers.map { HTTPDNSClient.Status.Answer($0, at: now) },
            isTruncated: isTruncated
        )
    }

    private func providerDiagnostics(
        _ providers: [any HTTPDNSProvider],
        _ counters: HTTPDNSResolver.Counters,
        at now: MonotonicTime
    ) -> [HTTPDNSClient.Status.Provider] {
        let kinds = Dictionary(providers.map { ($0.name, $0.kind) }, uniquingKeysWith: { first, _ in first })
        return resolver.providerHealth.map { health in
            HTTPDNSClient.Status.Provider(
                health,
                kind: kinds[health.name] ?? "provider",
                failures: counters.providers[health.name]?.failures ?? [:],
                at: now
            )
        }
    }
}

extension HTTPDNSClient.Status.Switch {
    /// Creates the state of a switch.
    package init(_ killSwitch: HTTPDNSResolver.KillSwitch, at now: MonotonicTime) {
        isOn = killSwitch.isOn
        generation = killSwitch.generation
        entries = killSwitch.entries.map { entry in
            var route: String?
            if case .route(let pattern) = entry.scope { route = pattern.description }
            return Entry(route: route, origin: entry.origin.rawValue, seconds: max(now - entry.since, .zero).inSeconds)
        }
    }
}

extension HTTPDNSClient.Status.Mappings {
    init(_ mappings: HTTPDNSMappings, limit: Int, names: [HTTPDNSRoute.Pattern]?) {
        generation = mappings.generation
        baseGeneration = mappings.baseGeneration
        overlayGeneration = mappings.overlayGeneration
        count = mappings.rules.count
        let wanted = mappings.rules.filter { key, _ in
            names?.contains { $0 == key.pattern || key.pattern.zone.map($0.contains) ?? false } ?? true
        }
        let shown = wanted.map { (text: $0.key.description, key: $0.key, rule: $0.value) }.sorted { $0.text < $1.text }
        rules = shown.prefix(limit).map { item in
            var rule = Rule(item.key, item.rule, from: mappings.origin(of: item.key))
            rule.replaces = mappings.replaced(by: item.key).map { $0.location.map { "\($0)" } ?? "settings" }
            return rule
        }
        isTruncated = shown.count > limit
    }
}

extension HTTPDNSClient.Status.Mappings.Rule {
    init(_ key: HTTPDNSMapping.Key, _ rule: HTTPDNSMapping, from origin: HTTPDNSMapping.Origin) {
        self.key = key.description
        self.origin = origin.rawValue
        location = rule.location.map { "\($0)" }
        switch rule.action {
        case .addresses(let targets):
            action = "addresses"
            self.targets = Self.texts(targets)
        case .lastResort(let targets):
            action = "last-resort"
            self.targets = Self.texts(targets)
        case .via(let name, let usesTargetIdentity):
            action = "via"
            targets = [name.description + (usesTargetIdentity ? " keep host" : "")]
        case .system, nil:
            action = "system"
            targets = []
        }
    }

    private static func texts(_ targets: [HTTPDNSMapping.Target]) -> [String] {
        targets.map { target in
            let place = target.port.map { HTTPDNSEndpoint(address: target.address, port: $0).description }
            return (place ?? target.address.description) + (target.weight.map { " weight \($0)" } ?? "")
        }
    }
}

extension HTTPDNSClient.Status.Answer {
    init(_ answer: CachedAnswer, at now: MonotonicTime) {
        let origin = answer.origin
        let failure = answer.failure(at: now)
        host = answer.host.description
        families = answer.families.map { $0 == .both ? "both" : $0 == .v4 ? "v4" : "v6" }
        addresses = answer.addresses.map(\.description)
        source = origin?.source.description
        provider = origin?.provider
        route = origin?.route?.pattern.description
        // The times of a failure alone have no meaning.
        ageSeconds = origin.map { _ in (now - answer.sentAt).inSeconds }
        secondsLeft = origin.map { _ in (answer.expiresAt - now).inSeconds }
        isStale = !addresses.isEmpty && now >= answer.expiresAt
        negative = answer.negative?.code.description
        self.failure = failure?.error.code.description
        retryInSeconds = failure.map { max($0.retryAt - now, .zero).inSeconds }
    }
}

extension HTTPDNSClient.Status.Route {
    init(_ route: HTTPDNSRoute, _ counters: HTTPDNSResolver.Counters.Route?) {
        pattern = route.pattern.description
        switch route.action {
        case .system: (action, providers, fallback) = ("system", [], nil)
        case .providers(let names, let fallback):
            (action, providers, self.fallback) = ("providers", names, fallback.rawValue)
        }
        location = route.location.map { "\($0)" }
        isEnabled = route.isEnabled
        mode = route.mode.rawValue
        rolloutPercent = route.rollout?.percent
        rolloutBy = route.rollout?.by.rawValue
        let counters = counters ?? HTTPDNSResolver.Counters.Route()
        fresh = counters.fresh
        stale = counters.stale
        system = counters.system
        failures = Dictionary(counters.failures.map { ($0.key.description, $0.value) }, uniquingKeysWith: +)
    }
}

extension HTTPDNSClient.Status.Provider {
    init(
        _ health: HTTPDNSResolver.Status.Provider,
        kind: String,
        failures: [HTTPDNSProviderError.Code: Int],
        at now: MonotonicTime
    ) {
        name = health.name
        self.kind = kind
        switch health.state {
        case .healthy: state = "healthy"
        case .suspect: state = "suspect"
        case .quarantined(let until, let why):
            state = "quarantined"
            reason = why.onOneLine(limit: 200)
            backOffSeconds = max(MonotonicTime(until) - now, .zero).inSeconds
        }
        latencySeconds = health.latency?.inSeconds
        percentile95Seconds = health.percentile95?.inSeconds
        inFlight = health.inFlight
        queued = health.queued
        queries = health.queries
        successes = health.successes
        self.failures = health.failures
        failuresByCode = Dictionary(failures.map { ($0.key.description, $0.value) }, uniquingKeysWith: +)
    }
}

extension HTTPDNSClient.Status.Limits {
    /// - Parameters:
    ///   - resolver: The settings that a reload may have changed.
    ///   - initial: The settings that a reload cannot change.
    ///   - idleConnections: The limit of the transport.
    init(
        _ resolver: HTTPDNSResolver.Configuration,
        _ initial: HTTPDNSClient.Configuration,
        _ pipeline: Pipeline,
        idleConnections: Int
    ) {
        let options = pipeline.current.values.options
        let queues = pipeline.admissions.queues.map(\.limits)
        cacheEntries = initial.resolver.cache.entries
        cacheBytes = initial.resolver.cache.bytes.bytes
        minimumTimeToLiveSeconds = resolver.cache.minimumTimeToLive.inSeconds
        maximumTimeToLiveSeconds = resolver.cache.maximumTimeToLive.inSeconds
        staleSeconds = resolver.cache.staleLimit.inSeconds
        resolutionSeconds = resolver.timeLimit.inSeconds
        attemptSeconds = resolver.attemptLimit.inSeconds
        self.idleConnections = idleConnections
        connectionsPerHost = queues.map(\.queue.perHost).filter { $0 < .max }.min()
        connections = queues.map(\.queue.total).filter { $0 < .max }.min()
        requestsWaiting = queues.map(\.queue.maximumWaiting).min()
        queueSeconds = queues.compactMap(\.wait).min()?.inSeconds
        requestsInFlight = initial.maximumRequestsInFlight
        responseBytes = options.maximumResponseBody?.bytes
        connectSeconds = options.timeouts.connect?.inSeconds
        tlsSeconds = options.timeouts.tls?.inSeconds
        firstByteSeconds = options.timeouts.firstByte?.inSeconds
        idleSeconds = options.timeouts.idle?.inSeconds
        totalSeconds = options.timeouts.total?.inSeconds
    }
}

extension HTTPDNSClient.Status.Reload {
    /// - Parameter now: The calendar time, in milliseconds.
    init?(_ status: HTTPDNSClient.ReloadStatus, at now: Int64) {
        func seconds(since time: Int64) -> Double { Double(max(0, now - time)) / 1000 }
        if let failure = status.failure {
            let first = failure.message.split(separator: "\n").first.map { String($0).onOneLine(limit: 400) }
            self.init(isApplied: false, seconds: seconds(since: failure.time), message: first)
        } else if let success = status.lastSuccess {
            self.init(isApplied: true, seconds: seconds(since: success.time), needsRestart: success.needsRestart)
        } else {
            return nil
        }
    }
}

/// The rule of the order in which the addresses of a request are tried.
package enum AddressOrderRule: String, Hashable, Sendable {
    case given, adaptive, fastest, random
    case roundRobin = "round-robin"
    /// A random order by the weights of a mapping.
    case weights

    /// Whether each request draws an order of its own.
    package var isRandom: Bool { self == .random || self == .weights }

    fileprivate init(_ order: EndpointOrder, of resolution: HTTPDNSResolver.Resolution) {
        let isWeighted = resolution.source == .mapping || resolution.source == .lastResort
        switch order {
        case .given, .adaptive:
            if isWeighted, resolution.mapping?.targets.areWeighted == true {
                self = .weights
            } else {
                self = order == .given ? .given : .adaptive
            }
        case .roundRobin: self = .roundRobin
        case .random: self = .random
        case .fastest: self = .fastest
        }
    }
}

extension HTTPDNSClient {
    /// Returns the rule of the order of a request's addresses.
    package func addressOrderRule(of rewritten: HTTPDNSRewriter.RewrittenRequest) -> AddressOrderRule {
        AddressOrderRule(pipeline.order.order(of: rewritten.resolution), of: rewritten.resolution)
    }

    /// Returns a rewritten request with its addresses in the order in which the client's first request tries them, and changes
    /// nothing. A random order is not drawn: its addresses stay as they are.
    /// - Throws: ``HTTPDNSClientError``.
    package func inOrderOfFirstRequest(
        _ rewritten: HTTPDNSRewriter.RewrittenRequest,
        options: HTTPDNSClient.Request.Options
    ) throws(HTTPDNSClientError) -> HTTPDNSRewriter.RewrittenRequest {
        let request = HTTPDNSClient.Request(url: rewritten.originalURL, options: options)
        var usable = rewritten.addresses
        if rewritten.content.resolution.limitsVersions {
            usable = try rewritten.usable(usable, offering: options.shared.versions).endpoints
        }
        let isDirect = try pipeline.egress.choice(of: request, for: rewritten.content.url).proxy == nil
        let endpoints = pipeline.order.order(of: rewritten.content.resolution).inFirstRequest(
            usable,
            to: rewritten.content.sent,
            connectsToEndpoints: isDirect
        )
        return replacingAddresses(of: rewritten, with: endpoints)
    }

    /// Returns a rewritten request with other addresses, or another order of them.
    package func replacingAddresses(
        of rewritten: HTTPDNSRewriter.RewrittenRequest,
        with endpoints: [HTTPDNSEndpoint]
    ) -> HTTPDNSRewriter.RewrittenRequest {
        let content = rewritten.content
        guard endpoints != rewritten.addresses else { return rewritten }
        var resolution = rewritten.resolution
        resolution.endpoints = endpoints
        var options = HTTPDNSClient.Request.Options()
        options.addresses = content.addresses
        options.families = content.families
        options.hostHeader = content.hostHeader
        options.shared.reachableNetworks = content.reachableNetworks
        let request = HTTPDNSClient.Request(url: content.originalText, options: options)
        return rewriter.replacing(resolution, in: rewritten, for: request)
    }
}
