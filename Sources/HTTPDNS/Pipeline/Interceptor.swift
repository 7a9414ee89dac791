// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

public import HTTPDNSCore
internal import HTTPDNSCurl
public import HTTPDNSPrimitives
internal import HTTPTypes
public import Logging
internal import Synchronization

extension HTTPDNSClient {
    /// An interceptor around the rest of the pipeline. It may change the request, call `next` never, once or several
    /// times, change the response, or answer without sending.
    ///
    /// It runs on the caller's task, and never on the loop thread. When the call or its response head has a time
    /// limit, it runs on a child of that task, which is canceled at the limit. An application interceptor runs once per call, a
    /// network interceptor once per hop, in the listed order. Responses pass them in reverse order:
    ///
    /// ```
    /// call -> application interceptors -> merging -> redirect -> authentication -> retry
    ///      -> [ hop: network interceptors -> canonicalize, resolve, policy -> transfer ] -> back
    /// ```
    ///
    /// - Warning: A network interceptor runs for each hop of a redirect, also to servers that a response has named. A
    ///   credential that it adds is sent there, unless it checks ``HTTPDNSClient/InterceptionContext/isCrossOrigin``.
    ///
    /// It may make calls of its own, also through the same client. Such calls pass the whole pipeline, this interceptor
    /// included; nested more than 8 deep they fail with ``HTTPDNSClientError/Code/loop``. The depth follows the task
    /// and its children, but not `Task.detached`, and ends with the call: what a task does later is no part of it.
    public protocol Interceptor: Sendable {
        /// The rest of the pipeline, as ``intercept(_:context:next:)`` receives it. It runs where its caller runs.
        /// Write `next: Next`, since the full type depends on a module's upcoming features
        /// (`NonisolatedNonsendingByDefault`).
        typealias Next =
            nonisolated(nonsending) (HTTPDNSClient.Request, HTTPDNSClient.InterceptionContext) async throws ->
            HTTPDNSClient.Response

        /// The condition on the requests that pass this interceptor; nil, the default, for all of them. It is checked with the
        /// request as it arrives here. It is read once, when the interceptor is added.
        var predicate: HTTPDNSClient.RequestPredicate? { get }

        /// The place among the interceptors of the same list: higher ones are outermost, and among equals the one that was
        /// added first. It is 0 by default, and is read once, when the interceptor is added.
        var priority: Int { get }

        /// Handles a request.
        ///
        /// Each call of `next` is a separate transfer under the call's one deadline, also after a failure. A stream
        /// body can be sent once: see ``HTTPDNSClient/Request/Body/isReplayable``.
        /// - Parameters:
        ///   - request: The request from the interceptor before.
        ///   - context: The context of the request. It is a value: only the interceptors that receive a changed copy
        ///     see it.
        ///   - next: The rest of the pipeline.
        /// - Throws: Any error, which fails this call only. Errors other than ``HTTPDNSClientError`` and
        ///   `CancellationError` reach the caller as ``HTTPDNSClientError/Code/interceptorFailed`` with the error in
        ///   `underlying`; outer interceptors see them unchanged.
        func intercept(
            _ request: HTTPDNSClient.Request,
            context: HTTPDNSClient.InterceptionContext,
            next: Next
        ) async throws -> HTTPDNSClient.Response
    }
}

extension HTTPDNSClient.Interceptor {
    /// Nil: all requests pass.
    public var predicate: HTTPDNSClient.RequestPredicate? { nil }
    /// 0.
    public var priority: Int { 0 }
}

extension HTTPDNSClient {
    /// The context that accompanies a request through the interceptors. It is never sent.
    public struct InterceptionContext: Sendable {
        /// A number for the call, unique in the process.
        public let callID: UInt64
        /// The number of this hop in the call, from 0: a second `next` of an application interceptor begins hop 1.
        /// Application interceptors themselves, which are outside all hops, see 0.
        public internal(set) var hop: Int
        /// The moment at which the whole call ends, with its body; nil when the call as a whole has no limit.
        public var deadline: ContinuousClock.Instant? { call.deadline.map { .init($0) } }
        /// The depth of this call inside other calls of the same client, from 0.
        public let depth: Int

        /// Whether this interceptor's request is for another origin than ``initialOrigin``.
        ///
        /// A redirect has led there, or an outer interceptor has changed the URL. The target of a redirect is untrusted
        /// input: an interceptor that adds a credential must not add it while this is true. It is false again when a
        /// redirect leads back to the first origin, with a path that the other server has chosen. Scheme and port are
        /// part of an origin, so an upgrade from http to https changes it.
        public var isCrossOrigin: Bool {
            guard let received, received.text != initialURL else { return false }
            guard let initial = initialOrigin, let own = HTTPDNSClient.Origin(received.text) else { return true }
            return own != initial
        }

