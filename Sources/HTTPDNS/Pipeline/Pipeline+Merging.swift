// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

// This step is inside application interceptors and outside redirects: calls with identical requests share one request in
// flight, with its redirects, its retries and its body.
extension Pipeline {
    /// Whether a call may share a request with others. Nearly no call may: the others do not pass this step.
    func mayMerge(
        _ request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext
    ) -> Bool {
        guard context.options(of: request).shared.mergesIdenticalReads else { return false }
        if let own = request.own {
            guard !own.callOptions.stopsBeforeSending, own.onInterimResponse == nil, own.interceptors.isEmpty,
                own.properties.isEmpty
            else { return false }
        }
        // The cookies of a hop are added inside this step, and may be another user's after a login: calls with the jar do not
        // share.
        if cookies != nil, request.own?.callOptions.usesCookies ?? true { return false }
        guard SharedReads.isAllowed else { return false }
        // An outer rewriter has chosen the addresses of a rewritten request.
        return (request.method == .get || request.method == .head) && request.body.isEmpty && context.rewritten == nil
    }

    /// Sends a request and follows its redirects, or waits for the response to an identical one.
    /// - Throws: ``HTTPDNSClientError``, `CancellationError`.
    func merged(_ request: HTTPDNSClient.Request, _ context: HTTPDNSClient.InterceptionContext) async throws
        -> HTTPDNSClient.Response
    {
        guard let key = ReadKey(request, context, self) else { return try await sendCall(request, context) }
        let start = context.frame?.observed.map { _ in SystemTimeSource().now() }
        try Task.checkCancellation()
        // While it waits, the table has its limits.
        context.frame?.limitUntilEnd(of: context.call)
        let turn = try await reads.turn(
            key,
            order: request.own?.callOptions.priority.rawValue ?? 0,
            head: context.call.firstDeadline,
            body: context.call.deadline
        )
        switch turn {
        case .send(let lead):
            context.frame?.limitUntilHead(of: context.call)
            return try await sendShared(request, context, lead)
        case .shared(let shared):
            context.frame?.noteSent()
            var response = shared.response
            response.body = response.body.replayed(shared.bytes)
            noteMerged(&response, to: request, since: start, context)
            return response
        case .failed(let error): throw error
        case .overdue:
            // No call fails before its limit, also when it is too late to send.
            if let limit = context.call.firstDeadline { try await SystemTimeSource().sleep(until: limit) }
            throw HTTPDNSClientError.callOverdue(
                .total,
                "the request to \(key.url.host):\(key.url.port) failed: no response within "
                    + "\((context.call.firstLimit ?? .zero).shortText), while the call waited for an identical request in flight",
                host: key.url.host.description,
                limit: context.call.firstLimit,
                mayHaveBeenSent: true
            )
        }
    }
}

/// The response to a request that calls share, with its whole body.
struct SharedResponse: Sendable {
    /// The longest body that calls share. It is collected in memory.
    static let longestBody = HTTPDNSByteCount.mebibytes(1)

    let response: HTTPDNSClient.Response
    let bytes: [UInt8]
}

extension Pipeline {
    /// Notes that a response is that to the request of another call.
    private func noteMerged(
        _ response: inout HTTPDNSClient.Response,
        to request: HTTPDNSClient.Request,
        since start: MonotonicTime?,
        _ context: HTTPDNSClient.InterceptionContext
    ) {
        for index in response.exchanges.indices { response.exchanges[index].isMerged = true }
        guard let frame = context.frame, let observed = frame.observed, let start else { return }
        observed.note(.merged(frame.takeHopNumber(), request, response, since: start))
    }

    /// Sends a request for all calls that wait for it, within the limits of its own call.
    ///
    /// A response that others may get is returned when its body has arrived, so an unread body delays no other call. A body
    /// without a declared length may never end, and a long one needs memory: such a body is a stream of this call, and the
    /// others send.
    private func sendShared(
        _ request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext,
        _ lead: ReadCoalescer<ReadKey, SharedResponse>.Lead
    ) async throws -> HTTPDNSClient.Response {
        var hasHead = false
        do {
            var sent = request
            // Computed header fields and network interceptors may add what belongs to one caller.
            let mayAddFields = computedHeaders != nil || context.frame?.chain.network.isEmpty == false
            if mayAddFields {
                sent = sent.resolved(from: context.callOptions)
                sent.changeOptions { $0.notesSentFields = true }
            }
            var response = try await sendCall(sent, context)
            hasHead = true
            guard response.body.mayBeCollected(upTo: SharedResponse.longestBody),
                mayShare(response, !mayAddFields || isSentAsKnown(response, request))
            else {
                lead.end(.alone(isRemembered: true))
                return response
            }
            guard lead.isShared else {
                lead.noteShareable()
                return response
            }
            lead.noteHead()
            var start = PeekedChunks(response.body)
            try await start.read(upTo: SharedResponse.longestBody.bytes + 1)
            if start.isWhole {
                lead.end(.shared(SharedResponse(response: response, bytes: start.start)))
                response.body = response.body.replayed(start.start)
            } else {
                lead.end(.alone(isRemembered: true))
                response.body = response.body.changed(to: start, length: response.body.declaredLength)
            }
            return response
        } catch {
            let limit = hasHead ? context.call.deadline : context.call.firstDeadline
            let isOverdue = limit.map { $0 <= SystemTimeSource().now() } ?? false
            let hasEnded = isOverdue && (error as? HTTPDNSClientError)?.code == .timedOut || error is CancellationError
            lead.end(hasEnded ? .abandoned : .failed(error))
            throw error
        }
    }

