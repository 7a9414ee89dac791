// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

// Application interceptors are between the call and retries. Network interceptors are between the headers and the
// rewriter.
extension Pipeline {
    /// Returns the interceptors of a call: those of the process, of the client, of the request, and the innermost ones.
    func interceptors(of request: HTTPDNSClient.Request) -> InterceptorChain {
        var chain = processInterceptors.chain
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
        var (index, request, context) = (start, request, context)
        if index == 0 { context.initialURL = request.url }
        guard let frame = context.frame,
            let entry = try await frame.chain.application.first(from: &index, for: &request)
        else {
            context.initialURL = request.url
            if mayMerge(request, context) { return try await merged(request, context) }
            return try await follow(request, context)
        }
        context.requestURL = request.url
        let place = index
        do {
            let response = try await entry.interceptor.intercept(request, context: context) { request, context in
                try await self.apply(place + 1, request, context)
            }
            frame.noteResponse(at: place)
            return response
        } catch {
            frame.noteFailure(of: entry, at: place, error)
            throw error
        }
    }

    /// Runs the network interceptors from an index on, once per hop, and then the rewriter.
    func hop(
        _ start: Int,
        _ request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSClient.Response {
        var (index, request, context) = (start, request, context)
        guard let frame = context.frame, let entry = try await frame.chain.network.first(from: &index, for: &request)
        else { return try await rewriteAndTransfer(request, context) }
        context.requestURL = request.url
        let (authorization, received, next) = (context.authorization, request, index + 1)
        let place = frame.chain.application.count + index
        do {
            let response = try await entry.interceptor.intercept(request, context: context) { request, context in
                let request = self.withoutForeignCredential(request, in: received, authorization)
                return try await self.hop(next, self.withoutForeignCookies(request, in: received), context)
            }
            frame.noteResponse(at: place)
            return response
        } catch {
            frame.noteFailure(of: entry, at: place, error)
            throw error
        }
    }
}
