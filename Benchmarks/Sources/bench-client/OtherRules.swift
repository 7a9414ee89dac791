// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS

/// The rules of a resolver in use, all for names other than the measured one: exact mappings, six routes, an address policy and
/// a rollout. Nothing may be fast only without them.
enum OtherRules {
    static func add(_ mappings: Int, to configuration: inout HTTPDNSResolver.Configuration) throws {
        for number in 0..<mappings {
            configuration.mappings[try HTTPDNSMapping.Key("rule\(number).example")] = .addresses(["203.0.113.7"])
        }
        configuration.providers = [UnusedProvider()]
        for number in 0..<6 {
            var route = HTTPDNSRoute(
                .suffix(try HTTPDNSName("zone\(number).example")),
                .providers(["unused"], fallback: .system)
            )
            if number == 5 { route.rollout = HTTPDNSRoute.Rollout(percent: 50, by: .key) }
            configuration.routes.append(route)
        }
        configuration.policy.denied = [HTTPDNSAddressBlock("198.51.100.0/24")].compactMap(\.self)
    }
}

/// The provider that the routes name. No measured name is on them.
private final class UnusedProvider: HTTPDNSProvider {
    let name = "unused"

    func resolve(_ query: HTTPDNSProviderQuery) async throws -> HTTPDNSProviderAnswer {
        fatalError("the provider was asked for \(query.host)")
    }
}