    /// Whether calls with identical requests may get a response. One for a single user is for its own call alone, whatever the
    /// requests have in common.
    private func mayShare(_ response: HTTPDNSClient.Response, _ isSentAsKnown: Bool) -> Bool {
        let fields = response.headerFields
        guard !ResponseSharing.answersOneRequest(response.status.code), !ResponseSharing.haveCookies(fields),
            ResponseSharing.varyingNames(in: fields) != nil
        else { return false }
        let control = CacheControl(fields)
        return !control.isNoStore && !control.isPrivate && (isSentAsKnown || control.permitsSharing)
    }

    /// Whether the request was sent without a credential that it does not have itself. Calls with its own one have equal keys.
    private func isSentAsKnown(_ response: HTTPDNSClient.Response, _ request: HTTPDNSClient.Request) -> Bool {
        guard let sent = response.sentFields else { return true }
        return [HTTPField.Name.authorization, .cookie].allSatisfy { name in
            let fields = sent[fields: name]
            return fields.isEmpty || fields == request.headerFields[fields: name]
        }
    }
}

/// The permission of the present task to share requests and stored responses with other tasks. A scope of stubs takes it away:
/// its answers are for its own task.
package enum SharedReads {
    @TaskLocal package static var isAllowed = true
}

/// The identity of a read: calls with equal keys get the same response.
struct ReadKey: Hashable, Sendable {
    let url: HTTPDNSRewriter.CanonicalURL
    /// The user information of the URL, which ``url`` does not compare.
    private let credential: ParsedURL.Credential?
    /// Whether the host has a trailing dot, which ``url`` does not compare either.
    private let isAbsolute: Bool
    private let method: HTTPRequest.Method
    /// The header fields in the order of their names; fields of one name keep their order.
    private let fields: [HTTPField]
    private let options: HTTPDNSClient.Request.Options
    /// The networks that the call may reach: those of its options, of the client, and of the caller's own request.
    private let networks: HTTPDNSClient.ReachableNetworks
    /// The network interceptors of the call, by their numbers.
    private let interceptors: [UInt64]
    /// The depth of the call inside others of its client: a call that waited for the one around it would never end.
    private let depth: Int
    /// The settings, mappings and switches in use: a call after a change never gets a response from before it.
    private let versions: [UInt64]

    // The parts that the keys of different reads differ in. Hashing the options, which they seldom do, took 3 us.
    func hash(into hasher: inout Hasher) {
        hasher.combine(url)
        hasher.combine(fields)
    }

    /// Creates a key; nil for a request whose response no other call may get, and for an unreadable URL, which fails the call.
    init?(
        _ request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext,
        _ pipeline: Pipeline
    ) {
        guard let url = try? HTTPDNSRewriter.Canonicalizer.canonicalize(request.url),
            let settings = pipeline.settledNumber
        else { return nil }
        var options = context.options(of: request).options
        // An interceptor has changed the origin, and the request keeps the credential of the first one, which is not sent.
        if let frame = context.frame, let own = options.credential,
            frame.withholds(own, from: HTTPDNSClient.Origin(url.parsed))
        {
            return nil
        }
        // Each call keeps its own time.
        options.shared.timeouts.total = nil
        options.shared.timeouts.responseHead = nil
        self.url = url
        self.options = options
        credential = url.parsed.credential
        isAbsolute = url.parsed.isAbsolute
        method = request.method
        fields = request.headerFields.sorted { $0.name.canonicalName < $1.name.canonicalName }
        networks = pipeline.reachableNetworks(of: request, context)
        interceptors = context.frame?.chain.network.map(\.number) ?? []
        depth = context.depth
        let resolver = pipeline.rewriter.resolver
        versions = [settings, resolver.mappings.generation, resolver.killSwitch.generation]
    }
}
