// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNS

/// What can be changed while a client runs.
enum ChangingSettings {
    static func reload(_ client: HTTPDNSClient, _ settings: HTTPDNSClient.Configuration) async throws {
        let result = try await client.reload(settings)
        if !result.needsRestart.isEmpty { print("from the next start on: \(result.needsRestart)") }
    }

    static func layers(_ client: HTTPDNSClient) throws {
        try client.mappings.apply { rules in
            rules["img.shop.example"] = .addresses(["203.0.113.9"])  // in place of the base's rule
            rules["api.shop.example"] = nil  // the base's rule counts again
            rules.hide("old.shop.example")  // no rule, whatever the base says
        }
    }

    static func turn(_ client: HTTPDNSClient) throws {
        client.killSwitch.turnOff()
        for entry in client.killSwitch.entries { print("\(entry.scope) is off, by \(entry.origin)") }
        client.killSwitch.turnOn()

        client.killSwitch.turnOff(.route(try HTTPDNSRoute.Pattern("*.shop.example")))
    }

    static func introduce(_ settings: inout HTTPDNSClient.Configuration) throws {
        var shadow = HTTPDNSRoute(try .init("*.search.example"), .providers(["backup"], fallback: .system))
        shadow.mode = .shadow

        var quarter = HTTPDNSRoute(try .init("*.shop.example"), .providers(["backup"], fallback: .system))
        quarter.rollout = HTTPDNSRoute.Rollout(percent: 25, by: .key)

        settings.resolver.routes += [shadow, quarter]
    }

    static func place(_ client: HTTPDNSClient, user: String) async throws -> HTTPResponse.Status {
        let response = try await client.get("https://img.shop.example/a.jpg") { $0.rolloutKey = user }
        return response.status
    }

    static func lastResort(_ client: HTTPDNSClient) throws {
        try client.mappings.apply { $0["pay.shop.example"] = .lastResort(["203.0.113.20"]) }
    }
}
