// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
public import HTTPTypes
internal import Logging

/// An HTTP client that resolves names through mappings and HTTP-DNS providers and keeps each URL's name for TLS and
/// HTTP.
///
/// ```swift
/// let client = try await HTTPDNSClient()
/// let response = try await client.get("https://img.shop.example/a.jpg") { $0.timeouts.total = .seconds(2) }
/// let picture = try await response.body.collect(upTo: .mebibytes(4))
/// try await client.shutdown()
/// ```
///
/// A client is safe to use from any number of tasks, and one is enough for a process. When a client is released without
/// ``shutdown(drainingFor:)``, its transfers finish, its thread ends, and a warning is logged.
public final class HTTPDNSClient: Sendable {
    /// The rewriter of this client, which can be listed among another client's interceptors.
    public let rewriter: HTTPDNSRewriter

    /// The interceptors of this client, which begin with those of its configuration. Changes concern later calls.
    public var interceptors: InterceptorRegistry { pipeline.interceptors }

    /// Whether later calls pass ``Configuration/innermost``.
    package var usesInnermost: Bool {
        get { pipeline.usesInnermost }
        set { pipeline.usesInnermost = newValue }
    }

    let pipeline: Pipeline
    /// The initial settings, from which the settings that a reload cannot change are found.
    let initial: Configuration
    /// The resolver that finds addresses, with its counters, events and cache.
    public let resolver: HTTPDNSResolver

    let sender: any HopSending
    /// The time at which the client was made, on the resolver's clock.
    let madeAt: MonotonicTime
    /// The watch on the source of the settings; nil without one.
    let watch = Lock<(any ConfigurationWatch)?>(nil)
    /// Serializes reloads.
    let reloading = ReloadSerializer()
    /// The threads for callback and blocking calls.
    let threads = CallThreads()
    /// The same object as ``sender`` when it belongs to a transport.
    let clientTransport: ClientTransport?

    /// Creates a client. Nothing is sent until the first request, except queries to providers for the names to resolve
    /// at start, in the background. Answers that a store kept from before a restart are loaded first.
    /// - Throws: ``HTTPDNSClientError`` with code `configuration`: an invalid mapping or route, a time limit that is
    ///   not positive, a CA file or a client certificate that cannot be used.
    public convenience init(configuration: Configuration = Configuration()) async throws {
        var limits = HTTPDNSLibcurlTransport.Limits()
        // The transport is for this client alone, and reloads may bring any number of trust settings.
        limits.trustSettings = .max
        limits.idleConnections = configuration.connections.maximumIdle
        var connections = configuration.connections
        // The client counts connections; its own transport need not count them again.
        (connections.maximumPerHost, connections.maximum) = (nil, nil)
        let transport = HTTPDNSLibcurlTransport(limits: limits, connections: connections, logger: configuration.logger)
        try await self.init(configuration: configuration, on: transport)
    }

    /// Creates a client on a transport that other clients share. Its shutdown ends its own requests and leaves theirs
    /// alone.
    ///
    /// The transport sets the number of kept connections; ``Configuration/Connections/maximumIdle`` is ignored.
    /// - Throws: ``HTTPDNSClientError`` with code `configuration`, also for invalid ``HTTPDNSLibcurlTransport/connections``;
    ///   `limitReached` when the transport already has its maximum of different trust settings; `shutDown` when the
    ///   transport is shut down.
    public convenience init(
        configuration: Configuration = Configuration(),
        on transport: HTTPDNSLibcurlTransport
    ) async throws {
        try configuration.validate()
        try transport.validate()
        var configuration = configuration
        configuration.responseCaching = try await configuration.responseCaching.opened(configuration.logger)
        let clientTransport = try await ClientTransport(configuration, on: transport)
        try self.init(configuration, sender: clientTransport, clientTransport: clientTransport)
        clientTransport.noteTaken()
        try await begin(configuration)
    }

