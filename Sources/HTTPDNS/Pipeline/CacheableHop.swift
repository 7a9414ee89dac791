// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSCore
internal import HTTPDNSCurl
package import HTTPDNSPrimitives
package import Logging

/// The source of the response cache of a client: a cache, or settings that open one.
package protocol ResponseCacheSource: Sendable {
    /// The value by which a reload compares two sources.
    var identity: any Hashable & Sendable { get }

    /// Returns the cache, opened.
    /// - Parameter logger: The logger for the state of its folder, unless it has one; nil for none.
    /// - Throws: The errors of its folder, `CancellationError`.
    func open(_ logger: Logger?) async throws -> any ResponseCaching
}

extension Optional<any ResponseCacheSource> {
    /// Whether both are the same cache or open it with the same settings.
    func isSame(as other: (any ResponseCacheSource)?) -> Bool {
        self.map { AnyHashable($0.identity) } == other.map { AnyHashable($0.identity) }
    }

    /// Returns the cache, opened; nil without one.
    /// - Throws: ``HTTPDNSClientError`` with code `configuration`, `CancellationError`.
    func opened(_ logger: Logger?) async throws -> (any ResponseCaching)? {
        do {
            return try await self?.open(logger)
        } catch let error where !(error is CancellationError) {
            throw HTTPDNSClientError.configuration(
                "\(error)",
                hint: "client.response_cache names it",
                underlying: error
            )
        }
    }
}

/// The cache that a client asks before it sends a hop; `HTTPDNSResponseCache` has one.
package protocol ResponseCaching: AnyObject, ResponseCacheSource {
    /// Returns the response to a hop: a stored one, or that of the hop's `send`.
    /// - Throws: The errors of `send`, ``HTTPDNSClientError``, `CancellationError`.
    func respond(to hop: CacheableHop) async throws -> HTTPDNSClient.Response

    /// The number of stored responses that were removed so far, by the reason.
    var removals: [String: Int] { get }

    /// Removes the stored response to a hop, whose body cannot be decoded.
    func removeResponse(to hop: CacheableHop) async
}

