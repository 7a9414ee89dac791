// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS

/// Header fields that the client adds to requests.
enum DefaultHeaders {
    static func set(
        in configuration: inout HTTPDNSClient.Configuration,
        token: @escaping @Sendable () async throws -> String
    ) throws {
        configuration.headers.fields = [.userAgent: "shop/1.4", .acceptLanguage: "de"]
        configuration.headers.byHost[try HTTPDNSRoute.Pattern("*.partner.example")] = .init(
            [.userAgent: "shop-partner/1"],
            without: [.acceptLanguage]
        )
        configuration.computedHeaders = { request in
            request.method == .get ? [:] : [.authorization: "Bearer \(try await token())"]
        }
    }
}
