// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNS

/// An interceptor made of a closure.
package struct Around: HTTPDNSClient.Interceptor {
    package typealias Next =
        (HTTPDNSClient.Request, HTTPDNSClient.InterceptionContext) async throws -> HTTPDNSClient.Response
    package typealias Body =
        @Sendable (HTTPDNSClient.Request, HTTPDNSClient.InterceptionContext, Next) async throws ->
        HTTPDNSClient.Response

    private let body: Body

    package init(_ body: @escaping Body) { self.body = body }

    package func intercept(
        _ request: HTTPDNSClient.Request,
        context: HTTPDNSClient.InterceptionContext,
        next: Next
    ) async throws -> HTTPDNSClient.Response {
        try await body(request, context, next)
    }

    /// Runs code on each request before it goes on.
    package static func before(
        _ change: @escaping @Sendable (inout HTTPDNSClient.Request) async throws -> Void
    ) -> Around {
        Around { request, context, next in
            var request = request
            try await change(&request)
            return try await next(request, context)
        }
    }
}

/// The client's error that `body` throws; nil when it throws none or another.
package func clientError(_ body: () async throws -> some Any) async -> HTTPDNSClientError? {
    do {
        _ = try await body()
        return nil
    } catch {
        return error as? HTTPDNSClientError
    }
}
