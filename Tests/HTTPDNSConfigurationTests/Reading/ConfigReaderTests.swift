// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if SwiftConfiguration && YAML
import Configuration
import HTTPDNSConfiguration
import ServerRig
import Testing

@testable import HTTPDNS

struct ConfigReaderTests {
    /// The keys of the schema, without those that only a file has.
    private static let keys: [SchemaKey] = {
        guard let text = try? Repository.text("Docs/configuration.schema.json"),
            let root = try? YAMLDocument.read(text, file: "schema")
        else { return [] }
        return SchemaKey.all(of: root)
    }()

    /// The keys for which every text is a value.
    private static let freeTexts: Set<String> = ["client.proxy.user"]
    /// The keys for which nearly every text is a path, and only none is no value.
    private static let freePaths: Set<String> = [
        "cache.snapshot.file", "client.cookies.file", "client.unix_socket", "client.response_cache.folder",
    ]

    /// What a key needs beside it.
    private static let companions = [
        "client.proxy.": [("client.proxy.url", "http://192.0.2.1:3128"), ("client.proxy.user", "me")],
        "client.trust.client_certificate.": [("client.trust.client_certificate.file", "/dev/null")],
        "resolver.attempt_limit": [("resolver.time_limit", "60s")],
    ]

    /// The values for a reader and a file that set a key.
    private func values(of key: SchemaKey) -> [(path: [String], value: String)] {
        let companions = Self.companions.filter { key.name.hasPrefix($0.key) }.flatMap(\.value)
        let others = companions.filter { $0.0 != key.name }.map {
            (path: $0.0.split(separator: ".").map(String.init), value: $0.1)
        }
        return others + [(key.path, key.value)]
    }

    private func reader(_ values: [(path: [String], value: String)], _ access: Accesses? = nil) -> ConfigReader {
        let pairs = values.map { (AbsoluteConfigKey($0.path), ConfigValue(.string($0.value), isSecret: false)) }
        return ConfigReader(
            provider: InMemoryProvider(values: Dictionary(pairs) { first, _ in first }),
            accessReporter: access
        )
    }

    private func issues(_ reader: ConfigReader) -> [String] {
        do {
            _ = try FileSettings.read(reader)
            return []
        } catch {
            return error.issues.map(\.description)
        }
    }

    /// The text of a file with values.
    private func text(_ values: [(path: [String], value: String)]) -> String {
        "version: 1\n" + mapping(values[...].map { ($0.path[...], $0.value) }).dropFirst().dropLast()
    }

    private func mapping(_ values: [(path: ArraySlice<String>, value: String)]) -> String {
        var names: [String] = []
        for (path, _) in values where !names.contains(path.first ?? "") { names.append(path.first ?? "") }
        let entries = names.map { name in
            let inside = values.filter { $0.path.first == name }
            guard inside[0].path.count == 1 else {
                return "\(name): " + mapping(inside.map { ($0.path.dropFirst(), $0.value) })
            }
            return "\(name): \"" + inside[0].value.replacing("\u{1}", with: "\\x01") + "\""
        }
        return "{" + entries.joined(separator: ", ") + "}"
    }

