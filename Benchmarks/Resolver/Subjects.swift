// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSCore
internal import HTTPDNSCurl
internal import HTTPDNSPrimitives

/// Resolvers whose every name is known: one from a provider, one by mappings.
enum Subjects {
    static func providerConfiguration() -> HTTPDNSResolver.Configuration {
        var configuration = HTTPDNSResolver.Configuration()
        configuration.families = .v4
        configuration.providers = [FixedProvider()]
        configuration.routes = [HTTPDNSRoute(.suffix(zone), .providers(["bench"], fallback: .none))]
        return configuration
    }

    static func mappingConfiguration() -> HTTPDNSResolver.Configuration {
        var configuration = HTTPDNSResolver.Configuration()
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

    private static var zone: HTTPDNSName {
        guard let zone = try? HTTPDNSName("shop.example") else { preconditionFailure("shop.example is no name") }
        return zone
    }
}
