// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS

/// Requests, with what can be said about one alone.
enum Requests {
    static func send(through client: HTTPDNSClient) async throws {
        let response = try await client.get("https://img.shop.example/a.jpg", headerFields: [.accept: "image/jpeg"]) {
            $0.timeouts.total = .seconds(2)
            $0.redirects = .off
        }
        print(response.status, response.headerFields[.contentType] ?? "-", response.version)

        var request = HTTPDNSClient.Request(method: .put, url: "https://img.shop.example/b.jpg")
        request.headerFields[.contentType] = "image/jpeg"
        request.body = .bytes([0xff, 0xd8, 0xff])
        request.changeOptions { $0.families = .v4 }
        let stored = try await client.execute(request)
        print(stored.status)
    }

    static func addresses(_ client: HTTPDNSClient) async throws {
        // These addresses and no others: no provider is queried.
        let probe = try await client.get("https://img.shop.example/health") {
            $0.addresses = .only(["203.0.113.9", "[2001:db8::9]:8443"])
        }

        // The system resolver, past mappings and providers.
        let plain = try await client.get("https://img.shop.example/health") { $0.addresses = .system }

        print(probe.destination, plain.destination)
    }

    static func options(
        _ client: HTTPDNSClient,
        _ configuration: inout HTTPDNSClient.Configuration,
        url: String
    ) async throws {
        configuration.timeouts.total = .seconds(10)
        let page = try await client.get(url) { $0.timeouts.total = .seconds(2) }
        print(page.status)

        let request = HTTPDNSClient.Request(url: url) { $0.timeouts.total = .seconds(2) }
        print(try await client.execute(request).destination)
    }

    static func commandLine() throws {
        var charge = HTTPDNSClient.Request(method: .post, url: "https://pay.shop.example/v1/charge?token=secret")
        charge.body = try .json(["amount": 100])
        charge.changeOptions { $0.addresses = .only(["203.0.113.9"]) }
        print(charge.curlCommand())
    }

    static func inspect(_ client: HTTPDNSClient) async throws {
        let rewritten = try await client.rewrite("https://Img.Shop.example/a.jpg")
        print(rewritten.canonicalURL)  // https://img.shop.example/a.jpg
        print(rewritten.addressURL)  // https://203.0.113.7/a.jpg
        print(rewritten.host, rewritten.serverName ?? "-")  // img.shop.example img.shop.example
        print(rewritten.resolveEntry)  // img.shop.example:443:203.0.113.7
        print(rewritten.source, rewritten.timeToLive as Any, rewritten.generation)

        // Sends it as it is, for as long as its tag holds.
        let response = try await client.execute(rewritten)

        print(response.status)
    }
}