    /// All that settings contain, without the positions in a file.
    private func facts(_ settings: FileSettings) -> String {
        var settings = settings
        settings.configuration.trustOrigins = [:]
        var text = ""
        dump(settings, to: &text)
        // The members of a set are in any order.
        text = text.split(separator: "\n").sorted().joined(separator: "\n")
        text.replace(/Set\(\[([^\]]*)\]\)/) { match in
            match.output.1.split(separator: ", ").sorted().joined(separator: ", ")
        }
        // Objects have addresses, and mirrors of proxies are empty.
        text += "\(settings.configuration.proxy.content)"
        if case .through(let proxy, let exceptions) = settings.configuration.proxy.content {
            text += "\(proxy.resolvesLocally) \(proxy.enforcesReachableNetworks) \(exceptions) "
            text +=
                "\(proxy.credential?.user ?? "-") \(proxy.credential?.scheme as Any) \(proxy.credential?.password as Any)"
        }
        return text
    }

    /// The keys whose only value is the default.
    private static let defaults: Set<String> = ["cache.refresh_idle_names"]

    // MARK: every key

    @Test("The reader asks for every value and list of the schema, and for nothing else")
    func schema() throws {
        let access = Accesses()
        _ = try FileSettings.read(reader([], access))
        let names = Self.keys.map(\.name)
        #expect(names.count > 80 && Set(names).count == names.count)
        let secrets = FileSettings.facts.names(where: \.isSecret)
        // The schema has the place of a secret, and a reader also the secret itself.
        #expect(access.names == Set(names).union(secrets))
        #expect(Set(Self.keys.filter(\.isList).map(\.name)) == FileSettings.facts.names(where: \.isList))
    }

    @Test("A value has the meaning that it has in a file", arguments: keys)
    func sameAsFile(key: SchemaKey) throws {
        let values = values(of: key)
        let byReader = try FileSettings.read(reader(values))
        let byFile = try HTTPDNSConfigurationFile.settings(text(values), name: "ConfigReader")
        #expect(facts(byReader) == facts(byFile))
        if !Self.defaults.contains(key.name) { #expect(facts(byReader) != facts(FileSettings())) }
    }

    /// Values of the keys that only files have.
    private static let inFileOnly = [
        "routes": "{ a.test: system }", "mappings": "{ a.test: 192.0.2.7 }", "client.headers": "{ X-A: b }",
        "client.headers_by_host": "{ a.test: { without: X-A } }",
        "client.credentials": "[{ origin: https://a.test, scheme: bearer, token: { env: PATH } }]",
        "client.trust.pins_by_host": "{ a.test: sha256//YhKJKSzoTt2b5FP18fvpHo7fJYqQCjAa3HWY3tvRMwE= }",
        "client.trust_by_host": "{ a.test: { minimum_version: 1.3 } }",
    ]
    /// Those whose values are no properties of a client's settings.
    private static let others: Set = ["version", "file_permissions", "providers", "metrics", "serve", "agent"]

    private func namesInFileOnly(_ settings: [SettingFacts], _ prefix: String = "") -> [String] {
        settings.flatMap { setting in
            let name = prefix + setting.key
            return setting.isInFileOnly ? [name] : namesInFileOnly(setting.parts, name + ".")
        }
    }

    @Test("A reload takes the value of every key")
    func renewed() throws {
        #expect(Set(namesInFileOnly(FileSettings.facts)).subtracting(Self.others) == Set(Self.inFileOnly.keys))
        let texts = Dictionary(uniqueKeysWithValues: Self.keys.map { ($0.name, text(values(of: $0))) })
        let others = Self.inFileOnly.map { key, value in
            let mapping = key.split(separator: ".").reversed().reduce(value) { "{ \($1): \($0) }" }
            return (key, "version: 1\n" + mapping.dropFirst(2).dropLast(2))
        }
        let defaults = FileSettings()
        for (name, text) in texts.merging(others, uniquingKeysWith: { $1 }) {
            var (expected, renewed) = (defaults, defaults)
            expected.configuration = try HTTPDNSConfigurationFile.settings(text, name: "f").configuration
            renewed.configuration =
                defaults.configuration.renewed(from: defaults.configuration, to: expected.configuration)
            #expect(facts(renewed) == facts(expected), "\(name)")
            let isProperty = !Self.defaults.contains(name) && name != "policy.providers_may_answer"
            #expect((facts(expected) != facts(defaults)) == isProperty, "\(name)")
        }
    }

    @Test("An unusable value is refused with the text of a file, which names the key", arguments: keys)
    func refused(key: SchemaKey) throws {
        guard !Self.freeTexts.contains(key.name) else { return }
        var values = values(of: key)
        values[values.count - 1].value = Self.freePaths.contains(key.name) ? "" : "no such\u{1}/value="
        let messages = issues(reader(values))
        #expect(messages.contains { $0.hasPrefix("ConfigReader: \(key.name)") }, "\(messages)")
        let text = text(values)
        let error = #expect(throws: HTTPDNSConfigurationFileError.self) {
            try HTTPDNSConfigurationFile.settings(text, name: "ConfigReader")
        }
        // The lines of the file are all that differs.
        #expect(error?.issues.map { "ConfigReader: " + $0.text } == messages)
    }

    // MARK: providers

    @Test("Variables of the environment set values and lists")
    func environment() throws {
        let provider = EnvironmentVariablesProvider(environmentVariables: [
            "HTTPDNS_ENABLED": "false", "HTTPDNS_CLIENT_TIMEOUTS_FIRST_BYTE": "7s", "HTTPDNS_CACHE_ENTRIES": "123",
            "HTTPDNS_POLICY_DENY": "192.0.2.0/24,2001:db8::/32", "HTTPDNS_CLIENT_PROXY": "http://192.0.2.1:3128",
            "HTTPDNS_CLIENT_RETRIES_STATUSES": "502", "HTTPDNS_CLIENT_UNKNOWN": "x",
        ])
        let configuration = try HTTPDNSClient.Configuration(
            reader: ConfigReader(provider: provider).scoped(to: "httpdns")
        )
        #expect(!configuration.isEnabled && configuration.timeouts.firstByte == .seconds(7))
        #expect(configuration.resolver.cache.entries == 123 && configuration.retries.statuses == [502])
        #expect(configuration.resolver.policy.denied.map(\.description) == ["192.0.2.0/24", "2001:db8::/32"])
        #expect(configuration.proxy != .off)
    }

    @Test("Values of a provider's own types are read")
    func types() throws {
        let provider = InMemoryProvider(values: [
            "enabled": ConfigValue(.bool(false), isSecret: false),
            "cache.entries": ConfigValue(.int(123), isSecret: false),
            "client.versions": ConfigValue(.double(1.1), isSecret: false),
            "client.retries.statuses": ConfigValue(.intArray([502, 503]), isSecret: false),
            "policy.deny": ConfigValue(.stringArray(["192.0.2.0/24"]), isSecret: false),
        ])
        let configuration = try HTTPDNSClient.Configuration(reader: ConfigReader(provider: provider))
        #expect(!configuration.isEnabled && configuration.resolver.cache.entries == 123)
        #expect(configuration.versions == .http1Only && configuration.retries.statuses == [502, 503])
        #expect(configuration.resolver.policy.denied.count == 1)
    }

    @Test("Without values the settings are the defaults")
    func defaults() throws {
        #expect(facts(try FileSettings.read(reader([]))) == facts(FileSettings()))
        let configuration = try HTTPDNSClient.Configuration(reader: reader([]))
        #expect(configuration.timeouts == HTTPDNSClient.Configuration().timeouts && configuration.isEnabled)
    }

    /// The provider changes all values as soon as the first of them was read.
    @Test("All values are those of one version of a provider", arguments: [false, true])
    func oneVersion(isScoped: Bool) throws {
        @Sendable func values(_ version: String) -> [AbsoluteConfigKey: ConfigValue] {
            let values = [
                ["enabled"]: "true", ["client", "proxy", "url"]: "http://\(version).test:3128",
                ["client", "proxy", "user"]: "me", ["client", "proxy", "password"]: version,
            ]
            return Dictionary(
                uniqueKeysWithValues: values.map { path, text in
                    (
                        AbsoluteConfigKey((isScoped ? ["httpdns"] : []) + path),
                        ConfigValue(.string(text), isSecret: false)
                    )
                }
            )
        }
        let provider = MutableInMemoryProvider(initialValues: values("old"))
        let access = Accesses {
            for (key, value) in values("new") { provider.setValue(value, forKey: key) }
        }
        let reader = ConfigReader(provider: provider, accessReporter: access)
        let configuration = try HTTPDNSClient.Configuration(reader: isScoped ? reader.scoped(to: "httpdns") : reader)
        guard case .through(let proxy, _) = configuration.proxy.content else {
            Issue.record("no proxy")
            return
        }
        #expect("\(proxy)".contains("old.test"))
        #expect(try proxy.credential?.password?.read() == "old")
        #expect(access.names.count > 80)
    }

    // MARK: mistakes

    @Test(
        "A mistake names its key, and all of them are listed",
        arguments: [
            ([("client.timeouts.connect", "5")], ["client.timeouts.connect: "]),
            ([("cache.entries", "0"), ("enabled", "yes")], ["enabled: ", "cache.entries: "]),
            (
                [("client.cookies", "memory"), ("client.cookies.maximum", "5")],
                ["client.cookies: there is a value, and one of client.cookies.maximum"]
            ),
            (
                [("cache.ttl.min", "2h"), ("cache.ttl.max", "1h")],
                ["cache.ttl: min (2h) is above max (1h)"]
            ),
        ]
    )
    func mistakes(values: [(String, String)], starts: [String]) throws {
        let issues = issues(reader(values.map { ($0.0.split(separator: ".").map(String.init), $0.1) }))
        #expect(issues.count == starts.count)
        for (issue, start) in zip(issues.sorted(), starts.map { "ConfigReader: \($0)" }.sorted()) {
            #expect(issue.hasPrefix(start), "\(issue)")
        }
    }

    @Test("A list in the place of a single value is refused")
    func listForValue() throws {
        let provider = InMemoryProvider(values: [
            "client.timeouts.connect": ConfigValue(.stringArray(["5s", "6s"]), isSecret: false)
        ])
        #expect(
            issues(ConfigReader(provider: provider)) == [
                "ConfigReader: client.timeouts.connect: found a list; allowed: a duration such as 30s, or none"
            ]
        )
    }

    // MARK: secrets

    @Test("Passwords and the proxy's URL are read as secrets, and no other value is")
    func secrets() throws {
        let access = Accesses()
        let values = [
            (["client", "proxy", "url"], "http://192.0.2.1:3128"), (["client", "proxy", "user"], "me"),
            (["client", "proxy", "password"], "CANARY"),
        ]
        let configuration = try HTTPDNSClient.Configuration(reader: reader(values, access))
        #expect(access.secretNames == ["client.proxy.url", "client.proxy.password"])
        #expect(!"\(configuration.proxy)".contains("CANARY"))
        let settings = try FileSettings.read(reader(values))
        var dumped = ""
        dump(settings, to: &dumped)
        #expect(!dumped.contains("CANARY") && dumped.contains("192.0.2.1"))
        guard case .through(let proxy, _) = configuration.proxy.content else {
            Issue.record("no proxy")
            return
        }
        #expect(try proxy.credential?.password?.read() == "CANARY")
    }

    @Test("A password in a proxy's URL is read as a secret, and refused", arguments: [[], ["url"]])
    func proxyText(end: [String]) {
        let access = Accesses()
        let values = [(["client", "proxy"] + end, "http://user:CANARY@192.0.2.1:3128"), (["enabled"], "true")]
        let refused = issues(reader(values, access))
        #expect(refused.count == 1 && !refused.joined().contains("CANARY"))
        #expect(access.secretNames == [(["client", "proxy"] + end).joined(separator: ".")])
    }

    @Test("The password of a client certificate is given by its place alone")
    func certificatePassword() throws {
        let prefix = ["client", "trust", "client_certificate"]
        let values = [(prefix + ["file"], "/dev/null"), (prefix + ["password"], "CANARY")]
        let refused = issues(reader(values))
        #expect(refused.count == 1 && refused[0].contains("client.trust.client_certificate.password: found a value"))
        #expect(!refused[0].contains("CANARY"))
        let placed = [(prefix + ["file"], "/dev/null"), (prefix + ["password", "env"], "TLS_PASSWORD")]
        #expect(
            try FileSettings.read(reader(placed)).configuration.trust.clientCertificate?.keyPassword
                == .environment("TLS_PASSWORD")
        )
    }
}

