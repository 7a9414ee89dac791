// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPTypes

/// Signs the body of each charge.
struct BodySigning: HTTPDNSClient.Interceptor {
    let predicate: HTTPDNSClient.RequestPredicate? = .method(.post) && .host("pay.shop.example")
    /// Returns the signature of these bytes, such as an HMAC of swift-crypto in hexadecimal digits.
    let sign: @Sendable ([UInt8]) -> String

    func intercept(
        _ request: HTTPDNSClient.Request,
        context: HTTPDNSClient.InterceptionContext,
        next: Next
    ) async throws -> HTTPDNSClient.Response {
        guard !context.isCrossOrigin, let field = HTTPField.Name("X-Signature") else {
            return try await next(request, context)
        }
        var request = request
        let body = try await request.body.collect(upTo: .mebibytes(1))
        request.body = .bytes(body)
        request.headerFields[field] = sign(Array("\(request.method) \(request.url)\n".utf8) + body)
        return try await next(request, context)
    }
}

/// What the sections of the cookbook about interceptors set.
enum InterceptionRecipes {
    static func renewToken(
        in configuration: inout HTTPDNSClient.Configuration,
        fetchToken: @escaping @Sendable () async throws -> String
    ) {
        if let origin = HTTPDNSClient.Origin("https://api.shop.example") {
            configuration.credentials[origin] = .bearer {
                HTTPDNSClient.Credential.Token(try await fetchToken(), lifetime: .seconds(3600))
            }
        }
    }

    static func sign(
        in configuration: inout HTTPDNSClient.Configuration,
        hexHMAC: @escaping @Sendable ([UInt8]) -> String
    ) {
        configuration.networkInterceptors = [BodySigning(sign: hexHMAC)]
    }

    static func changeResponses(in configuration: inout HTTPDNSClient.Configuration) {
        configuration.networkInterceptors.append(
            HTTPDNSClient.ResponseRewriting { request, response in
                guard response.headerFields[.contentType]?.hasPrefix("text/html") == true else { return }
                response.head.headerFields[.cacheControl] = "no-store"
                response.changeBody { $0.replacing("http://img.shop.example", with: "https://img.shop.example") }
            }
        )
    }
}
