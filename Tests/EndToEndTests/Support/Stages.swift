// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPTypes
import ServerRig

/// An interceptor made of a closure.
struct Stage: HTTPDNSClient.Interceptor {
    typealias Next = (HTTPDNSClient.Request, HTTPDNSClient.InterceptionContext) async throws -> HTTPDNSClient.Response
    private let body:
        @Sendable (HTTPDNSClient.Request, HTTPDNSClient.InterceptionContext, Next) async throws ->
            HTTPDNSClient.Response

    init(
        _ body:
            @escaping @Sendable (HTTPDNSClient.Request, HTTPDNSClient.InterceptionContext, Next) async throws ->
            HTTPDNSClient.Response
    ) {
        self.body = body
    }

    func intercept(
        _ request: HTTPDNSClient.Request,
        context: HTTPDNSClient.InterceptionContext,
        next: Next
    ) async throws -> HTTPDNSClient.Response {
        try await body(request, context, next)
    }

    /// Writes when a request passes and when its response comes back.
    static func recorder(_ name: String, _ journal: Journal<String>) -> Stage {
        Stage { request, context, next in
            journal.write("\(name) > \(request.url)")
            do {
                let response = try await next(request, context)
                journal.write("\(name) < \(response.status.code)")
                return response
            } catch {
                journal.write(
                    "\(name) ! \((error as? HTTPDNSClientError).map { "\($0.code)" } ?? "\(type(of: error))")"
                )
                throw error
            }
        }
    }

    /// Follows redirects by itself, a hop for each, as a caller's own stage may do.
    static let followingRedirects = Stage { request, context, next in
        var request = request
        for _ in 0..<5 {
            let response = try await next(request, context)
            guard response.status.kind == .redirection, let place = response.headerFields[.location] else {
                return response
            }
            try await response.text()
            request.url = place
        }
        return try await next(request, context)
    }
}
