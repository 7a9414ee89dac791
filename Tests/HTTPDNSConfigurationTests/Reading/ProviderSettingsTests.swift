import HTTPDNS
import HTTPDNSClient
import HTTPDNSConfiguration
import HTTPDNSPrimitives
import Testing

#if YAML
struct ProviderSettingsTests {
    @Test("Providers are made in the order of the file, as private as their addresses")
    func live() async throws {
        let configuration = try ConfigurationFile.parse(
            """
            version: 1
            providers:
              far: { kind: doh, url: https://doh.example/dns-query, bootstrap: [198.51.100.53], method: post }
              near: { kind: doh, url: "http://127.0.0.1:8053/dns-query" }
            routes: { "*": { providers: [near, far] } }
            """,
            name: "f.yaml"
        )
        let providers = configuration.resolver.providers
        #expect(providers.map(\.name) == ["far", "near"])
        #expect(providers.last?.serviceScope == .loopback)
        for provider in providers { await provider.shutdown() }
    }

    @Test(
        "What only the provider itself refuses is told with the provider's place",
        arguments: ["https://192.0.2.53:99999/dns-query", "http://192.0.2.53/dns-query", "https://192.0.2.53/a b"]
    )
    func refused(url: String) {
        let error = #expect(throws: ConfigurationFileError.self) {
            try ConfigurationFile.parse(
                "version: 1\nproviders:\n  a: { kind: doh, url: \"\(url)\" }\n",
                name: "f.yaml"
            )
        }
        #expect(error?.mistakes.map(\.location.line) == [3])
        #expect(error?.description.hasPrefix("f.yaml:3:3: providers[\"a\"]: ") == true)
    }
}
#endif
