// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSTesting
import Testing

@testable import Guide

struct CannedResponseTests {
    @Test("A scripted provider resolves the name before a canned response")
    func resolvedAndAnswered() async throws {
        let api = try HTTPDNSName("api.shop.example")
        let pay = try HTTPDNSName("pay.shop.example")
        let address = HTTPDNSAddress(v4: 203, 0, 113, 8)
        let provider = HTTPDNSScriptedProvider(scripts: [
            api: .answer(.addresses([address], timeToLive: .seconds(30))),
            pay: .failure(HTTPDNSProviderError(code: .unreachable, message: "scripted")),
        ])
        var resolving = HTTPDNSClient.Configuration()
        resolving.resolver.providers = [provider]
        resolving.resolver.routes = [
            HTTPDNSRoute(try .init("*.shop.example"), .providers(["scripted"], fallback: .off))
        ]
        let names = try await HTTPDNSClient(configuration: resolving)

        var configuration = HTTPDNSClient.Configuration()
        configuration.applicationInterceptors = [
            names.rewriter,
            StubbedResponses(bodies: ["https://api.shop.example/v1/items": "[]"]),
        ]
        let client = try await HTTPDNSClient(configuration: configuration)

        let response = try await client.get("https://api.shop.example/v1/items")
        #expect(response.status == .ok)
        #expect(provider.queries.map(\.host) == [api])

        let error = try await #require(throws: HTTPDNSClientError.self) {
            try await client.get("https://pay.shop.example/v1/charge")
        }
        let reason = try #require(error.underlying as? HTTPDNSResolver.Error)
        #expect(error.code == .resolveFailed && reason.code == .providersFailed)

        try await client.shutdown()
        try await names.shutdown()
    }
}
