// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSTesting
import Testing

struct ServiceTests {
    @Test("An answer is used until its time to live is over")
    func timeToLive() async throws {
        let clock = HTTPDNSManualClock()
        let host = try HTTPDNSName("img.shop.example")
        let address = HTTPDNSAddress(v4: 203, 0, 113, 7)
        let provider = HTTPDNSScriptedProvider(
            scripts: [host: .answer(.addresses([address], timeToLive: .seconds(30)))],
            clock: clock
        )

        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.manualClock = clock
        configuration.resolver.cache.refreshesAhead = false
        configuration.resolver.providers = [provider]
        configuration.resolver.routes = [HTTPDNSRoute(.exact(host), .providers(["scripted"], fallback: .off))]
        let client = try await HTTPDNSClient(configuration: configuration)

        let first = try await client.rewrite("https://img.shop.example/a.jpg")
        #expect(first.addressURL == "https://203.0.113.7/a.jpg")
        clock.advance(by: .seconds(29))
        let second = try await client.rewrite("https://img.shop.example/b.jpg")
        #expect(second.resolution.isCached && second.timeToLive == .seconds(1))
        clock.advance(by: .seconds(2))
        _ = try await client.rewrite("https://img.shop.example/c.jpg")
        #expect(provider.queries.count == 2)
        try await client.shutdown()
    }

    @Test("A response from an interceptor replaces the network's response")
    func stubbed() async throws {
        struct Stub: HTTPDNSClient.Interceptor {
            func intercept(
                _ request: HTTPDNSClient.Request,
                context: HTTPDNSClient.InterceptionContext,
                next: Next
            ) async throws -> HTTPDNSClient.Response {
                HTTPDNSClient.Response(head: HTTPResponse(status: .ok), body: .bytes(Array("pong".utf8)))
            }
        }
        var configuration = HTTPDNSClient.Configuration()
        configuration.applicationInterceptors = [Stub()]
        let client = try await HTTPDNSClient(configuration: configuration)

        let response = try await client.get("https://img.shop.example/ping")
        #expect(try await response.body.collect(upTo: .kibibytes(1)) == Array("pong".utf8))
        #expect(response.destination == "answered by an interceptor")
        try await client.shutdown()
    }
}
