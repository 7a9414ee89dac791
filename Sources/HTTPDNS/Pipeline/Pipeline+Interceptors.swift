// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

// Application interceptors are between the call and its requests. Network interceptors are a step of each request.
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
                try await self.apply(place + 1, GivenRequest(request: received).replaced(by: request), context)
            }
            frame.noteResponse(at: place)
            return response
        } catch {
            frame.noteFailure(of: entry, at: place, error)
            throw error
        }
    }
}
