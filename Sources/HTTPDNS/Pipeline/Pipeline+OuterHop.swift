// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCurl
internal import HTTPDNSPrimitives
internal import HTTPTypes

extension Pipeline {
    /// Sends the next request of a call, as its network interceptors, the cache and the jar see it: what it gets on its way down,
    /// and what its response leaves on its way back.
    ///
    /// It is inside redirects and retries: a cookie that a redirect or a failed try has set is sent with the next try.
    func sendOuter(_ call: inout CallState) async throws -> HTTPDNSClient.Response {
        let frame = call.context.frame
        if let frame {
            frame.limitUntilHead(of: call.context.call)
            call.context.hop = frame.takeHopNumber()
        }
        (call.context.addedFields, call.context.hasJarCookies) = (nil, false)
        let jar = call.request.own?.callOptions.usesCookies ?? true ? cookies : nil
        // Before the settings are read: with others, which came meanwhile, the hop is prepared again.
        call.context.settingsNumber = await settingsNumber()
        let start = frame?.observed.map { _ in SystemTimeSource().now() }
        var authorized: HTTPDNSClient.Request?
        do {
            let response: HTTPDNSClient.Response
            // A request that nothing is added to is passed on as it is: a copy counts references to all of its parts.
            if jar == nil, call.context.authorization == nil, !addsFields {
                response = try await sendThroughCache(call.request, call.context)
            } else {
                var request = call.request
                if let field = call.context.authorization?.nextField() { request.headerFields.append(field) }
                if start != nil { authorized = request }
                let cookieURL = jar.flatMap { $0.addCookies(to: &request, &call.context) }
                try await prepare(&request, &call.context)
                response = try await sendThroughCache(request, call.context)
                if let jar, let cookieURL { jar.keepCookies(of: response, answering: cookieURL, call.context) }
            }
            if let frame {
                if let start { noteEnd(of: call, authorized, since: start, .success(CallFact.Head(response))) }
                frame.limitUntilEnd(of: call.context.call)
            }
            return response
        } catch {
            if let start { noteEnd(of: call, authorized, since: start, .failure(error)) }
            throw error
        }
    }

    /// Notes the end of a hop of an observed call.
    /// - Parameter authorized: The request with the field of its credential; nil for one that nothing was added to.
    // Not inlined: what it uses would be a part of the memory of each call.
    @inline(never)
    private func noteEnd(
        of call: CallState,
        _ authorized: HTTPDNSClient.Request?,
        since start: MonotonicTime,
        _ outcome: Result<CallFact.Head, any Error>
    ) {
        let request = authorized ?? call.request
        call.context.frame?.observed?.note(.hopEnded(call.context.hop, request, since: start, outcome))
    }

    /// Sends a hop with the response cache above its network interceptors.
    // Inlined, because a call of an async function costs as much as this one does.
    @inline(__always)
    private func sendThroughCache(
        _ request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSClient.Response {
        if responseCache != nil, SharedReads.isAllowed { return try await sendCacheable(request, context) }
        // Without a frame there is neither an interceptor nor an observer.
        guard context.frame != nil else { return try await sendPrepared(request, context) }
        return try await intercept(0, request, context)
    }

    // Not inlined, as other steps that most calls do without: what it uses would be a part of the memory of each call.
    @inline(never)
    private func sendCacheable(
        _ request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSClient.Response {
        guard let responseCache, let hop = CacheableHop(request, context, self) else {
            return try await intercept(0, request, context)
        }
        return try hop.decoded(try await responseCache.respond(to: hop), of: responseCache)
    }

    /// Whether the settings in use have fields for requests.
    private var addsFields: Bool { current.values.headers != nil || computedHeaders != nil }

    /// Prepares a hop with the settings in use: it adds the client's fields, and removes those that earlier settings
    /// added. Nothing of it is kept for the next hop.
    /// - Throws: The errors of ``ClientFields/fields(for:_:)``.
    func prepare(_ request: inout HTTPDNSClient.Request, _ context: inout HTTPDNSClient.InterceptionContext)
        async throws
    {
        context.settingsNumber = await settingsNumber()
        if let added = context.addedFields {
            for field in added {
                if let index = request.headerFields.firstIndex(of: field) { request.headerFields.remove(at: index) }
            }
            context.addedFields = nil
        }
        guard addsFields else { return }
        let fields = ClientFields(rules: current.values.headers, compute: computedHeaders)
        let added = try await fields.fields(for: request, context)
        request.headerFields.append(contentsOf: added)
        context.addedFields = added
    }

    /// Runs the network interceptors from an index on, once per hop, and then the rewriter.
    func intercept(
        _ start: Int,
        _ request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSClient.Response {
        guard let frame = context.frame, start < frame.chain.network.count else {
            return try await sendInner(request, context)
        }
        guard !BodyContentType.isMissing(in: request) else {
            var request = request
            BodyContentType.add(to: &request)
            return try await intercept(start, request, context)
        }
        // Request and context are large, and a copy counts references to all of their parts: both are passed on as they are.
        guard let url = context.received, url.isURL(of: request.url) else {
            var context = context
            context.received = ReceivedURL(request.url)
            return try await intercept(start, request, context)
        }
        switch frame.chain.network.search(from: start, for: request, at: url) {
        case .none: return try await sendInner(request, context)
        case .found(let place): return try await passThrough(place, request, context, frame)
        case .undecided(let place): return try await interceptWithBodyRead(place, request, context, frame)
        }
    }

    /// Runs the network interceptors from one on whose predicate may read the body of the request.
    private func interceptWithBodyRead(
        _ start: Int,
        _ request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext,
        _ frame: CallFrame
    ) async throws -> HTTPDNSClient.Response {
        var request = request
        guard let place = try await frame.chain.network.first(from: start, for: &request) else {
            return try await sendInner(request, context)
        }
        return try await passThrough(place, request, context, frame)
    }

    /// Runs one network interceptor, and the rest of the hop inside it.
    // Inlined, because a call of an async function costs as much as this one does.
    @inline(__always)
    private func passThrough(
        _ place: Int,
        _ request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext,
        _ frame: CallFrame
    ) async throws -> HTTPDNSClient.Response {
        let (entry, authorization, hasJarCookies) = (
            frame.chain.network[place], context.authorization, context.hasJarCookies
        )
        do {
            let response = try await entry.interceptor.intercept(request, context: context) { next, context in
                guard next.url == request.url, next.own?.isResolved == true else {
                    let given = GivenRequest(
                        request: request,
                        authorization: authorization,
                        hasJarCookies: hasJarCookies
                    )
                    return try await self.intercept(place + 1, given.replaced(by: next), context)
                }
                return try await self.intercept(place + 1, next, context)
            }
            frame.noteResponse(at: frame.chain.application.count + place)
            return response
        } catch {
            frame.noteFailure(of: entry, at: frame.chain.application.count + place, error)
            throw error
        }
    }
}
