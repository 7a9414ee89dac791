public import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
public import HTTPTypes
internal import Logging

/// An HTTP client whose requests reach the addresses that mappings and HTTP-DNS providers give, under their own names.
///
/// ```swift
/// let client = try await HTTPDNSClient()
/// let response = try await client.get("https://img.shop.example/a.jpg", deadline: .seconds(2))
/// let picture = try await response.body.collect(upTo: .mebibytes(4))
/// try await client.shutdown()
/// ```
///
/// A client is safe to use from any number of tasks, and one is enough for a process. Dropped without
/// ``shutdown(drainingFor:)`` it lets its transfers end and then ends its thread, with a warning in the log.
public final class HTTPDNSClient: Sendable {
    /// The stage of this client, which can be listed among another client's interceptors.
    public let rewriter: HTTPDNSRewriter

    let pipeline: Pipeline
    /// The settings that it began with, to tell what a reload cannot change.
    let initial: Configuration
    /// What finds addresses: its counters, events and cache.
    public let resolver: HTTPDNSResolver

    let sender: any HopSending
    /// When it was made, on the resolver's clock.
    let madeAt: MonotonicTime
    /// The source of the settings, while it is watched.
    let watch = Lock<(any ConfigurationWatch)?>(nil)
    /// One reload after the other.
    let reloading = ReloadTurns()
    /// For callback and blocking calls.
    let threads = CallThreads()
    /// The same as ``sender``, where it is one of a transport's.
    let lane: TenantLane?

    /// Creates a client. Nothing is sent until the first request, but for the names to resolve at start, about which
    /// providers are asked in the background. What a store kept from before a restart is taken in first.
    /// - Throws: ``HTTPDNSClientError`` with code `configuration`: a bad mapping or route, a time limit that is not
    ///   positive, a CA file or a client certificate that cannot be used.
    public convenience init(configuration: Configuration = Configuration()) async throws {
        var limits = HTTPDNSTransport.Limits()
        // It is for this client alone, which a reload may give any number of them.
        limits.trustSettings = .max
        limits.idleConnections = configuration.maximumIdleConnections
        var connections = configuration.connections
        // It is the client that counts; a transport that it has for itself need not count again.
        (connections.perHost, connections.total) = (nil, nil)
        let transport = HTTPDNSTransport(
            limits: limits,
            connections: connections,
            logger: configuration.logger,
            driver: configuration.driver
        )
        try await self.init(configuration: configuration, on: transport)
    }

    /// Creates a client on a transport that other clients share. Its shutdown ends its own requests and leaves theirs alone.
    ///
    /// How many connections are kept is the transport's setting; ``Configuration/maximumIdleConnections`` is not looked at.
    /// - Throws: ``HTTPDNSClientError`` with code `configuration`, also for ``HTTPDNSTransport/connections`` that make no
    ///   sense; `limitReached` when the transport has as many different trust settings as it may; `shutDown` when the
    ///   transport is shut down.
    public convenience init(
        configuration: Configuration = Configuration(),
        on transport: HTTPDNSTransport
    ) async throws {
        try configuration.validate()
        try transport.validate()
        let lane = try await TenantLane(configuration, on: transport)
        let resolver: HTTPDNSResolver
        do {
            resolver = try HTTPDNSResolver(configuration.resolverSettings, isEnabled: configuration.isEnabled)
        } catch {
            throw HTTPDNSClientError.configuration("\(error)", underlying: error)
        }
        self.init(configuration: configuration, resolver: resolver, sender: lane, lane: lane)
        lane.noteTaken()
        await resolver.start()
        startWatching(configuration)
    }

    deinit {
        watch.withLock { $0 }?.cancel()
        threads.leave()
    }

    /// Creates a client on another resolver, made from the same settings, and another way to the wire.
    package convenience init(configuration: Configuration, resolver: HTTPDNSResolver, sender: any HopSending) {
        self.init(configuration: configuration, resolver: resolver, sender: sender, lane: nil)
    }

