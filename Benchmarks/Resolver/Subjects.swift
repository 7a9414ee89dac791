// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

/// Resolvers that know every name of the measurement: one from a provider, one by mappings.
enum Subjects {
    /// The settings beside the measured names.
    enum Size: CaseIterable {
        /// One route, and no other rule.
        case few
        /// 10,000 rules for other names, six routes, an address policy and a rollout.
        ///
        /// A resolver that is fast only without them is not fast where it is used.
        case many
    }

    /// The rules for other names in a resolver of size ``Size/many``.
    static let otherRules = 10_000

    static func providerConfiguration(_ size: Size = .few) -> HTTPDNSResolver.Configuration {
        var configuration = HTTPDNSResolver.Configuration()
        configuration.families = .v4
        configuration.providers = [FixedProvider()]
        configuration.routes = [HTTPDNSRoute(.suffix(name("shop.example")), .providers(["bench"], fallback: .off))]
        if size == .many { addOthers(to: &configuration) }
        return configuration
    }

    static func mappingConfiguration(_ size: Size = .few) -> HTTPDNSResolver.Configuration {
        var configuration = HTTPDNSResolver.Configuration()
        if size == .many {
            configuration.providers = [FixedProvider()]
            addOthers(to: &configuration)
        }
        for number in 0..<Names.count {
            configuration.mappings[HTTPDNSMapping.Key(.exact(Names.host(number)))] = HTTPDNSMapping(
                .addresses(CacheScenario.addresses.map { HTTPDNSMapping.Target($0) })
            )
        }
        return configuration
    }

    static func warm(_ resolver: HTTPDNSResolver) async throws {
        for number in 0..<Names.count {
            _ = try await resolver.resolve(HTTPDNSResolver.Query(.name(Names.host(number)), port: 443))
        }
    }

    private static func addOthers(to configuration: inout HTTPDNSResolver.Configuration) {
        for number in 0..<otherRules {
            configuration.mappings[HTTPDNSMapping.Key(.exact(name("rule\(number).bench.example")))] = HTTPDNSMapping(
                .addresses([HTTPDNSMapping.Target(CacheScenario.addresses[0])])
            )
        }
        for number in configuration.routes.count..<6 {
            var route = HTTPDNSRoute(
                .suffix(name("zone\(number).example")),
                .providers(["bench"], fallback: .off)
            )
            if number == 5 { route.rollout = HTTPDNSRoute.Rollout(percent: 50, by: .key) }
            configuration.routes.append(route)
        }
        guard let denied = HTTPDNSAddressBlock("198.51.100.0/24") else { preconditionFailure("no block") }
        configuration.policy.denied = [denied]
    }

    private static func name(_ text: String) -> HTTPDNSName {
        guard let name = try? HTTPDNSName(text) else { preconditionFailure("\(text) is no name") }
        return name
    }
}
