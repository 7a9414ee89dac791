// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPDNSConfiguration

/// The code of Docs/GettingStarted.md and Docs/Cookbook.md.
enum Cookbook {
    static func requestWithFile() async throws {
        let configuration = try HTTPDNSClient.Configuration.file("httpdns.yaml")

        try await withHTTPDNSClient(configuration: configuration) { client in
            let response = try await client.get("https://img.shop.test:8443/a.jpg")
            print(response.status, response.destination)
        }
    }

    static func moveHost(_ client: HTTPDNSClient) async throws {
        // One request to the new address first. TLS still checks the name img.shop.example.
        let probe = try await client.get("https://img.shop.example/health") {
            $0.addresses = .only(["203.0.113.9"])
            $0.timeouts.total = .seconds(2)
        }
        guard probe.status == .ok else { return }

        // The next request of this client uses the new address.
        let generation = try client.mappings.apply { $0["img.shop.example"] = .addresses(["203.0.113.9"]) }
        print("mappings generation \(generation)")
    }

    static func showReload(_ client: HTTPDNSClient) {
        let reloads = client.reloads
        if let failure = reloads.failure {
            print("the file is not in use:", failure.message)
        } else if let success = reloads.lastSuccess {
            print("in use since generation \(success.generation)")
        }
    }

    static func canary(_ client: HTTPDNSClient) async throws {
        try client.mappings.apply { $0["api.shop.example"] = .weighted(["203.0.113.8": 95, "203.0.113.9": 5]) }

        let response = try await client.get("https://api.shop.example/v1/items") { $0.timeouts.total = .seconds(2) }
        if let exchange = response.exchanges.last { print(exchange.remote, exchange.status) }

        // The end of the canary: the rule of the configuration file counts again.
        try client.mappings.apply { $0["api.shop.example"] = nil }
    }

    static func surviveOutage() throws -> HTTPDNSClient.Configuration {
        var first = HTTPDNSDoHProvider.Configuration(name: "first", url: "https://doh.example/dns-query")
        first.bootstrap = [HTTPDNSAddress(v4: 192, 0, 2, 53)]
        var second = HTTPDNSDoHProvider.Configuration(name: "second", url: "https://doh2.example/dns-query")
        second.bootstrap = [HTTPDNSAddress(v4: 198, 51, 100, 53)]

        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.providers = [try HTTPDNSDoHProvider(first), try HTTPDNSDoHProvider(second)]
        configuration.resolver.routes = [
            HTTPDNSRoute(try .init("*.shop.example"), .providers(["first", "second"], fallback: .system))
        ]
        configuration.resolver.mappings = [try HTTPDNSMapping.Key("pay.shop.example"): .lastResort(["203.0.113.20"])]
        configuration.resolver.cache.staleLimit = .seconds(3600)

        return configuration
    }

    static func showStaleAnswer(_ response: HTTPDNSClient.Response) {
        if let resolution = response.exchanges.last?.request.resolution, resolution.isStale {
            print("stale answer, \(resolution.age) old")
        }
    }

    static func showProviders(_ client: HTTPDNSClient) throws {
        let status = client.status(limit: 20, names: [try HTTPDNSRoute.Pattern("*.shop.example")])
        for provider in status.providers {
            print(provider.name, provider.state, provider.reason ?? "-", provider.backOffSeconds ?? 0)
        }
    }

    static func withoutNetwork() async throws {
        var configuration = HTTPDNSClient.Configuration()
        configuration.applicationInterceptors = [
            StubbedResponses(bodies: ["https://api.shop.example/v1/items": "[]"])
        ]

        try await withHTTPDNSClient(configuration: configuration) { client in
            let response = try await client.get("https://api.shop.example/v1/items")
            let items = try await response.body.collect(upTo: .kibibytes(64))
            print(response.status, items.count, response.destination)  // 200 OK 2 answered by an interceptor
        }
    }

    static func explain(_ client: HTTPDNSClient) async throws {
        let response = try await client.get("https://img.shop.example/a.jpg") { $0.timeouts.total = .seconds(2) }
        print(response.destination)
        for exchange in response.exchanges {
            let resolution = exchange.request.resolution
            print(exchange.request.canonicalURL, exchange.remote, resolution.source)
            if let mapping = resolution.mapping {
                print("mapping", mapping.key, mapping.location?.description ?? "set by code")
            }
            if let reason = resolution.systemReason { print("system resolver, because of", reason) }
            for attempt in resolution.failedAttempts { print("provider failed:", attempt) }
            for attempt in exchange.failedAttempts { print("address failed:", attempt) }
        }

        // The same decision, without a request to the server.
        let rewritten = try await client.rewrite("https://img.shop.example/a.jpg")
        print(rewritten.addressURL, rewritten.source)
    }

    static func untrustedClient() -> HTTPDNSClient.Configuration {
        var configuration = HTTPDNSClient.Configuration()
        configuration.reachableNetworks = .publicInternet
        configuration.redirects.limit = 3
        configuration.maximumResponseBody = .mebibytes(1)
        configuration.timeouts.total = .seconds(10)

        return configuration
    }

    static func untrustedRequest(_ client: HTTPDNSClient, urlFromTheUser: String) async throws -> [UInt8]? {
        do {
            let response = try await client.get(urlFromTheUser) {
                $0.reachableNetworks = .publicInternet
                $0.redirects = .off
                $0.timeouts.total = .seconds(5)
            }
            return try await response.body.collect(upTo: .mebibytes(1))
        } catch let error as HTTPDNSClientError where error.code == .policyRefused || error.code == .invalidURL {
            print(error)  // the URL leads somewhere that this client may not reach
            return nil
        }
    }
}

extension Cookbook {
    static func untrustedDelivery(_ client: HTTPDNSClient, urlFromTheUser: String) async throws {
        var delivery = HTTPDNSClient.Request(method: .post, url: urlFromTheUser, body: .text(#"{"event":"paid"}"#))
        delivery.headerFields[.contentType] = "application/json"
        delivery.changeOptions { $0.redirects = .off }  // a 307 or 308 would send the body to another server
        let response = try await client.execute(delivery)
        print(response.status)
    }
}

/// Answers every request from a table, without a network.
struct StubbedResponses: HTTPDNSClient.Interceptor {
    /// The bodies by URL.
    let bodies: [String: String]

    func intercept(
        _ request: HTTPDNSClient.Request,
        context: HTTPDNSClient.InterceptionContext,
        next: Next
    ) async throws -> HTTPDNSClient.Response {
        guard let body = bodies[request.url] else {
            return HTTPDNSClient.Response(head: HTTPResponse(status: .notFound), body: .bytes([]))
        }
        return HTTPDNSClient.Response(head: HTTPResponse(status: .ok), body: .bytes(Array(body.utf8)))
    }
}