    private init(configuration: Configuration, resolver: HTTPDNSResolver, sender: any HopSending, lane: TenantLane?) {
        self.resolver = resolver
        madeAt = configuration.resolver.timeSource.now()
        rewriter = HTTPDNSRewriter(resolver: resolver, configuration: configuration)
        pipeline = Pipeline(
            configuration,
            rewriter: rewriter,
            sender: sender,
            sharedAdmission: lane?.sharedAdmission
        )
        self.sender = sender
        self.lane = lane
        initial = configuration
        if let value = configuration.environment("HTTPDNS_DISABLED") { heedEnvironment(value, configuration.logger) }
        // A connection that was made one way is not to be used again after a turn: the next request dials anew, and transfers
        // in flight end where they are.
        resolver.killSwitch.onChange { [weak sender, choice = pipeline.choice] _ in
            sender?.retireConnections()
            choice.forgetHeld()
        }
    }

    private func heedEnvironment(_ value: String, _ logger: Logger?) {
        switch value.lowercased() {
        case "1", "true", "yes": resolver.killSwitch.turnOff(.everything, by: .environment)
        case "", "0", "false", "no": break
        default:
            logger?.warning(
                "HTTPDNS_DISABLED is neither 1, true, yes nor 0, false, no: nothing is switched off",
                metadata: ["value": "\(value.escaped(limit: 80))"]
            )
        }
    }

    /// The mappings, which can be changed at any time.
    public var mappings: HTTPDNSMappingStore { resolver.mappings }

