// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

// Needs the package trait LocalProvider; `make traits` in the folder above compiles and runs it.
#if !HTTPDNS_REPOSITORY || LocalProvider
import HTTPDNS
import HTTPDNSLocalProvider

/// Resolves a name through a provider that runs for the time of the call.
public func resolvedLocally(_ name: String) async throws -> HTTPDNSResolver.Resolution {
    let mappings = "version: 1\nmappings: { img.shop.test: 203.0.113.7 }"
    let provider = try HTTPDNSProviderServer(HTTPDNSProviderServer.Configuration(.text(mappings)))
    return try await provider.serving { listener in
        let service = HTTPDNSDoHProvider.Configuration(name: "local", url: listener.url + "/dns-query")
        var configuration = HTTPDNSClient.Configuration()
        configuration.resolver.providers = [try HTTPDNSDoHProvider(service)]
        configuration.resolver.routes = [HTTPDNSRoute(.any, .providers(["local"], fallback: .off))]
        let client = try await HTTPDNSClient(configuration: configuration)
        let resolution = try await client.resolve(name)
        try await client.shutdown(drainingFor: .seconds(1))
        return resolution
    }
}
#endif