extension [SettingFacts] {
    /// The paths of the settings that sources other than files have, and for which a condition holds.
    func names(below path: String = "", where condition: (SettingFacts) -> Bool) -> Set<String> {
        reduce(into: []) { names, facts in
            if facts.isInFileOnly { return }
            let name = path + facts.key
            if condition(facts) { names.insert(name) }
            names.formUnion(facts.parts.names(below: name + ".", where: condition))
        }
    }
}

/// The keys that a reader was asked for.
final class Accesses: AccessReporter {
    private let events = Lock<[AccessEvent]>([])
    private let action: @Sendable () -> Void

    /// - Parameter action: An action after each of them.
    init(_ action: @escaping @Sendable () -> Void = {}) { self.action = action }

    func report(_ event: AccessEvent) {
        events.withLock { $0.append(event) }
        action()
    }

    var names: Set<String> { Set(events.withLock { $0 }.map { $0.metadata.key.components.joined(separator: ".") }) }

    /// The keys whose values were secret.
    var secretNames: Set<String> {
        let secret = events.withLock { $0 }.filter { event in
            guard case .success(let value?) = event.result else { return false }
            return value.isSecret
        }
        return Set(secret.map { $0.metadata.key.components.joined(separator: ".") })
    }
}

extension HTTPDNSConfigurationFileError.Issue {
    /// The text without the position.
    fileprivate var text: String { message + (hint.map { " (\($0))" } ?? "") }
}
#endif