    /// Creates a client that sends its hops by a transport of the program's own.
    ///
    /// Connections are then the transport's: ``Configuration/connections`` (except limits and retries by address), certificates,
    /// hedging, and bandwidth below the body. Not yet stable; see ``HTTPDNSTransport``.
    /// - Throws: ``HTTPDNSClientError`` with code `configuration`, also for a proxy, a local address and trust settings, which
    ///   only libcurl's transport has.
    public convenience init(configuration: Configuration, on transport: any HTTPDNSTransport) async throws {
        try configuration.validate()
        try TransportAdapter.check(configuration)
        var configuration = configuration
        configuration.responseCaching = try await configuration.responseCaching.opened(configuration.logger)
        let adapter = TransportAdapter(transport, maximum: configuration.maximumRequestsInFlight)
        try self.init(configuration, sender: adapter, clientTransport: nil)
        try await begin(configuration)
    }

    private convenience init(_ configuration: Configuration, sender: any HopSending, clientTransport: ClientTransport?)
        throws
    {
        let resolver: HTTPDNSResolver
        do {
            resolver = try HTTPDNSResolver(
                configuration.resolverSettings,
                isEnabled: configuration.isEnabled,
                systemResolver: configuration.systemResolver
            )
        } catch {
            throw HTTPDNSClientError.configuration("\(error)", underlying: error)
        }
        self.init(configuration: configuration, resolver: resolver, sender: sender, clientTransport: clientTransport)
    }

    private func begin(_ configuration: Configuration) async throws {
        try await loadCookies(configuration)
        await resolver.start()
        startWatching(configuration)
    }

    deinit {
        watch.withLock { $0 }?.cancel()
        pipeline.observers.end()
        threads.leave()
    }

    /// Creates a client with another resolver, made from the same settings, and another sender.
    package convenience init(configuration: Configuration, resolver: HTTPDNSResolver, sender: any HopSending) {
        self.init(configuration: configuration, resolver: resolver, sender: sender, clientTransport: nil)
    }

    private init(
        configuration: Configuration,
        resolver: HTTPDNSResolver,
        sender: any HopSending,
        clientTransport: ClientTransport?
    ) {
        self.resolver = resolver
        madeAt = configuration.resolver.timeSource.now()
        rewriter = HTTPDNSRewriter(resolver: resolver, configuration: configuration)
        pipeline = Pipeline(
            configuration,
            rewriter: rewriter,
            sender: sender,
            sharedAdmission: clientTransport?.sharedAdmission,
            loops: clientTransport?.loops ?? 1
        )
        self.sender = sender
        self.clientTransport = clientTransport
        initial = configuration
        if let value = configuration.environment("HTTPDNS_DISABLED") { heedEnvironment(value, configuration.logger) }
        let unusable = configuration.options.proxy.unusableExceptions(in: configuration.environment)
        if !unusable.isEmpty {
            configuration.logger?.warning(
                "no_proxy has entries that match no host",
                metadata: ["entries": "\(unusable.joined(separator: ", ").escaped(limit: 200))"]
            )
        }
        // A connection made in one state of the switch is not used in the other. The next request connects again, and
        // transfers in flight finish on their connections.
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

    /// Reads the file of the client's own jar. A jar that the program gave to the client has read its file.
    private func loadCookies(_ configuration: Configuration) async throws {
        guard case .file = configuration.cookies.content else { return }
        do {
            try await cookieJar?.load()
        } catch let error as CookieJar.FileError {
            try await shutdown()
            throw HTTPDNSClientError.configuration("\(error)", hint: "client.cookies names it", underlying: error)
        } catch {
            try await shutdown()
            throw error
        }
    }

    /// The cache of responses; nil without one.
    package var openResponseCache: (any ResponseCaching)? { pipeline.responseCache }

    /// The jar with the client's cookies; nil with ``Configuration/Cookies/off``.
    public var cookieJar: CookieJar? { pipeline.cookies }

    /// The mappings, which can be changed at any time.
    public var mappings: HTTPDNSMappingStore { resolver.mappings }

    /// Sends a request and returns when its response head has arrived.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    public func execute(_ request: HTTPDNSClient.Request) async throws -> HTTPDNSClient.Response {
        try await pipeline.call(request.beginningCall)
    }

