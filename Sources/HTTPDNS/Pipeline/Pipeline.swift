internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes
internal import Logging
internal import Synchronization

/// The request pipeline, outermost step first: call, application interceptors, retries, redirects, hops, network
/// interceptors, rewriter, transfer.
///
/// Each step is a function that calls the next one. Without interceptors nothing is allocated and no closure is made
/// between the call and the rewriter.
final class Pipeline: Sendable {
    let rewriter: HTTPDNSRewriter
    let gate = CallGate()
    private let application: [any HTTPDNSClient.Interceptor]
    private let network: [any HTTPDNSClient.Interceptor]
    let sender: any HopSending
    /// The settings that a reload changes. A call uses those at its start, a hop those at the time of sending.
    private let settings: Lock<SharedCallSettings>
    /// A counter with two steps for each exchange of settings: one when it begins, one when it is done.
    private let settingsChanges = Atomic<UInt64>(0)
    /// Whether a call without networks of its own may reach only the public Internet. It copies ``settings``, so that
    /// every hop can read it without the lock.
    private let reachesPublicInternetOnly: Atomic<Bool>
    /// The order of addresses, as far as their source influences it.
    private let order: AddressOrder
    private let hedgeAfter: Duration?
    /// The choice of endpoints besides the addresses that a hop has.
    let choice: ConnectionChoice
    /// The selector of the egress path.
    let egress: EgressSelector
    let logger: Logger?
    /// Called for header fields before each hop.
    let computedHeaders: (@Sendable (HTTPDNSClient.Request) async throws -> HTTPFields)?
    /// Called before a redirect is followed.
    let redirectHook:
        (@Sendable (HTTPDNSClient.RedirectPolicy.Redirect) async throws -> HTTPDNSClient.RedirectPolicy.Decision)?
    let retrying: RetryState
    /// The queues in which hops wait for a connection, in this order: the client's own, then the queue of all clients
    /// of its transport. Empty when connections are not limited.
    let admissions: [Admission]
    let member = Admission.Member()

    init(
        _ configuration: HTTPDNSClient.Configuration,
        rewriter: HTTPDNSRewriter,
        sender: any HopSending,
        sharedAdmission: Admission? = nil
    ) {
        admissions = [Admission(configuration.connections), sharedAdmission].compactMap(\.self)
        self.rewriter = rewriter
        self.sender = sender
        application = configuration.applicationInterceptors
        network = configuration.networkInterceptors
        order = AddressOrder(configuration.connections)
        hedgeAfter = configuration.connections.hedgeAfter
        choice = ConnectionChoice(configuration.connections, time: configuration.resolver.timeSource)
        egress = EgressSelector(configuration)
        logger = configuration.logger
        computedHeaders = configuration.computedHeaders
        redirectHook = configuration.redirectHook
        retrying = RetryState(configuration)
        settings = Lock(SharedCallSettings(CallSettings(configuration)))
        reachesPublicInternetOnly = Atomic(configuration.reachableNetworks == .publicInternet)
    }

    /// Replaces settings that are stored in several parts: for a hop all of them change in one step.
    /// - Parameter exchange: Stores all parts. It must not wait.
    func exchangeSettings(_ exchange: () -> Void) {
        settingsChanges.add(1, ordering: .sequentiallyConsistent)
        exchange()
        settingsChanges.add(1, ordering: .sequentiallyConsistent)
    }

    /// Returns the number of the settings in use, which is even. During an exchange it waits for some microseconds.
    func settingsNumber() async -> UInt64 {
        while true {
            let number = settingsChanges.load(ordering: .sequentiallyConsistent)
            if number.isMultiple(of: 2) { return number }
            await Task.yield()
        }
    }

    /// Whether a hop was made with other settings than those in use. It is then started again, since its address, its
    /// fields and its trust settings could belong to different ones.
    func isStale(_ context: HTTPDNSClient.InterceptionContext) -> Bool {
        guard let number = context.settingsNumber else { return false }
        return settingsChanges.load(ordering: .sequentiallyConsistent) != number
    }

    /// Replaces time limits, versions, limits of bodies and the trust settings for proxies.
    /// - Returns: Whether any of them differs from before.
    func reload(_ configuration: HTTPDNSClient.Configuration) -> Bool {
        let new = SharedCallSettings(CallSettings(configuration))
        return settings.withLock { settings in
            defer { settings = new }
            reachesPublicInternetOnly.store(new.values.reachableNetworks == .publicInternet, ordering: .releasing)
            return settings.values != new.values
        }
    }

    /// The settings in force.
    var current: SharedCallSettings { settings.withLock { $0 } }

    /// The limits in force.
    var limits: TransferLimits { current.values.limits }
    /// Returns the time limits of a call: its own, or those of the client.
    func time(_ own: HTTPDNSClient.TimeLimit) -> CallTime { CallTime(own, current.values) }

