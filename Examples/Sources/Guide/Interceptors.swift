// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS

/// Sends a failed request once more, when that can do no harm.
struct SecondChance: HTTPDNSClient.Interceptor {
    func intercept(
        _ request: HTTPDNSClient.Request,
        context: HTTPDNSClient.InterceptionContext,
        next: Next
    ) async throws -> HTTPDNSClient.Response {
        do {
            return try await next(request, context)
        } catch let error as HTTPDNSClientError where !error.requestMayHaveBeenSent && request.body.isReplayable {
            return try await next(request, context)
        }
    }
}

/// Adds a credential to the requests of one origin, and to no other.
struct Signing: HTTPDNSClient.Interceptor {
    let origin: HTTPDNSClient.Origin
    let token: @Sendable () async throws -> String

    func intercept(
        _ request: HTTPDNSClient.Request,
        context: HTTPDNSClient.InterceptionContext,
        next: Next
    ) async throws -> HTTPDNSClient.Response {
        guard HTTPDNSClient.Origin(request.url) == origin, !context.isCrossOrigin else {
            return try await next(request, context)
        }
        var request = request
        request.headerFields[.authorization] = "Bearer \(try await token())"
        return try await next(request, context)
    }
}

enum Interceptors {
    static func install() async throws -> HTTPDNSClient {
        var configuration = HTTPDNSClient.Configuration()
        configuration.applicationInterceptors = [SecondChance()]

        if let origin = HTTPDNSClient.Origin("https://api.shop.example") {
            configuration.networkInterceptors = [Signing(origin: origin) { "today's token" }]
        }

        return try await HTTPDNSClient(configuration: configuration)
    }
}