    /// Sends a request that a rewriter, of this client or another, has already rewritten. While its tag is valid the
    /// request goes to the tag's addresses without a query to any provider; after that it is rewritten again.
    ///
    /// Another client's addresses must pass this client's address policy, and all addresses its
    /// ``Options/reachableNetworks``. Options for the rewriting (`addresses`, `families`, `hostHeader`,
    /// `reachableNetworks`) are those of the first rewriting, unless `change` sets them. The tag does not count when
    /// other addresses are requested, or when the rewriter of this client is switched off.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    public func execute(
        _ rewritten: HTTPDNSRewriter.RewrittenRequest,
        method: HTTPRequest.Method = .get,
        headerFields: HTTPFields = [:],
        body: HTTPDNSClient.Request.Body = .none,
        _ change: HTTPDNSClient.Request.Options.Change? = nil
    ) async throws -> HTTPDNSClient.Response {
        let content = rewritten.content
        let request = HTTPDNSClient.Request(
            method: method,
            url: content.originalText,
            headerFields: headerFields,
            body: body
        ) { options in
            options.addresses = content.addresses
            options.families = content.families
            options.hostHeader = content.hostHeader
            change?(&options)
            options.reachableNetworks = options.reachableNetworks.narrowed(by: content.reachableNetworks)
        }
        return try await pipeline.call(request, carrying: rewritten)
    }

    /// Runs the rewriter alone: it resolves, and sends nothing to the origin. Interceptors do not run. The result has
    /// no addresses for a proxy that resolves names, or for a Unix socket, because there is nothing to resolve.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    public func rewrite(_ url: String, _ change: HTTPDNSClient.Request.Options.Change? = nil) async throws
        -> HTTPDNSRewriter.RewrittenRequest
    {
        let request = resolved(HTTPDNSClient.Request(url: url, change))
        let deadline = CallTime(request.options.timeouts).deadline
        try pipeline.gate.enter()
        defer { pipeline.gate.leave() }
        let rewritten: HTTPDNSRewriter.RewrittenRequest
        if !pipeline.egress.isDirect(request), let unresolved = try pipeline.unresolved(request) {
            rewritten = unresolved
        } else {
            rewritten = try await rewriter.rewrite(request, carrying: nil, deadline: deadline)
        }
        let networks = pipeline.clientNetworks.narrowed(by: request.options.reachableNetworks)
        if networks == .any { return rewritten }
        let egressChoice = try pipeline.egress.choice(of: request, for: rewritten.content.url)
        return try rewriter.limited(rewritten, to: networks, for: request, by: egressChoice)
    }

    /// Returns a request with the options of a call that starts now.
    package func resolved(_ request: HTTPDNSClient.Request) -> HTTPDNSClient.Request { pipeline.resolved(request) }

    /// Returns the proxy or Unix socket that a rewritten request goes through.
    /// - Throws: ``HTTPDNSClientError``.
    package func egressChoice(
        of rewritten: HTTPDNSRewriter.RewrittenRequest,
        options: HTTPDNSClient.Request.Options
    ) throws(HTTPDNSClientError) -> EgressChoice {
        let request = HTTPDNSClient.Request(url: rewritten.originalURL, options: options)
        return try pipeline.egress.choice(of: request, for: rewritten.content.url)
    }

    /// Resolves a name or an address literal, as the rewriter does for a URL with this host and port.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    public func resolve(
        _ host: String,
        port: UInt16 = 443,
        _ change: HTTPDNSClient.Request.Options.Change? = nil
    ) async throws -> HTTPDNSResolver.Resolution {
        try pipeline.gate.enter()
        defer { pipeline.gate.leave() }
        let options = resolved(HTTPDNSClient.Request(url: "", change)).options
        let question = try rewriter.question(about: HTTPDNSRewriter.host(host), port: port, options: options)
        var resolution = try await rewriter.resolve(question, deadline: CallTime(options.timeouts).deadline)
        let networks = pipeline.clientNetworks.narrowed(by: options.reachableNetworks)
        if networks != .any {
            resolution.endpoints = try networks.reachable(of: resolution.endpoints, question.host)
        }
        return resolution
    }

    /// Checks the files of ``Configuration/trust`` now, and returns when changed ones are in use. New requests get new
    /// connections with them; requests in flight finish on the old ones. Without this call, the first request a second
    /// later notices a change.
    /// - Throws: ``HTTPDNSClientError`` with code `configuration` when the files cannot be used, such as a certificate
    ///   with another certificate's key, or text that is not PEM. The previous files stay in use.
    public func reloadCertificates() async throws {
        try await clientTransport?.reloadCertificates()
    }

    /// Refuses new requests, lets those in flight finish for `duration`, cancels the rest, and shuts down the
    /// providers.
    ///
    /// A call is in flight until its response body has ended. Idempotent, also from several concurrent tasks: each
    /// waits, and the shortest duration decides.
    /// - Throws: `CancellationError` when the task is canceled while it waits; requests in flight are then canceled
    ///   immediately.
    public func shutdown(drainingFor duration: Duration = .zero) async throws {
        pipeline.gate.close()
        let watch = watch.withLock { $0 }
        watch?.cancel()
        let clock = SystemTimeSource()
        let deadline = clock.now() + duration
        if duration > .zero { await pipeline.gate.awaitEmpty(until: deadline, on: clock) }
        pipeline.admissions.close()
        pipeline.authentication.ending.close()
        let left = Task.isCancelled ? .zero : max(.zero, deadline - clock.now())
        await withTaskCancellationHandler {
            await sender.shutdown(drainingFor: left)
        } onCancel: {
            // A second shutdown without a draining time cancels the requests that the first one waits for.
            Task { [sender] in await sender.shutdown(drainingFor: .zero) }
        }
        await resolver.shutdown()
        pipeline.observers.end()
        if let jar = pipeline.cookies {
            // A file system that hangs does not hold up the shutdown. An error is in the log and in the jar's status.
            let end = max(deadline, clock.now() + HTTPDNSClient.cookieSaveLimit)
            _ = await LimitedWork.run(until: end, on: clock) { try await jar.save() }
        }
        threads.leave()
        // The watcher may hang in a file system. A reload that it finishes later is refused.
        if let watch {
            let end = max(deadline, clock.now() + HTTPDNSClient.watchEndLimit)
            _ = await LimitedWork.run(until: end, on: clock) { await watch.end() }
        }
        try Task.checkCancellation()
    }

    /// The time that a shutdown leaves the watcher of a file to end, after the draining time. A watcher that does not
    /// hang ends within a few milliseconds.
    private static let watchEndLimit = Duration.milliseconds(100)
    /// The time that a shutdown leaves the jar to write its file, after the draining time.
    private static let cookieSaveLimit = Duration.seconds(2)
}

