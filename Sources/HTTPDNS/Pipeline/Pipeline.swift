// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes
internal import Logging
internal import Synchronization

/// The request pipeline: its stored state, and the order of its steps.
///
/// Once per call, outermost step first:
///
/// 1. The call: its time limits, its count, its errors (`Pipeline+Call.swift`).
/// 2. Application interceptors (``apply(_:_:_:)``).
/// 3. Merging of identical reads in flight (`Pipeline+Merging.swift`).
/// 4. Redirects, authentication and retries: ``CallState`` decides which request is sent next.
///
/// Once per request, which is a hop or another try of it, down and back in reverse: ``sendOuter(_:)``.
///
/// 5. Cookies, and the header fields of the client (``ClientFields``).
/// 6. The response cache (``CacheableHop``).
/// 7. Network interceptors, then the stubs of a test, and then the handlers of schemes (`SchemeHandlers.swift`).
///
/// Once per request that the interceptors pass on: ``InnerHop``. A connection that is made in advance passes these steps alone
/// (`Pipeline+Preconnecting.swift`).
///
/// 8. The rewriter. It runs again after a wait in step 9. When the settings change before
///    the request is sent, the client's header fields and the steps from here on run again.
/// 9. Admission: the wait for a connection (``Admissions``).
/// 10. The addresses of the system after those that refuse connections: ``InnerHop`` decides which addresses are next.
/// 11. The transfer (`Pipeline+Send.swift`): it fixes the endpoints within the reachable networks
///    (``HTTPDNSRewriter/limited(_:to:for:by:)``), opens the body, sends the request, through a proxy or to a Unix socket where
///    there is one (`Pipeline+Egress.swift`), and makes the response, whose content codings are decoded when it is read
///    (``HopAnswer``).
final class Pipeline: Sendable {
    let rewriter: HTTPDNSRewriter
    let gate = CallGate()
    /// The interceptors of the process, or of those clients that share this registry.
    let processInterceptors: HTTPDNSClient.InterceptorRegistry?
    /// The client's own interceptors.
    let interceptors: HTTPDNSClient.InterceptorRegistry
    /// The network interceptors inside all others: the stubs of a test and the handlers of schemes.
    private let innermost: [InterceptorEntry]
    /// Whether later calls pass the stubs among ``innermost``.
    private let passesStubs = Atomic(true)
    /// The handlers of schemes that are answered in process; nil without any.
    let schemes: SchemeHandlers?
    let sender: any HopSending
    /// The settings that a reload changes. A call uses those at its start, a hop those at the time of sending.
    private let settings: Lock<SharedCallSettings>
    /// A counter with two steps for each exchange of settings: one when it begins, one when it is done.
    private let settingsChanges = Atomic<UInt64>(0)
    /// Whether calls may reach only the public Internet. It copies ``settings``, so that
    /// every hop can read it without the lock.
    private let reachesPublicInternetOnly: Atomic<Bool>
    /// Whether there are credentials for origins. It copies ``settings`` too.
    private let usesCredentials: Atomic<Bool>
    /// The reads in flight that calls share.
    let reads = ReadCoalescer<ReadKey, SharedResponse>()
    let authentication: Authentication
    /// The order of addresses, as far as their source influences it.
    let order: AddressOrder
    let hedgeAfter: Duration?
    /// The choice of endpoints besides the addresses that a hop has.
    let choice: ConnectionChoice
    /// The selector of the egress path.
    let egress: EgressSelector
    let logger: Logger?
    /// Whether each call runs code of others, besides that of the registries.
    let hasFixedCodeOfOthers: Bool
    /// Called for header fields before each hop.
    let computedHeaders: (@Sendable (HTTPDNSClient.Request) async throws -> HTTPFields)?
    /// Called before a redirect is followed.
    let redirectHook:
        (@Sendable (HTTPDNSClient.RedirectPolicy.Redirect) async throws -> HTTPDNSClient.RedirectPolicy.Decision)?
    let retrying: RetryState
    /// The rates at which bodies are received and sent.
    let rates: RateLimits
    /// The observers of the client's calls.
    let observers: CallObservers
    /// The jar of the client; nil without cookies.
    let cookies: HTTPDNSClient.CookieJar?
    /// The cache of responses; nil without one.
    let responseCache: (any ResponseCaching)?
    let admissions: Admissions
    /// The number of loops of the transport.
    let loops: Int

