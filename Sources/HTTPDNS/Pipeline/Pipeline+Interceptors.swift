// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

// Application interceptors are between the call and retries. Network interceptors are between the headers and the
// rewriter.
extension Pipeline {
    /// Returns the interceptors of a call: those of the process, of the client, of the request, and the innermost ones.
    func interceptors(of request: HTTPDNSClient.Request) -> InterceptorChain {
        var chain = processInterceptors?.chain ?? InterceptorChain()
        chain.append(interceptors.chain)
        if let own = request.own { chain.append(own.interceptors) }
        chain.append(InterceptorChain(network: usedInnermost))
        return chain
    }

    /// Runs the application interceptors from an index on, once per call, and then the call's redirects and retries.
    func apply(
        _ start: Int,
        _ request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSClient.Response {
        guard let frame = context.frame, start < frame.chain.application.count else {
            return try await callBegan(request, context)
        }
        var (request, context) = (request, context)
        guard let place = try await frame.chain.application.first(from: start, for: &request) else {
            return try await callBegan(request, context)
        }
        context.received = ReceivedURL(request.url)
        let (entry, received) = (frame.chain.application[place], request)
        do {
            let response = try await entry.interceptor.intercept(request, context: context) { request, context in
                try await self.apply(place + 1, self.adopted(request, inPlaceOf: received), context)
            }
            frame.noteResponse(at: place)
            return response
        } catch {
            frame.noteFailure(of: entry, at: place, error)
            throw error
        }
    }

    /// Returns a request that code of others has made, with the options of the one that it received: all of them for the same
    /// origin, those that belong to no origin for another.
    func adopted(_ new: HTTPDNSClient.Request, inPlaceOf received: HTTPDNSClient.Request) -> HTTPDNSClient.Request {
        guard new.own?.isResolved != true, var options = received.own?.options else { return new }
        if HTTPDNSClient.Origin(new.url) != HTTPDNSClient.Origin(received.url) { options.forgetOrigin() }
        return new.resolved(from: HTTPDNSClient.Request.SharedOptions(options))
    }

    /// Sends a call after its application interceptors: with it the first hop begins.
    func callBegan(
        _ request: HTTPDNSClient.Request,
        _ context: consuming HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSClient.Response {
        if context.frame != nil { context.initialURL = request.url }
        if mayMerge(request, context) { return try await merged(request, context) }
        return try await sendCall(request, context)
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
        guard !request.lacksBodyContentType else {
            var request = request
            request.addBodyContentType()
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
                    var next = self.adopted(next, inPlaceOf: request)
                    next = self.withoutForeignCredential(next, in: request, authorization)
                    if hasJarCookies { next = self.withoutForeignCookies(next, in: request) }
                    return try await self.intercept(place + 1, next, context)
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
