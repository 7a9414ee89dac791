// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Foundation
import HTTPDNS
import HTTPDNSConfiguration
import HTTPDNSVendors
import ServerRig
import Testing

#if YAML
struct ProviderSettingsTests {
    @Test("Providers keep the order of the file, and their answers are public by default")
    func live() async throws {
        let configuration = try HTTPDNSConfigurationFile.parse(
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
        #expect(providers.map(\.answerScope) == [.public, .public])
        for provider in providers { await provider.shutdown() }
    }

    @Test("A provider's own key for answers wins over the policy for all providers")
    func answers() async throws {
        let providers = """
            providers:
              doh: { kind: doh, url: "http://127.0.0.1:8053/dns-query", answer_scope: loopback }
              json: { kind: json-google, answer_scope: public }
              free: { kind: json-alidns }
            """
        for (policy, expected) in [
            ("", [HTTPDNSAddressPolicy.Scope.loopback, .public, .public]),
            ("policy: { providers_may_answer: private }", [.loopback, .public, .private]),
        ] {
            let text = "version: 1\n\(policy)\n\(providers)\n"
            let made = try HTTPDNSConfigurationFile.parse(text, name: "f.yaml").resolver.providers
            #expect(made.map(\.answerScope) == expected)
            for provider in made { await provider.shutdown() }
        }
    }

    @Test("JSON DNS services need only their kind; addresses and an account are optional")
    func json() async throws {
        let text = """
            version: 1
            providers:
              g: { kind: json-google }
              c: { kind: json-cloudflare, bootstrap: 1.0.0.1 }
              a: { kind: json-alidns }
              own: { kind: json-google, url: https://dns.example/resolve, bootstrap: [127.0.0.9, 10.0.0.1] }
            """
        let settings = try HTTPDNSConfigurationFile.settings(text, name: "f.yaml")
        #expect(settings.providers.map(\.kind) == [.google, .cloudflare, .alidns, .google])
        #expect(settings.providers.map { $0.bootstrap?.count } == [nil, 1, nil, 2])
        #expect(settings.providers.map(\.url) == [nil, nil, nil, "https://dns.example/resolve"])
        let providers = try HTTPDNSConfigurationFile.parse(text, name: "f.yaml").resolver.providers
        #expect(providers.allSatisfy { $0 is HTTPDNSJSONProvider })
        #expect(providers.map(\.answerScope) == [.public, .public, .public, .public])
        for provider in providers { await provider.shutdown() }

        let paid = try HTTPDNSConfigurationFile.settings(
            """
            version: 1
            providers:
              a: { kind: json-alidns, account: 9999, access_key: key, secret: { env: ALIDNS_SECRET } }
            """,
            name: "f.yaml"
        )
        #expect(settings.providers[2].account == nil)
        var account = FileSettings.Provider(name: "a", kind: .alidns, position: Position(line: 3, column: 3))
        account.account = "9999"
        account.accessKey = "key"
        account.secret = .environment("ALIDNS_SECRET")
        #expect(paid.providers == [account])
    }

    @Test("Name servers have port 53, over TLS 853, unless another is written")
    func nameServers() async throws {
        let text = """
            version: 1
            providers:
              a: { kind: dns, servers: 10.0.0.2, answer_scope: private }
              b: { kind: dns, servers: [10.0.0.2, "10.0.0.3:5353", "2001:db8::2", "[2001:db8::3]:54"], transport: tcp }
              c: { kind: dns, servers: resolv.conf }
              d: { kind: dns, servers: /run/systemd/resolve/resolv.conf }
              e: { kind: dns, servers: [10.0.0.2, "10.0.0.3:53"], tls_name: dns.example, transport: tls }
            """
        let settings = try HTTPDNSConfigurationFile.settings(text, name: "f.yaml")
        let texts = settings.providers.map { provider -> [String] in
            guard case .addresses(let endpoints)? = provider.servers else { return ["\(provider.servers!)"] }
            return endpoints.map(\.description)
        }
        #expect(
            texts == [
                ["10.0.0.2:53"], ["10.0.0.2:53", "10.0.0.3:5353", "[2001:db8::2]:53", "[2001:db8::3]:54"],
                [#"file("/etc/resolv.conf")"#], [#"file("/run/systemd/resolve/resolv.conf")"#],
                ["10.0.0.2:853", "10.0.0.3:53"],
            ]
        )
        #expect(settings.providers.map(\.transport) == [.udp, .tcp, .udp, .udp, .tls])
        let providers = try HTTPDNSConfigurationFile.parse(text, name: "f.yaml").resolver.providers
        #expect(providers.map(\.kind) == ["dns", "dns", "dns", "dns", "dns"])
        #expect(providers.map(\.answerScope) == [.private, .public, .public, .public, .public])
        for provider in providers { await provider.shutdown() }
    }

    @Test("Alibaba settings are read: account, secrets, region, parameters and files")
    func alibaba() async throws {
        let text = """
            version: 1
            providers:
              plain: { kind: alibaba-v1, account: 100000 }
              full:
                kind: alibaba-v2
                account: "123456"
                secret: { env: ALIBABA_SECRET }
                encryption: gcm
                encryption_key: { env: ALIBABA_AES_KEY }
                region: sg
                custom_parameters: { city: hz, age: 7 }
                discovery: false
                addresses_file: /var/lib/app/alibaba
            """
        let settings = try HTTPDNSConfigurationFile.settings(text, name: "f.yaml")
        var full = FileSettings.Provider(name: "full", kind: .alibabaV2, position: Position(line: 4, column: 3))
        full.account = "123456"
        full.secret = .environment("ALIBABA_SECRET")
        full.encryption = .gcm
        full.encryptionKey = .environment("ALIBABA_AES_KEY")
        full.region = "sg"
        full.customParameters = ["city": "hz", "age": "7"]
        full.discovers = false
        full.addressesFile = "/var/lib/app/alibaba"
        var plain = FileSettings.Provider(name: "plain", kind: .alibabaV1, position: Position(line: 3, column: 3))
        plain.account = "100000"
        #expect(settings.providers == [plain, full])

        let own = """
            version: 1
            providers:
              ali: { kind: alibaba-v2, account: 1, url: "http://127.0.0.1:8053" }
            """
        let providers = try HTTPDNSConfigurationFile.parse(own, name: "f.yaml").resolver.providers
        #expect(providers.map(\.name) == ["ali"] && providers.allSatisfy { $0 is HTTPDNSAlibabaProvider })
        #expect(providers.map(\.answerScope) == [.public] && providers.map(\.batchLimit) == [5])
        for provider in providers { await provider.shutdown() }
    }

    @Test("Tencent settings are read: account, secret or key, switches and files")
    func tencent() async throws {
        let text = """
            version: 1
            providers:
              plain: { kind: tencent, account: 100000, secret: { env: TENCENT_TOKEN } }
              full:
                kind: tencent
                account: "123456"
                encryption_key: { env: TENCENT_AES_KEY }
                region: intl
                expiry: false
                encrypt_client_subnet: false
                account_refusal_statuses: [401, 403]
                discovery: false
                addresses_file: /var/lib/app/tencent
            """
        let settings = try HTTPDNSConfigurationFile.settings(text, name: "f.yaml")
        var full = FileSettings.Provider(name: "full", kind: .tencent, position: Position(line: 4, column: 3))
        full.account = "123456"
        full.encryptionKey = .environment("TENCENT_AES_KEY")
        full.region = "intl"
        full.sendsExpiry = false
        full.encryptsClientSubnet = false
        full.accountRefusals = [401, 403]
        full.discovers = false
        full.addressesFile = "/var/lib/app/tencent"
        var plain = FileSettings.Provider(name: "plain", kind: .tencent, position: Position(line: 3, column: 3))
        plain.account = "100000"
        plain.secret = .environment("TENCENT_TOKEN")
        #expect(settings.providers == [plain, full])
    }

    @Test("Settings for an inspection omit the service's files and names to resolve")
    func inspection() throws {
        let text = """
            version: 1
            providers:
              ali: { kind: alibaba-v2, account: 1, addresses_file: /var/lib/app/alibaba }
              tencent: { kind: tencent, account: 1, secret: { env: TOKEN }, addresses_file: /var/lib/app/tencent }
              free: { kind: json-alidns }
            cache: { snapshot: { file: /var/lib/app/snapshot }, entries: 100, preresolve: [one.test] }
            """
        let settings = try HTTPDNSConfigurationFile.settings(text, name: "f.yaml")
        let inspected = settings.forInspection
        #expect(
            settings.configuration.resolver.snapshotPath != nil && settings.configuration.resolver.preresolve.count == 1
        )
        #expect(
            inspected.configuration.resolver.snapshotPath == nil && inspected.configuration.resolver.preresolve == []
        )
        let kept = inspected.providers.compactMap(\.addressesFile)
        #expect(kept == [] && inspected.configuration.resolver.cache == settings.configuration.resolver.cache)
        #expect(inspected.providers.map(\.name) == settings.providers.map(\.name))
        #expect(inspected.providers.last == settings.providers.last)
    }

    @Test("A Tencent provider is created with all settings of the file")
    func tencentProvider() async throws {
        let folder = try TemporaryFolder()
        let token = try folder.write("7", to: "token")
        #expect(chmod(token, 0o600) == 0)
        let own = """
            version: 1
            providers:
              tc: { kind: tencent, account: 1, secret: { file: "\(token)" }, url: "http://127.0.0.1:8053" }
              intl: { kind: tencent, account: 1, secret: { file: "\(token)" }, region: intl, account_refusal_statuses: 401 }
            """
        let providers = try HTTPDNSConfigurationFile.parse(own, name: "f.yaml").resolver.providers
        #expect(providers.map(\.name) == ["tc", "intl"] && providers.allSatisfy { $0 is HTTPDNSTencentProvider })
        #expect(providers.map(\.answerScope) == [.public, .public] && providers.map(\.batchLimit) == [8, 8])
        for provider in providers { await provider.shutdown() }
    }

    #if !Signing
    /// The error has the provider's location.
    @Test("An account needs the trait Signing, and the error names the trait")
    func withoutSigning() {
        let error = #expect(throws: HTTPDNSConfigurationFileError.self) {
            try HTTPDNSConfigurationFile.parse(
                """
                version: 1
                providers:
                  a: { kind: json-alidns, account: 9999, access_key: key, secret: { env: ALIDNS_SECRET } }
                """,
                name: "f.yaml"
            )
        }
        #expect(error?.description.hasPrefix("f.yaml:3:3: providers[\"a\"]: ") == true)
        #expect(error?.description.contains("trait Signing") == true)
    }
    #endif

    @Test(
        "An error that only the provider detects has the provider's location",
        arguments: ["https://192.0.2.53:99999/dns-query", "http://192.0.2.53/dns-query", "https://192.0.2.53/a b"]
    )
    func refused(url: String) {
        let error = #expect(throws: HTTPDNSConfigurationFileError.self) {
            try HTTPDNSConfigurationFile.parse(
                "version: 1\nproviders:\n  a: { kind: doh, url: \"\(url)\" }\n",
                name: "f.yaml"
            )
        }
        #expect(error?.issues.map(\.location.line) == [3])
        #expect(error?.description.hasPrefix("f.yaml:3:3: providers[\"a\"]: ") == true)
    }
}
#endif