    init(
        _ configuration: HTTPDNSClient.Configuration,
        rewriter: HTTPDNSRewriter,
        sender: any HopSending,
        sharedAdmission: Admission? = nil,
        loops: Int = 1
    ) {
        admissions = Admissions([Admission(configuration.connections, loops: loops), sharedAdmission])
        self.loops = loops
        self.rewriter = rewriter
        self.sender = sender
        processInterceptors = configuration.processInterceptors
        interceptors = HTTPDNSClient.InterceptorRegistry(
            application: configuration.applicationInterceptors,
            network: configuration.networkInterceptors
        )
        schemes = configuration.schemeHandlers.isEmpty ? nil : SchemeHandlers(configuration.schemeHandlers)
        // What no stub answers may be for a scheme of the program.
        let last: [(any HTTPDNSClient.Interceptor)?] = [configuration.innermost, schemes]
        innermost = last.compactMap { $0.map { InterceptorEntry($0) } }
        order = AddressOrder(configuration.connections)
        hedgeAfter = configuration.connections.hedgeAfter
        choice = ConnectionChoice(configuration.connections, time: configuration.resolver.timeSource)
        egress = EgressSelector(configuration)
        logger = configuration.logger
        computedHeaders = configuration.computedHeaders
        redirectHook = configuration.redirectHook
        hasFixedCodeOfOthers = !innermost.isEmpty || computedHeaders != nil || redirectHook != nil
        retrying = RetryState(configuration)
        authentication = Authentication(egress: egress, time: retrying.time, logger: logger)
        rates = RateLimits(configuration)
        observers = CallObservers(
            configuration.observers,
            tracing: configuration.callTracing,
            resolver: rewriter.resolver
        )
        cookies = configuration.cookies.makeJar(configuration)
        responseCache = configuration.responseCaching as? any ResponseCaching
        settings = Lock(SharedCallSettings(CallSettings(configuration)))
        reachesPublicInternetOnly = Atomic(configuration.reachableNetworks == .publicInternet)
        usesCredentials = Atomic(!configuration.credentials.isEmpty)
    }

    /// Replaces settings that are stored in several parts: for a hop all of them change in one step.
    /// - Parameter exchange: Stores all parts. It must not wait.
    func exchangeSettings(_ exchange: () -> Void) {
        settingsChanges.add(1, ordering: .sequentiallyConsistent)
        exchange()
        settingsChanges.add(1, ordering: .sequentiallyConsistent)
    }

    /// The number of the settings in use, which is even; nil during an exchange.
    var settledNumber: UInt64? {
        let number = settingsChanges.load(ordering: .sequentiallyConsistent)
        return number.isMultiple(of: 2) ? number : nil
    }

    /// Returns the number of the settings in use. During an exchange it waits for some microseconds.
    func settingsNumber() async -> UInt64 {
        while true {
            if let number = settledNumber { return number }
            await Task.yield()
        }
    }

    /// Whether a hop was made with other settings than those in use. It is then started again, since its address, its
    /// fields and its trust settings could belong to different ones.
    func isStale(_ context: HTTPDNSClient.InterceptionContext) -> Bool {
        guard let number = context.settingsNumber else { return false }
        return settingsChanges.load(ordering: .sequentiallyConsistent) != number
    }

    /// Replaces the options of calls, except proxy and socket, the fields, the credentials and the trust settings for proxies.
    /// - Returns: Whether any of them differs from before.
    func reload(_ configuration: HTTPDNSClient.Configuration) -> Bool {
        var configuration = configuration
        (configuration.options.proxy, configuration.options.unixSocket) = (egress.rules, egress.unixSocket)
        let new = SharedCallSettings(CallSettings(configuration))
        let former = settings.withLock { settings in
            defer { settings = new }
            reachesPublicInternetOnly.store(
                new.values.options.reachableNetworks == .publicInternet,
                ordering: .releasing
            )
            usesCredentials.store(!new.values.credentials.isEmpty, ordering: .releasing)
            return settings
        }
        // Credentials and other parts of the former settings hold objects of the caller: they are released after the lock.
        return former.values != new.values
    }

    /// Whether later calls pass ``HTTPDNSClient/Configuration/innermost``.
    var usesInnermost: Bool {
        get { passesStubs.load(ordering: .acquiring) }
        set { passesStubs.store(newValue, ordering: .releasing) }
    }

    /// The network interceptors inside all others that a call passes now.
    var usedInnermost: [InterceptorEntry] {
        usesInnermost ? innermost : innermost.filter { $0.interceptor is SchemeHandlers }
    }

    /// The settings in force.
    var current: SharedCallSettings { settings.withLock { $0 } }

    /// Returns a request with the options of a call that starts now.
    func resolved(_ request: HTTPDNSClient.Request) -> HTTPDNSClient.Request {
        request.beginningCall.resolved(from: current.options)
    }

    /// The networks that calls may reach now.
    var clientNetworks: HTTPDNSClient.ReachableNetworks {
        reachesPublicInternetOnly.load(ordering: .acquiring) ? .publicInternet : .any
    }
    /// Returns the networks that a hop may reach: those that the client, the call, and the request all may. A request that
    /// an interceptor or a redirect hook sends instead can narrow them, too.
    func reachableNetworks(of request: HTTPDNSClient.Request, _ context: HTTPDNSClient.InterceptionContext)
        -> HTTPDNSClient.ReachableNetworks
    {
        let ofCall = clientNetworks.narrowed(by: context.callOptions.shared.reachableNetworks)
        return request.own.map { ofCall.narrowed(by: $0.shared.reachableNetworks) } ?? ofCall
    }

    /// Whether there are credentials for origins.
    var hasCredentials: Bool { usesCredentials.load(ordering: .relaxed) }
    /// Whether a hop may have a credential. Nearly no hop does.
    func mayAuthenticate(_ request: borrowing HTTPDNSClient.Request) -> Bool {
        if let credential = request.own?.callOptions.credential { return !credential.isOff }
        // The rewriter refuses an unreadable URL.
        guard hasCredentials, let origin = HTTPDNSClient.Origin(request.url) else { return false }
        return current.values.credentials[origin] != nil
    }

    /// The trust settings for HTTPS proxies.
    var proxyTrust: ProxyTrust { current.values.proxyTrust }
}