/// One hop as a cache sees it: with the client's cookies and header fields, before its network interceptors.
package struct CacheableHop: Sendable {
    package let request: HTTPDNSClient.Request
    package let url: HTTPDNSRewriter.CanonicalURL
    fileprivate let pipeline: Pipeline
    fileprivate let context: HTTPDNSClient.InterceptionContext

    /// Whether the request may have a stored response: GET or HEAD without a body.
    package var isRead: Bool { request.isRead }
    /// Whether the client requests content codings, unless the request has an `Accept-Encoding` field.
    package var requestsCodings: Bool { request.isDecoded }
    /// The request's own Host field; nil for the URL's.
    package var hostHeader: String? { request.own?.callOptions.hostHeader }
    /// The Unix socket of the request.
    package var unixSocket: String? { pipeline.egress.socket(of: request) }
    /// The request's own addresses, as a text; nil when it has none.
    package var addresses: String? {
        guard let own = request.own, own.callOptions.addresses.targets != nil else { return nil }
        return own.callOptions.addresses.description
    }
    /// The most private network scope whose responses the hop may get: it may reach only the public Internet, or the server that
    /// redirected to it limits it. Nil means any.
    package var maximumScope: HTTPDNSAddressPolicy.Scope? {
        pipeline.reachableNetworks(of: request, context) == .publicInternet
            ? .public : context.constraints.redirectedFrom
    }
    /// The moment on `SystemTimeSource` at which the call's response head must be there; nil without a limit.
    package var deadline: MonotonicTime? { context.call.firstDeadline }
    /// Whether the hop is a retry. A stored error is no response to it: an earlier try of the call may have stored that.
    package var isRetry: Bool { context.constraints.isRetry }
    /// The depth of the call inside others of its client: one that waited for the call around it would wait in vain.
    package var depth: Int { context.depth }
    /// The request's priority.
    package var priority: HTTPDNSClient.Request.Priority { request.own?.callOptions.priority ?? .normal }
    /// Whether the body has its chunk framing, and is of no use to other requests.
    package var keepsChunks: Bool { request.own?.callOptions.keepsChunks ?? false }
    /// The moment on `SystemTimeSource` at which the call with its body must have ended; nil without a limit.
    package var bodyDeadline: MonotonicTime? { context.call.deadline }
    /// Whether the settings are in use that the request was made with.
    package var isCurrent: Bool { !pipeline.isStale(context) }

    /// Sends a request through the further steps. Its response has the body as received.
    package func send(_ request: HTTPDNSClient.Request) async throws -> HTTPDNSClient.Response {
        var response = try await pipeline.intercept(0, request, context)
        response.serverScope = response.exchanges.last?.scope
        return response
    }

    /// Runs work that the caller does not wait for, with a hop to the same URL under time limits of its own. A client
    /// that is shut down runs none.
    package func inBackground(
        _ request: HTTPDNSClient.Request,
        _ work: @escaping @Sendable (CacheableHop) async -> Void
    ) {
        let pipeline = pipeline
        guard (try? pipeline.gate.enter()) != nil else { return }
        var context = context
        context.call = CallTime(pipeline.current.values.options.timeouts)
        // Its events, its exchanges and the origin of its stubs are not those of the call that began it.
        context.frame = context.frame.map { CallFrame(client: pipeline, chain: $0.chain) }
        context.sending = 0
        let request = request.resolved(from: context.callOptions)
        let hop = CacheableHop(request: request, url: url, pipeline: pipeline, context: context)
        // Not detached: a scope of stubs in a test concerns it too.
        _ = CallWork.task {
            await work(hop)
            pipeline.gate.leave()
        }
    }

    /// Whether the server of another URL has answered: a network interceptor may have sent another request. A reference in such a
    /// response, as in `Location`, is relative to that URL.
    package func isAnsweredElsewhere(_ response: HTTPDNSClient.Response) -> Bool {
        guard let answered = response.answeredURL(context) else { return false }
        return answered.description != url.parsed.description
    }

    /// Returns the URL of a reference in a response; nil for an unreadable one.
    package func resolve(_ reference: String) -> HTTPDNSRewriter.CanonicalURL? {
        guard let parsed = try? url.parsed.following(reference) else { return nil }
        return try? HTTPDNSRewriter.Canonicalizer.canonicalize(parsed.description)
    }
}

// This step is after cookies and header fields, which `Vary` may name, and before network interceptors. Bodies below it are as
// received, and decoding is above it.
extension CacheableHop {
    /// Creates nil for a hop that does not concern the cache.
    init?(
        _ request: consuming HTTPDNSClient.Request,
        _ context: consuming HTTPDNSClient.InterceptionContext,
        _ pipeline: Pipeline
    ) {
        // The rewriter refuses an unreadable URL, with its own message. Schemes of the program are answered in process.
        // A check of an identity wants the server.
        guard pipeline.schemes?.answers(request.url) != true, request.own?.callOptions.stopsBeforeSending != true,
            let url = try? HTTPDNSRewriter.Canonicalizer.canonicalize(request.url)
        else { return nil }
        context.keepsCodings = true
        self.init(request: request, url: url, pipeline: pipeline, context: context)
    }

    /// Returns a response with its content codings decoded, within the limit for bodies. A body that cannot be decoded to its end
    /// is in the cache by then, and is removed.
    func decoded(
        _ response: HTTPDNSClient.Response,
        of cache: any ResponseCaching
    ) throws(HTTPDNSClientError) -> HTTPDNSClient.Response {
        var response = response
        // The fields by which the cache has answered. The client may have added them for one caller.
        if response.sentFields == nil, request.own?.callOptions.notesSentFields == true {
            response.sentFields = request.headerFields
        }
        let limit = context.options(of: request).shared.maximumResponseBody?.bytes
        if let limit, let source = response.cacheSource, source.isStored, let length = response.body.declaredLength,
            length > limit
        {
            throw HTTPDNSClientError.bodyTooLong(limit: .bytes(limit), on: nil)
        }
        guard response.content.declaresCoding, request.isDecoded, !response.body.isDecoded, request.method != .head
        else { return response }
        response.body = response.body.decoded(ResponseHead(response.head), limit: limit) {
            await cache.removeResponse(to: self)
        }
        return response
    }
}
