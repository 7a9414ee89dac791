// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

// Application interceptors are between the call and retries. Network interceptors are between the headers and the
// rewriter.
extension Pipeline {
    /// Runs the application interceptors from an index on, once per call, and then the call's redirects and retries.
    func apply(
        _ index: Int,
        _ request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSClient.Response {
        var context = context
        if index == 0 || index == application.count { context.initialURL = request.url }
        guard index < application.count else { return try await follow(request, context) }
        context.requestURL = request.url
        return try await application[index].intercept(request, context: context) { request, context in
            try await self.apply(index + 1, request, context)
        }
    }

    /// Runs the network interceptors from an index on, once per hop, and then the rewriter.
    func hop(
        _ index: Int,
        _ request: HTTPDNSClient.Request,
        _ context: HTTPDNSClient.InterceptionContext
    ) async throws -> HTTPDNSClient.Response {
        guard index < network.count else { return try await rewriteAndTransfer(request, context) }
        var context = context
        context.requestURL = request.url
        let authorization = context.authorization
        return try await network[index].intercept(request, context: context) { next, context in
            let next = self.withoutForeignCredential(next, in: request, authorization)
            return try await self.hop(index + 1, self.withoutForeignCookies(next, in: request), context)
        }
    }
}