    /// Sends a request and returns at the head of its response.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    public func execute(_ request: HTTPDNSClient.Request) async throws -> HTTPDNSClient.Response {
        try await pipeline.call(request)
    }

    /// Sends a request that a stage, of this client or another, has already rewritten. While its tag holds it goes to the
    /// addresses in it, without a question to any provider; afterwards it is rewritten anew.
    ///
    /// Another client's addresses must pass this client's address policy, and all of them its
    /// ``Configuration/reachableNetworks``. Options for the rewriting (`pinnedTo`, `bypass`, `families`, `hostHeader`,
    /// `reachableNetworks`) are those it was rewritten with unless `options` has its own; with other addresses asked for, or
    /// with the stage of this client switched off, the tag does not count.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    public func execute(
        _ rewritten: HTTPDNSRewriter.RewrittenRequest,
        method: HTTPRequest.Method = .get,
        headerFields: HTTPFields = [:],
        body: HTTPDNSClient.Request.Body = .none,
        options: HTTPDNSClient.Request.Options = HTTPDNSClient.Request.Options()
    ) async throws -> HTTPDNSClient.Response {
        let content = rewritten.content
        var options = options
        options.pinnedTo = options.pinnedTo ?? content.pinnedTo
        options.bypass = options.bypass || content.bypass
        options.families = options.families ?? content.families
        options.hostHeader = options.hostHeader ?? content.hostHeader
        // What another client's request may reach does not widen what this client's may.
        if options.reachableNetworks == .inherited, content.reachableNetworks == .publicInternet {
            options.reachableNetworks = .publicInternet
        }
        let request = HTTPDNSClient.Request(
            method: method,
            url: content.originalText,
            headerFields: headerFields,
            body: body,
            options: options
        )
        return try await pipeline.call(request, carrying: rewritten)
    }

    /// Runs the stage alone: resolves, and sends nothing to the origin. Interceptors do not run. Where a proxy is told names,
    /// or for a Unix socket, there is nothing to resolve: the result has no addresses.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    public func rewrite(_ url: String, options: HTTPDNSClient.Request.Options = HTTPDNSClient.Request.Options())
        async throws -> HTTPDNSRewriter.RewrittenRequest
    {
        try pipeline.gate.enter()
        defer { pipeline.gate.leave() }
        let deadline = options.deadline.duration(inheriting: nil).map { SystemTimeSource().now() + $0 }
        let request = HTTPDNSClient.Request(url: url, options: options)
        let rewritten: HTTPDNSRewriter.RewrittenRequest
        if let unresolved = try pipeline.unresolved(request) {
            rewritten = unresolved
        } else {
            rewritten = try await rewriter.rewrite(request, carrying: nil, deadline: deadline)
        }
        let networks = pipeline.reachableNetworks(of: request, in: options.reachableNetworks)
        if networks == .any { return rewritten }
        let way = try pipeline.waysOut.way(of: request, for: rewritten.content.url)
        return try pipeline.limited(rewritten, to: networks, for: request, by: way)
    }

    /// The proxy or Unix socket that a rewritten request goes through.
    /// - Throws: ``HTTPDNSClientError``.
    package func wayOut(
        of rewritten: HTTPDNSRewriter.RewrittenRequest,
        options: HTTPDNSClient.Request.Options = HTTPDNSClient.Request.Options()
    ) throws(HTTPDNSClientError) -> WayOut {
        let request = HTTPDNSClient.Request(url: rewritten.originalURL, options: options)
        return try pipeline.waysOut.way(of: request, for: rewritten.content.url)
    }

    /// Resolves a name or an address literal, as the stage would for a URL with this host and port.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    public func resolve(
        _ host: String,
        port: UInt16 = 443,
        options: HTTPDNSClient.Request.Options = HTTPDNSClient.Request.Options()
    ) async throws -> HTTPDNSResolver.Resolution {
        try pipeline.gate.enter()
        defer { pipeline.gate.leave() }
        let question = try rewriter.question(about: HTTPDNSRewriter.host(host), port: port, options: options)
        let deadline = options.deadline.duration(inheriting: nil).map { SystemTimeSource().now() + $0 }
        var resolution = try await rewriter.resolve(question, deadline: deadline)
        let networks = options.reachableNetworks == .inherited ? pipeline.clientNetworks : options.reachableNetworks
        if networks != .any {
            resolution.endpoints = try networks.reachable(of: resolution.endpoints, question.host)
        }
        return resolution
    }

    /// Looks at the files of ``Configuration/trust`` now, and returns when changed ones are in use: new requests get new
    /// connections with them, requests in flight end on the old ones. Without this call a change is seen by the first request
    /// a second later.
    /// - Throws: ``HTTPDNSClientError`` with code `configuration` when the files cannot be used: a certificate whose key is
    ///   another one's, text that is no PEM. What was in use before stays so.
    public func reloadCertificates() async throws {
        try await lane?.reloadCertificates()
    }

    /// Refuses new requests, lets those in flight end for `duration`, cuts the rest, and ends the providers.
    ///
    /// In flight are calls until their response's body has ended. Idempotent, also from several tasks at once: each waits,
    /// and the shortest duration decides.
    /// - Throws: `CancellationError` when the task is cancelled while it waits; what is in flight is then cut at once.
    public func shutdown(drainingFor duration: Duration = .zero) async throws {
        pipeline.gate.close()
        let watch = watch.withLock { $0 }
        watch?.cancel()
        let clock = SystemTimeSource()
        let deadline = clock.now() + duration
        if duration > .zero { await pipeline.gate.awaitEmpty(until: deadline, on: clock) }
        pipeline.endWaiting()
        let left = Task.isCancelled ? .zero : max(.zero, deadline - clock.now())
        await withTaskCancellationHandler {
            await sender.shutdown(drainingFor: left)
        } onCancel: {
            // A second shutdown without a draining time cuts what the first one waits for.
            Task { [sender] in await sender.shutdown(drainingFor: .zero) }
        }
        await resolver.shutdown()
        threads.leave()
        // The watcher may hang in a file system. A reload that it still finishes is refused.
        if let watch {
            let end = max(deadline, clock.now() + HTTPDNSClient.watchEndLimit)
            _ = await LimitedWork.run(until: end, on: clock) { await watch.end() }
        }
        try Task.checkCancellation()
    }

    /// The time that a shutdown leaves the watcher of a file to end, when the draining time is over. A watcher that does not
    /// hang ends within a few milliseconds.
    private static let watchEndLimit = Duration.milliseconds(100)
}
