// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS

/// Sends a share of the requests of one origin to one address. The other requests stay as they are.
struct Canary: HTTPDNSClient.Interceptor {
    let origin: HTTPDNSClient.Origin
    let target: HTTPDNSClient.Request.Target
    /// The share of the requests, 0 to 100.
    let percent: Double

    func intercept(
        _ request: HTTPDNSClient.Request,
        context: HTTPDNSClient.InterceptionContext,
        next: Next
    ) async throws -> HTTPDNSClient.Response {
        guard HTTPDNSClient.Origin(request.url) == origin, Double.random(in: 0..<100) < percent else {
            return try await next(request, context)
        }
        var request = request
        request.changeOptions { $0.addresses = .only([target]) }
        return try await next(request, context)
    }
}

extension Canary {
    static func configuration() -> HTTPDNSClient.Configuration {
        var configuration = HTTPDNSClient.Configuration()
        if let origin = HTTPDNSClient.Origin("https://api.shop.example") {
            configuration.applicationInterceptors = [Canary(origin: origin, target: "203.0.113.9", percent: 5)]
        }

        return configuration
    }

    /// Returns a rule whose shares are not literals.
    static func rule(percent: Int, of new: HTTPDNSAddress, beside old: HTTPDNSAddress) -> HTTPDNSMapping {
        let targets = [
            HTTPDNSMapping.Target(old, weight: 100 - percent),
            HTTPDNSMapping.Target(new, weight: percent),
        ]
        return HTTPDNSMapping(.addresses(targets))
    }

    static func stop(_ client: HTTPDNSClient) throws {
        // No rule at all, whatever the file has: providers and fallback decide again.
        try client.mappings.apply { $0.hide("api.shop.example") }
    }
}