        /// The origin of the call; nil for an unreadable URL, which fails the call. For network interceptors it is the
        /// origin of the request that the application interceptors passed on. For application interceptors it is the
        /// origin of the caller's request.
        public var initialOrigin: HTTPDNSClient.Origin? { HTTPDNSClient.Origin(initialURL) }

        /// The client's logger, with the number of the call as `call` and that of the hop as `hop`; nil without one.
        public var logger: Logger? {
            guard var logger = frame?.logger else { return nil }
            logger[metadataKey: "call"] = "\(callID)"
            logger[metadataKey: "hop"] = "\(hop)"
            return logger
        }

        /// The route of the host that the interceptor receives a request for; nil when the client's providers answer it in
        /// the order of the settings, and for an address as the host.
        public var route: HTTPDNSRoute? {
            guard case .name(let text)? = received?.parsed?.host, let name = try? HTTPDNSName(text) else { return nil }
            return frame?.resolver.route(for: name)
        }

        /// The URL at the start of the call. Empty for a call without interceptors, where it is not read.
        var initialURL = ""
        /// The URL of the request that the interceptor receives; nil before the first interceptor.
        var received: ReceivedURL?

        /// The request as an outer rewriter has rewritten it. Only the interceptors that receive this copy see it: a
        /// second `next` of an interceptor outside that rewriter starts without it.
        package internal(set) var rewritten: HTTPDNSRewriter.RewrittenRequest?
        /// The tag of the rewritten request.
        package var tag: HTTPDNSRewriter.Tag? { rewritten?.tag }

        /// The constraints on this hop from the hops before it.
        var constraints = HopConstraints()
        var call: CallTime
        /// The options of the call. A request of it without options of its own has these.
        var callOptions: HTTPDNSClient.Request.SharedOptions
        /// The compressed body; nil for a call that compresses nothing.
        let compressed: CompressedOnce?
        /// The frame of the call; nil for a client without interceptors, whose calls cannot nest.
        var frame: CallFrame?
        /// Whether the present try has been sent; nil for a call without network interceptors, whose errors know it.
        var sentTry: SentTry?
        /// The number of the settings of the hop, see ``Pipeline/isStale(_:)``; nil for a connection without a request.
        var settingsNumber: UInt64?
        /// The header fields that the client added to the hop's request from these settings; nil for none.
        var addedFields: HTTPFields?
        /// The credential that the client adds to each try of the hop; nil for none.
        var authorization: RequestAuthorization?
        /// Whether the request has cookies of the client's jar.
        var hasJarCookies = false
        /// The index of the hop's sending in the log of an observed call.
        var sending = 0
        /// Whether the body of the response stays as received, for the response cache.
        var keepsCodings = false
    }
}

extension HTTPDNSClient.InterceptionContext {
    /// Creates the context of a call without time limits, for a test that calls an interceptor itself.
    /// - Parameters:
    ///   - requestURL: The URL of the request that the interceptor receives.
    ///   - initialURL: The URL at the start of the call; nil for the same one.
    ///   - callID: The number of the call.
    ///   - hop: The number of the hop in the call, from 0.
    public init(requestURL: String, initialURL: String? = nil, callID: UInt64 = 0, hop: Int = 0) {
        self.init(
            callID: callID,
            hop: hop,
            depth: 0,
            call: CallTime(),
            callOptions: .none,
            compressed: nil,
            frame: nil
        )
        received = ReceivedURL(requestURL)
        self.initialURL = initialURL ?? requestURL
    }
}

/// Whether one try of a hop may have reached its server, whatever error an interceptor makes of that.
final class SentTry: Sendable {
    private let sent = Atomic(false)

    var mayHaveBeenSent: Bool { sent.load(ordering: .relaxed) }

    func note() { sent.store(true, ordering: .relaxed) }
}

extension HTTPDNSClient.InterceptionContext {
    /// Returns the options of a request of the call.
    func options(of request: borrowing HTTPDNSClient.Request) -> HTTPDNSClient.Request.SharedOptions {
        let own = request.own
        assert(own?.isResolved != false, "a request in the pipeline has the options of its call")
        return own ?? callOptions
    }

    /// Notes that the present try, and with it the call, may have reached its server.
    func noteSent() {
        frame?.noteSent()
        sentTry?.note()
    }

    /// Begins another try of a hop.
    mutating func beginTry() {
        if let frame, !frame.chain.network.isEmpty { sentTry = SentTry() }
    }
}

extension HTTPDNSClient.InterceptionContext: HTTPDNSRedacted {
    /// The numbers of the call and the hop.
    public var description: String { "call \(callID), hop \(hop), depth \(depth)" }
}
