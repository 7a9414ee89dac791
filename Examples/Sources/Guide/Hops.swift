// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS
import HTTPTypes

enum Hops {
    static func redirects(_ configuration: inout HTTPDNSClient.Configuration) {
        configuration.redirects.limit = 5
        if let name = HTTPField.Name("X-Tenant-Token") { configuration.redirects.secretFields.insert(name) }

        configuration.redirectHook = { redirect in
            guard redirect.next.url.hasPrefix("https://img.shop.example/") else { return .refuse }
            return .follow
        }
    }

    static func moved(_ client: HTTPDNSClient) async throws {
        let moved = try await client.get("https://img.shop.example/old.jpg") { $0.redirects = .off }
        print(moved.status, moved.headerFields[.location] ?? "-")
    }

    static func secret(_ request: inout HTTPDNSClient.Request, token: String) {
        var field = HTTPField(name: .userAgent, value: token)
        field.indexingStrategy = .disallow
        request.headerFields.append(field)
    }

    static func retries(_ configuration: inout HTTPDNSClient.Configuration) {
        configuration.retries = .standard
        configuration.retries.limit = 3
        configuration.retryBudget.percent = 10
    }

    static func patient(_ request: inout HTTPDNSClient.Request) {
        request.changeOptions { $0.retries.networkWait = .seconds(30) }
    }

    static func payment(_ client: HTTPDNSClient, key: String, charge: [UInt8]) async throws {
        var payment = HTTPDNSClient.Request(
            method: .post,
            url: "https://pay.shop.example/v1/charge",
            body: .bytes(charge)
        )
        if let name = HTTPField.Name("Idempotency-Key") { payment.headerFields[name] = key }
        let paid = try await client.execute(payment)
        for exchange in paid.exchanges { print(exchange.status, exchange.remote) }
    }
}