extension HTTPDNSClient {
    /// Excludes all open connections from later requests. Idle connections are closed soon; transfers in flight finish
    /// on theirs.
    public func retireConnections() {
        sender.retireConnections()
        pipeline.choice.forgetHeld()
    }

    /// Excludes the open connections to one host from later requests.
    public func retireConnections(host: HTTPDNSName) {
        sender.retireConnections(host: host.description)
        pipeline.choice.forgetHeld()
    }

    /// The connection records of addresses, sorted by address. For each of the client's trust settings there are at
    /// most 4,096 records of connection attempts, and as many of ejected addresses.
    public var endpointRecords: [HTTPDNSClient.EndpointRecord] { sender.endpointRecords }

    /// The open connections: the largest pools first, then by host. On a shared transport, it includes the connections
    /// of other clients with the same trust settings, because they are shared.
    public var connectionPools: [HTTPDNSClient.ConnectionPool] {
        sender.connectionPools.filter { $0.connections > 0 }
    }

    /// The counters of requests that went elsewhere than to the first address they were given.
    public var connectionCounters: HTTPDNSClient.ConnectionCounters { pipeline.choice.counters }

    /// The number of requests that wait for a connection: this client's, and those of all clients of a transport that
    /// limits them.
    public var requestsWaiting: Int { pipeline.admissions.waiting }

    /// The number of requests that were sent and whose response has not ended.
    package var requestsInFlight: Int { sender.transfersInFlight }

    /// The number of connections in use, as the limits of connections count them.
    package var permitsTaken: Int { pipeline.admissions.queues.reduce(0) { $0 + $1.connections } }

    /// Keeps the connections that close from now on, until ``dropClosedConnections()``.
    package func keepClosedConnections() { clientTransport?.closedConnections.begin() }

    /// Ends what ``keepClosedConnections()`` began.
    package func dropClosedConnections() { clientTransport?.closedConnections.end() }

    /// Returns the kept connections that no exporter has taken yet, and the number of those that were too many to be kept. On
    /// a shared transport, they are those of all its clients.
    package func takeClosedConnections() -> (connections: [HTTPDNSTransfer.ClosedConnection], missed: Int) {
        clientTransport?.closedConnections.take() ?? ([], 0)
    }
}

extension HTTPDNSClient: CustomReflectable {
    /// An empty mirror: the settings hold default header fields.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
