// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import HTTPDNSCore

/// The resolver without the client.
enum ResolvingAlone {
    static func resolve() async throws -> [HTTPDNSEndpoint] {
        var service = HTTPDNSDoHProvider.Configuration(name: "backup", url: "https://doh.example/dns-query")
        service.bootstrap = [HTTPDNSAddress(v4: 192, 0, 2, 53)]

        var configuration = HTTPDNSResolver.Configuration()
        configuration.providers = [try HTTPDNSDoHProvider(service)]
        configuration.routes = [HTTPDNSRoute(.any, .providers(["backup"], fallback: .system))]
        let resolver = try HTTPDNSResolver(configuration)

        let query = HTTPDNSResolver.Query(.name(try HTTPDNSName("img.shop.example")), port: 443)
        let resolution = try await resolver.resolve(query)
        print(resolution.endpoints, resolution.source, resolution.timeToLive as Any)
        await resolver.shutdown()

        return resolution.endpoints
    }
}