    /// The redirect policy for requests without one of their own.
    var redirects: HTTPDNSClient.RedirectPolicy { current.values.redirects }
    /// The retry policy for requests without one of their own.
    var retries: HTTPDNSClient.RetryPolicy { current.values.retries }
    /// The networks that a call without any of its own may reach.
    var clientNetworks: HTTPDNSClient.ReachableNetworks {
        reachesPublicInternetOnly.load(ordering: .acquiring) ? .publicInternet : .any
    }
    /// The trust settings for HTTPS proxies.
    var proxyTrust: ProxyTrust { current.values.proxyTrust }

    // MARK: call

    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    func call(_ request: HTTPDNSClient.Request, carrying rewritten: HTTPDNSRewriter.RewrittenRequest? = nil)
        async throws -> HTTPDNSClient.Response
    {
        let time = time(request.own?.options.timeout ?? .inherited)
        do {
            if !hasCodeOfOthers { return try await plainCall(request, carrying: rewritten, time) }
            return try await interceptedCall(request, carrying: rewritten, time)
        } catch let error as HTTPDNSClientError {
            throw completed(error, time)
        }
    }

    /// Returns an error with the facts of the call added, as it leaves the pipeline.
    func completed(_ error: HTTPDNSClientError, _ time: CallTime) -> HTTPDNSClientError {
        var error = error
        if error.elapsed == .zero { error.elapsed = time.elapsed }
        // The resolver counts from its own start; the caller counts from the start of the call.
        if error.isCallDeadline, !(error.underlying is TransferFailure), let limit = time.firstLimit {
            error.limit = limit
        }
        log(error)
        return error
    }

    private func plainCall(
        _ request: HTTPDNSClient.Request,
        carrying rewritten: HTTPDNSRewriter.RewrittenRequest?,
        _ time: CallTime
    ) async throws -> HTTPDNSClient.Response {
        try gate.enter()
        defer { gate.leave() }
        return try await sendAgain(
            request,
            HTTPDNSClient.InterceptionContext(
                callID: 0,
                hop: 0,
                deadline: time.deadline,
                depth: 0,
                rewritten: rewritten,
                call: time,
                reachableNetworks: request.own?.options.reachableNetworks ?? .inherited,
                compressed: request.body.coding == nil ? nil : CompressedOnce(),
                frame: nil
            )
        )
    }

    private func interceptedCall(
        _ request: HTTPDNSClient.Request,
        carrying rewritten: HTTPDNSRewriter.RewrittenRequest?,
        _ time: CallTime
    ) async throws -> HTTPDNSClient.Response {
        let frame = CallFrame(client: self)
        guard frame.depth <= CallFrame.maximumDepth else {
            throw HTTPDNSClientError.loop(depth: frame.depth, url: request.url)
        }
        try gate.enter(nested: frame.depth > 0)
        defer { gate.leave() }
        let context = HTTPDNSClient.InterceptionContext(
            callID: Pipeline.lastCallID.wrappingAdd(1, ordering: .relaxed).newValue,
            hop: 0,
            deadline: time.deadline,
            depth: frame.depth,
            rewritten: rewritten,
            call: time,
            reachableNetworks: request.own?.options.reachableNetworks ?? .inherited,
            // Interceptors may send another request, which is not known in advance.
            compressed: CompressedOnce(),
            frame: frame
        )
        do {
            var response = try await CallFrame.$current.withValue(frame) {
                try await ended(by: time.deadline) { [context] in try await self.apply(0, request, context) }
            }
            frame.addEarlier(to: &response.exchanges)
            return response
        } catch is CallOverdue {
            throw HTTPDNSClientError.overdue(time, mayHaveBeenSent: frame.mayHaveSent)
        } catch is CancellationError {
            throw CancellationError()
        } catch {
            var error = error as? HTTPDNSClientError ?? HTTPDNSClientError(interceptorError: error)
            if frame.mayHaveSent { error.requestMayHaveBeenSent = true }
            throw error
        }
    }

    /// Runs the steps of a call that include foreign code, and cancels them at the call's deadline. Code that ignores
    /// cancellation still delays the call.
    private func ended(
        by deadline: MonotonicTime?,
        _ steps: @escaping @Sendable () async throws -> HTTPDNSClient.Response
    ) async throws -> HTTPDNSClient.Response {
        guard let deadline else { return try await steps() }
        return try await withThrowingTaskGroup(of: HTTPDNSClient.Response?.self) { tasks in
            tasks.addTask { try await steps() }
            tasks.addTask {
                // The step in progress ends at the deadline, with an error that names the phase.
                try await SystemTimeSource().sleep(until: deadline + Pipeline.overdueGrace)
                return nil
            }
            defer { tasks.cancelAll() }
            while let response = try await tasks.next() {
                if let response { return response }
                tasks.cancelAll()
                do {
                    _ = try await tasks.next()
                } catch let error as HTTPDNSClientError where error.code == .timedOut {
                    throw error
                } catch {}
                throw CallOverdue()
            }
            throw CancellationError()
        }
    }

