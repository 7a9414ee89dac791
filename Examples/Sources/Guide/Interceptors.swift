// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPTypes

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

/// The name of the job that a request belongs to.
enum JobName: HTTPDNSClient.RequestProperty {
    typealias Value = String
}

/// Adds the name of its job to the uploads of one API.
struct UploadMark: HTTPDNSClient.Interceptor {
    let predicate: HTTPDNSClient.RequestPredicate? = .method(.post, .put) && .host("api.shop.example")
    let priority = 10

    func intercept(
        _ request: HTTPDNSClient.Request,
        context: HTTPDNSClient.InterceptionContext,
        next: Next
    ) async throws -> HTTPDNSClient.Response {
        var request = request
        if let job = request[JobName.self], let name = HTTPField.Name("X-Job") { request.headerFields[name] = job }
        return try await next(request, context)
    }
}

enum Interceptors {
    static func registration(_ client: HTTPDNSClient) async throws {
        var configuration = HTTPDNSClient.Configuration()
        configuration.processInterceptors = .shared
        let registration = HTTPDNSClient.InterceptorRegistry.shared.addApplicationInterceptor(UploadMark())
        // Existing and later clients with this setting use it, from their next call on.
        registration.remove()

        var request = HTTPDNSClient.Request(method: .post, url: "https://api.shop.example/images", body: .text("a"))
        request[JobName.self] = "nightly"
        request.networkInterceptors = [SecondChance()]
        _ = try await client.execute(request)

        let uploads: HTTPDNSClient.RequestPredicate = .method(.post) && .host("*.shop.example")
        print(uploads)
    }

    static func install() async throws -> HTTPDNSClient {
        var configuration = HTTPDNSClient.Configuration()
        configuration.applicationInterceptors = [SecondChance()]

        if let origin = HTTPDNSClient.Origin("https://api.shop.example") {
            configuration.networkInterceptors = [Signing(origin: origin) { "today's token" }]
        }

        return try await HTTPDNSClient(configuration: configuration)
    }
}