    /// The time that the step in progress has after the deadline for its own error.
    private static let overdueGrace = Duration.milliseconds(20)
    private struct CallOverdue: Error {}

    /// Whether interceptors or hooks run within a call.
    private var hasCodeOfOthers: Bool {
        !application.isEmpty || !network.isEmpty || computedHeaders != nil || redirectHook != nil
    }

    static let lastCallID = Atomic<UInt64>(0)

    // MARK: application interceptors, once per call

    private func apply(
        _ index: Int,
        _ request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSClient.Response {
        var context = context
        if index == 0 || index == application.count { context.initialURL = request.url }
        guard index < application.count else { return try await sendAgain(request, context) }
        context.requestURL = request.url
        return try await application[index].intercept(request, context: context) { request, context in
            try await self.apply(index + 1, request, context)
        }
    }

    // MARK: hops

    /// Sends one hop of a call. A retry or a redirect is a new hop: it increments the number, and it starts without a
    /// tag.
    func sendHop(_ request: HTTPDNSClient.Request, _ context: HTTPDNSClient.InterceptionContext) async throws
        -> HTTPDNSClient.Response
    {
        var (request, context) = (request, context)
        if let frame = context.frame { context.hop = frame.nextHop() }
        context.addedFields = [:]
        try await settle(&request, &context)
        return try await hop(0, request, context)
    }

    // MARK: network interceptors, once per hop

    private func hop(
        _ index: Int,
        _ request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSClient.Response {
        guard index < network.count else { return try await rewriteAndTransfer(request, context) }
        var context = context
        context.requestURL = request.url
        return try await network[index].intercept(request, context: context) { request, context in
            try await self.hop(index + 1, request, context)
        }
    }

    // MARK: rewriter and transfer

    /// Sends a hop, and prepares it again when the settings change before it is sent. Its interceptors do not run
    /// again.
    private func rewriteAndTransfer(
        _ request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSClient.Response {
        do {
            return try await rewriteAndTransferOnce(request, context)
        } catch is StaleSettings {
            var (request, context) = (request, context)
            try await settle(&request, &context)
            return try await rewriteAndTransfer(request, context)
        }
    }

    private func rewriteAndTransferOnce(
        _ request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSClient.Response {
        var rewritten = try await rewritten(request, context)
        guard !admissions.isEmpty, let (permit, hasWaited) = try await admit(request, to: rewritten, context) else {
            return try await connect(request, to: rewritten, context)
        }
        // Meanwhile the mapping, the age of the answer or the kill switch may have changed.
        if hasWaited { rewritten = try await self.rewritten(request, context) }
        var context = context
        context.permit = permit
        return try await connect(request, to: rewritten, context)
    }

    func rewritten(
        _ request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSRewriter.RewrittenRequest {
        if let unresolved = try unresolved(request) { return unresolved }
        let rewritten = try await rewriter.rewrite(
            request,
            carrying: context.rewritten,
            deadline: context.call.firstDeadline,
            freshAfter: context.constraints.freshAfter
        )
        guard let scope = context.constraints.redirectedFrom else { return rewritten }
        return try rewriter.keptOutside(rewritten, for: request, redirectedFrom: scope)
    }

    func transfer(
        _ request: HTTPDNSClient.Request,
        to given: HTTPDNSRewriter.RewrittenRequest,
        _ context: HTTPDNSClient.InterceptionContext,
        usedSystemFallback: Bool = false
    ) async throws -> HTTPDNSClient.Response {
        if request.body.isSpent { throw HTTPDNSClientError.bodySentTwice }
        var rewritten = given
        var endpoints = given.content.resolution.endpoints
        var held: HTTPDNSEndpoint?
        let stay = choice.stay(of: given, among: endpoints)
        if let endpoint = stay?.endpoint,
            let staying = rewriter.staying(
                on: endpoint,
                given,
                for: request,
                redirectedFrom: context.constraints.redirectedFrom
            )
        {
            rewritten = staying
            endpoints.insert(endpoint, at: 0)
            held = endpoint
        }
        let egressChoice = try egress.choice(of: request, for: given.content.url)
        let networks = reachableNetworks(of: request, context)
        if networks != .any {
            rewritten = try limited(rewritten, to: networks, for: request, by: egressChoice)
            endpoints = rewritten.content.resolution.endpoints
        }
        let hop = HopRecord(rewritten: rewritten, time: context.call)
        let answer: HopAnswer
        do {
            answer = try await send(request, to: rewritten, endpoints, by: egressChoice, context, hop)
        } catch let failure as TransferFailure {
            if failure.requestMayHaveBeenSent { context.frame?.noteSent() }
            throw HTTPDNSClientError(failure, on: hop)
        }
        context.frame?.noteSent()
        // A connection that carries one request at a time counts as one.
        if rewritten.content.sent.scheme == .https || !CurlLibrary.limitsClearTextHTTP2 {
            context.permit?.note(answer.version)
        }
        if let stay { choice.noteAnswer(from: answer.endpoint, held: held, to: rewritten, stay) }
        let keptPreviousAddress = held != nil && held == answer.endpoint
        if keptPreviousAddress { choice.counting.count(\.keptPreviousAddress) }
        log(answer, rewritten)
        var exchange = HTTPDNSClient.Exchange(
            request: rewritten,
            remote: answer.endpoint,
            proxy: egressChoice.proxy?.description,
            usedSystemFallback: usedSystemFallback,
            keptPreviousAddress: keptPreviousAddress,
            failedAttempts: answer.failedAttempts.map(HTTPDNSClientError.Attempt.init),
            droppedFields: context.constraints.droppedFields,
            reusedConnection: answer.reusedConnection,
            isHedged: answer.hedges > 0,
            peerCertificates: answer.peerCertificates,
            version: answer.version,
            status: answer.head.status,
            resolve: rewritten.source == .request || rewritten.isUnresolved ? nil : rewritten.resolution.elapsed,
            timings: answer.timings
        )
        context.frame?.note(&exchange)
        return HTTPDNSClient.Response(
            head: answer.head,
            version: answer.version,
            body: HTTPDNSClient.Response.Body(
                answer.body,
                of: hop,
                length: BodyLength(declaredBy: answer.head, to: request)
            ),
            exchanges: [exchange]
        )
    }

    func transferRequest(
        _ request: HTTPDNSClient.Request,
        to rewritten: HTTPDNSRewriter.RewrittenRequest,
        _ endpoints: [HTTPDNSEndpoint],
        through egressPath: EgressPath?,
        _ context: HTTPDNSClient.InterceptionContext,
        _ body: RequestBodySource
    ) throws(HTTPDNSClientError) -> TransferRequest {
        let content = rewritten.content
        let settings = current
        var transfer = TransferRequest(
            method: request.method,
            url: content.sent,
            headerFields: request.headerFields,
            body: body,
            endpoints: endpoints,
            limits: settings.values.limits,
            versions: request.own?.options.versions.inheriting(from: settings.values.versions)
                ?? settings.values.versions,
            hostHeader: content.hostHeader ?? (content.resolution.identity == nil ? nil : content.url.authority)
        )
        transfer.egressPath = egressPath
        transfer.order = order.order(of: content.resolution)
        transfer.hedgeAfter = hedgeAfter
        transfer.limits.deadline = context.call.deadline
        transfer.limits.headDeadline = context.call.headDeadline
        if !request.body.isEmpty { transfer.limits.headAfterBody = context.call.headLimit }
        transfer.permit = context.permit
        transfer.withholdsCertificate = context.constraints.isForeign
        transfer.uploadProgress = request.body.progress(sending: body)
        transfer.decodes = request.isDecoded
        if let type = request.body.contentType, !request.headerFields.contains(.contentType) {
            transfer.headerFields[.contentType] = type
        }
        if let coding = request.body.coding { transfer.headerFields[.contentEncoding] = coding.name }
        if let options = request.own?.options {
            transfer.stopsBeforeSending = options.stopsBeforeSending
            transfer.keepsConnection = options.keepsConnection
            if !options.maximumResponseBody.isInherited {
                transfer.limits.maximumResponseBytes = options.maximumResponseBody.bytes
            }
        }
        if let credential = content.url.parsed.credential, !request.headerFields.contains(.authorization) {
            transfer.headerFields.append(try BasicCredential.field(for: credential))
        }
        return transfer
    }

    // MARK: log lines

    private func log(_ answer: HopAnswer, _ rewritten: HTTPDNSRewriter.RewrittenRequest) {
        guard let logger, logger.logLevel <= .debug else { return }
        logger.debug(
            "request answered",
            metadata: [
                "host": "\(rewritten.content.url.host)", "status": "\(answer.head.status.code)",
                "remote": "\(answer.endpoint)", "source": "\(rewritten.source)",
                "reused": "\(answer.reusedConnection)", "version": "\(answer.version)",
            ]
        )
    }

    private func log(_ error: HTTPDNSClientError) {
        guard let logger, logger.logLevel <= .debug else { return }
        logger.debug(
            "request failed",
            metadata: [
                "error": "\(error.shortDescription)", "message": "\(error.message)", "host": "\(error.host ?? "-")",
                "elapsed": "\(error.elapsed.shortText)", "may_have_been_sent": "\(error.requestMayHaveBeenSent)",
            ]
        )
    }
}
