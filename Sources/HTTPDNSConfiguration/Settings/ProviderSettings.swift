// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
package import HTTPDNSCore
package import HTTPDNSPrimitives
package import HTTPDNSVendors

extension FileSettings {
    /// The settings of one provider in a configuration file.
    package struct Provider: Hashable, Sendable {
        package enum Kind: String, CaseIterable, Hashable, Sendable {
            case doh
            case dns
            case google = "json-google"
            case cloudflare = "json-cloudflare"
            case alidns = "json-alidns"
            case alibabaV1 = "alibaba-v1"
            case alibabaV2 = "alibaba-v2"
            case tencent
        }

        package var name: String
        package var kind: Kind
        /// The position of its name.
        package var position: Position
        /// The URL; nil means the service's own one.
        package var url: String?
        /// The bootstrap addresses; nil means those of the service's own URL.
        package var bootstrap: [HTTPDNSAddress]?
        package var method = HTTPDNSDoHProvider.Method.get
        /// The name servers of kind `dns`.
        package var servers: HTTPDNSDNSProvider.Servers?
        package var transport = HTTPDNSDNSProvider.Transport.udp
        package var tlsName: HTTPDNSName?
        package var certificateFile: String?
        /// The most private scope that it may answer; nil means ``FileSettings/answerScope``.
        package var answerScope: HTTPDNSAddressPolicy.Scope?
        /// The query limits; nil means the defaults.
        package var limits: HTTPDNSResolver.Configuration.ProviderLimits?
        /// The account; nil means a service without one.
        package var account: String?
        /// The identifier of the secret of Alidns.
        package var accessKey: String?
        /// The secret, or Tencent's token.
        package var secret: HTTPDNSSecret?
        package var encryptionKey: HTTPDNSSecret?
        package var encryption: HTTPDNSAlibabaProvider.Encryption?
        /// The identifier of the region; nil means the vendor's default.
        package var region: String?
        package var customParameters: [String: String] = [:]
        package var sendsExpiry: Bool?
        package var encryptsClientSubnet: Bool?
        package var accountRefusals: Set<Int> = []
        package var discovers: Bool?
        package var addressesFile: String?

        package init(name: String, kind: Kind, position: Position) {
            self.name = name
            self.kind = kind
            self.position = position
        }
    }

    /// An account of Alidns.
    package struct AlidnsAccount: Hashable, Sendable {
        package var account: String
        package var accessKey: String
        package var secret: HTTPDNSSecret
    }
}

// MARK: - Declarations

extension FileSettings.Provider {
    /// Returns the settings of a kind.
    fileprivate static func settings(_ kind: Kind) -> [Setting<Self>] {
        switch kind {
        case .doh: [self.kind, url.required("such as url: \(dohExample)"), bootstrap, method] + service
        case .dns: [self.kind, transport, servers, tlsName, certificateFile] + answers
        case .google, .cloudflare: [self.kind, url, bootstrap] + service
        case .alidns: settings(.google) + alidnsAccount
        case .alibabaV1: settings(.google) + alibaba + discovery
        case .alibabaV2: settings(.alibabaV1) + encryption
        case .tencent: settings(.google) + tencent + discovery
        }
    }

    /// Returns the keys of a kind.
    fileprivate static func table(_ kind: Kind) -> KeyTable {
        let name = [.google, .cloudflare].contains(kind) ? "json-google or json-cloudflare" : kind.rawValue
        var table = KeyTable("a provider of kind \(name)", settings(kind))
        if [.doh, .dns, .google, .cloudflare, .alidns].contains(kind) { table.later = ["region"] }
        return table
    }

    private static let dohExample = "https://doh.example/dns-query"
    private static let kind = Setting("kind", \Self.kind, .cases()).means("The kind of the provider.")
        .required("write kind: doh", end: .none)
    private static let url = Setting(
        "url",
        \Self.url,
        ofSection: {
            let example = $0.kind == .doh ? dohExample : "https://dns.example/resolve"
            return SettingForm<String>.serviceURL(hasBootstrap: $0.bootstrap != nil, example: example).optional
        }
    )
    .means("The https URL of the service; `http` only for a loopback address.")
    private static let bootstrap = Setting("bootstrap", \Self.bootstrap, .bootstrap)
        .means("The addresses of the service, whose name is never looked up; a named URL needs them.")
    private static let method = Setting("method", \Self.method, .cases())
        .means("The method of DNS over HTTPS; HTTP caches can help with `get`.")
    private static let servers = Setting(
        "servers",
        \Self.servers,
        ofSection: { SettingForm<HTTPDNSDNSProvider.Servers>.servers(overTLS: $0.transport == .tls).optional }
    )
    .means(
        "The name servers, in the order to try, with port 53, over TLS 853, unless they have another; or the file "
            + "that lists them."
    )
    .required("such as servers: [10.0.0.2, 10.0.0.3]")
    private static let transport = Setting("transport", \Self.transport, .cases())
        .means("The protocol of queries; what is too long for `udp`, or not certain, is asked for over TCP.")
    private static let tlsName = Setting("tls_name", \Self.tlsName, .certificateName)
        .means("The name that the servers' certificates must have, over TLS; without it their addresses.")
    private static let certificateFile = Setting("ca_file", \Self.certificateFile, .readableFile())
        .means("The PEM file of the only authorities trusted for the service.")
    private static let service: [Setting<Self>] = [certificateFile] + answers
    private static let answers: [Setting<Self>] = [
        .init("answer_scope", \.answerScope, .scope)
            .means("The most private kind of address that it may answer, in place of `policy.providers_may_answer`."),
        .init("limits", \.limits, .limits).means("The limits for its queries."),
    ]

    private static let account = Setting("account", \Self.account, .identifier)
        .means("The account's number in the vendor's console.")
        .required("it is the number in the vendor's console, such as account: 100000", end: .missingOrWrong)
    private static let secret = Setting("secret", \Self.secret, .secret)
    private static let encryptionKey = Setting("encryption_key", \Self.encryptionKey, .secret)
    private static let discovery: [Setting<Self>] = [
        .init("discovery", \.discovers, .truth)
            .means("Whether the service is asked for its addresses; Alibaba's also for the state of the account.")
            .defaulting(to: "true"),
        .init("addresses_file", \.addressesFile, .path("the path of a file"))
            .means("The file in which discovered addresses survive a restart, for this provider alone."),
    ]
    private static func region(_ names: [String]) -> Setting<Self> {
        Setting("region", \Self.region, SettingForm<String>.words(names)).defaulting(to: "cn")
    }

    fileprivate static let alidnsAccount: [Setting<Self>] = [
        .init("account", \.account, .identifier)
            .means("The account (`uid`), with `access_key` and `secret`; without the three it is the free service."),
        .init("access_key", \.accessKey, .identifier).means("The identifier of the access key (`ak`)."),
        secret.means("The place of the access key's secret."),
    ]
    private static let alibaba: [Setting<Self>] = [
        account, secret.means("The place of the secret that signs queries."),
        region(["cn", "hk", "sg", "de", "us", "global"])
            .means("The region of the account; `global` needs `bootstrap`."),
        .init("custom_parameters", \.customParameters, .customParameters)
            .means("Parameters of custom resolution: keys without the prefix `sdns-`, and values."),
    ]
    private static let encryption: [Setting<Self>] = [
        .init("encryption", \.encryption, .cases())
            .means("The encryption of names and answers inside TLS (AES-128), with `encryption_key`."),
        encryptionKey.means("The place of the AES key, with `encryption`."),
    ]
    private static let tencent: [Setting<Self>] = [
        account, secret.means("The place of the token, with which names are sent unencrypted inside TLS."),
        encryptionKey.means("The place of the AES key, in place of `secret`."),
        region(["cn", "intl"]).means("The region of the account."),
        .init("expiry", \.sendsExpiry, .truth)
            .means("Whether queries contain the time at which they expire.").defaulting(to: "true"),
        .init("encrypt_client_subnet", \.encryptsClientSubnet, .truth)
            .means("Whether the client subnet is encrypted where names are.").defaulting(to: "true"),
        .init("account_refusal_statuses", \.accountRefusals, .set(of: .refusal, refusals))
            .means("Statuses of a refused account, after which nothing more is sent."),
    ]
}

private let refusals = "HTTP statuses, one or a list: 400 to 499 but 408 and 429"

extension SettingForm<Int> {
    fileprivate static let refusal = SettingForm(refusals, values: "400 to 499 but 408 and 429") {
        (text, _) throws(ValueMistake) in
        guard text.utf8.count == 3, let status = Int(digits: text), HTTPDNSTencentProvider.mayRefuseAccount(status)
        else {
            throw ValueMistake("found \(quoted(text)); allowed: \(refusals)")
        }
        return status
    }
}

extension SettingForm<HTTPDNSResolver.Configuration.ProviderLimits> {
    private static let settings: [Setting<Value>] = [
        // As many as there are local ports.
        .init("in_flight", \.maximumInFlight, .number(1...65_535))
            .means("The maximum number of concurrent queries; further ones wait."),
        // No service accepts more from one machine.
        .init("per_second", \.queriesPerSecond, SettingForm<Int>.number(1...1_000_000).map { Double($0) })
            .means(
                "The maximum average number of queries in a second, with a burst of as many; "
                    + "further ones go to the next provider, or a stale answer serves."
            ),
    ]

    fileprivate static let limits = section(settings, name: "a provider's limits") { _ in Value() }
}

extension SettingForm<[HTTPDNSAddress]> {
    fileprivate static let bootstrap = list(
        of: SettingForm<HTTPDNSAddress>("an address", values: "addresses without port") {
            (text, _) throws(ValueMistake) in try TargetText.parseAddress(text)
        },
        "the service's addresses, one or a list",
        twice: { "\($0) is listed twice: it is on line \($1.line) already" }
    )
}

extension SettingForm<HTTPDNSName> {
    fileprivate static let certificateName = SettingForm("a name", values: "a name", schema: reference("name")) {
        (text, _) throws(ValueMistake) in
        try HostKeyText.parseName(text, addressHint: "leave it out: the certificate must have the server's address")
    }
}

extension SettingForm<HTTPDNSDNSProvider.Servers> {
    static let servers = servers(overTLS: false)

    static func servers(overTLS: Bool) -> Self {
        let list = SettingForm<[HTTPDNSEndpoint]>.list(
            of: SettingForm<HTTPDNSEndpoint>(
                "an address",
                values: "`resolv.conf`, its path, or addresses, with a port or without"
            ) { (text, _) throws(ValueMistake) in
                try TargetText.parseServer(text, port: overTLS ? HTTPDNSDNSProvider.tlsPort : 53)
            },
            "the addresses of name servers, one or a list, or resolv.conf"
        )
        return SettingForm { _ in
            list.facts(nil)
        } read: { reader, node, path, _ in
            if let text = node.text, text == "resolv.conf" || text.hasPrefix("/") {
                return .file(text == "resolv.conf" ? "/etc/resolv.conf" : text)
            }
            return list.read(&reader, node, path, nil).map { .addresses($0) }
        }
    }
}

extension SettingForm<[String: String]> {
    /// The provider itself checks the characters, when the whole file has been read.
    fileprivate static let customParameters = SettingForm(entries: [], values: "keys and values") {
        reader,
        node,
        path,
        _ in
        var parameters: Value = [:]
        for entry in reader.entries(of: node, path: path, "keys and values") ?? [] {
            guard let value = reader.read(.text("a text"), of: entry.value, path: entry.place) else { continue }
            if parameters.updateValue(value, forKey: entry.name) != nil {
                reader.mistakes.add("\(entry.place) is written twice", at: entry.key.position, hint: "keep one of them")
            }
        }
        return parameters
    }
}

extension SettingForm<String> {
    /// The URL of a provider. Only mistakes with a specific hint are found here; the provider parses the URL in full.
    /// - Parameter example: A URL of this kind of service, for errors.
    fileprivate static func serviceURL(hasBootstrap: Bool, example: String) -> SettingForm {
        SettingForm("an https URL", values: "such as `\(example)`") { (text, _) throws(ValueMistake) in
            let allowed = "allowed: an https URL such as \(example)"
            let authority = (text.firstRange(of: "://").map { text[$0.upperBound...] } ?? text[...])
                .prefix { $0 != "/" && $0 != "?" && $0 != "#" }
            // The text before @ may be a secret: it is not repeated.
            guard !authority.contains("@") else {
                throw ValueMistake("the URL holds a user name or password; \(allowed)")
            }
            if text.hasSuffix("{?dns}") {
                throw ValueMistake("\(quoted(text)) is a URI template; \(allowed)", hint: "write \(text.dropLast(6))")
            }
            let scheme = text.firstRange(of: "://").map { text[..<$0.lowerBound].lowercased() }
            guard let scheme, scheme == "https" || scheme == "http", !authority.isEmpty else {
                throw ValueMistake(
                    "\(quoted(text)) is not an https URL; \(allowed)",
                    hint: scheme == nil && !text.isEmpty ? "did you mean https://\(text)?" : nil
                )
            }
            let isLiteral = TargetText.isAddress(String(authority))
            if scheme == "http", !isLiteral {
                throw ValueMistake(
                    "\(quoted(text)) is not encrypted; \(allowed)",
                    hint: "http is for loopback addresses only"
                )
            }
            guard isLiteral || hasBootstrap else {
                throw ValueMistake(
                    "\(quoted(text)) is by name, and the service's own name is never looked up",
                    hint: "add bootstrap: [ADDRESS] with the service's addresses"
                )
            }
            return text
        }
    }
}

// MARK: - Reading

extension SettingForm<[FileSettings.Provider]> {
    static let providers = SettingForm(entries: FileSettings.Provider.facts) { reader, node, path, _ in
        if node.isEmpty { return nil }
        var lines: [String: Position] = [:]
        return reader.entries(of: node, path: path, "a name for each provider")?.compactMap { entry in
            if let first = lines[entry.name] {
                reader.mistakes.add(
                    "\(entry.place) is written twice: it is on line \(first.line) already",
                    at: entry.key.position,
                    hint: "give one of them another name"
                )
                return nil
            }
            lines[entry.name] = entry.key.position
            return FileSettings.Provider.read(&reader, entry)
        }
    }
}

extension FileSettings.Provider {
    /// The settings of each kind; two of them have the same.
    fileprivate static let facts = Kind.allCases.filter { $0 != .cloudflare }.map { kind in
        SettingFacts.mapping(table(kind).name, settings(kind), of: Self(name: "", kind: kind, position: .none))
    }

    fileprivate static func read(_ reader: inout SettingsReader, _ entry: SettingsReader.NamedEntry) -> Self? {
        let (path, position) = (entry.place, entry.key.position)
        if !(1...64).contains(entry.name.utf8.count) || !entry.name.utf8.allSatisfy(isNameOctet) {
            reader.mistakes.add(
                "\(path): the name is not allowed; allowed: 1 to 64 of a-z, A-Z, 0-9, -, _ and .",
                at: position
            )
        } else if entry.name == "system" {
            reader.mistakes.add(
                "\(path): the name \"system\" stands for the system resolver",
                at: position,
                hint: "choose another name"
            )
        }
        guard let kind = kind(&reader, entry),
            var fields = reader.fields(of: entry.value, table(kind), path: path)
        else { return nil }
        fields.position = position
        var provider = Self(name: entry.name, kind: kind, position: position)
        guard reader.read(settings(kind), &fields, path: path, into: &provider) else { return nil }
        provider.checkAccount(&reader, fields, path: path)
        return provider
    }

    /// Reads the kind of a provider.
    ///
    /// It is read first: other kinds have other keys, for which errors about `doh` keys would be wrong.
    private static func kind(_ reader: inout SettingsReader, _ entry: SettingsReader.NamedEntry) -> Kind? {
        guard case .mapping(let entries) = entry.value.content else {
            let isURL = entry.value.text?.contains("://") == true
            reader.mistakes.add(
                "\(entry.place): found \(isURL ? "a URL" : entry.value.found); allowed: a mapping with \(table(.doh).allowed)",
                at: entry.value.position,
                hint: isURL ? "write { kind: doh, url: ... }" : nil
            )
            return nil
        }
        guard let node = entries.first(where: { $0.key.text == "kind" })?.value else {
            return .doh
        }
        return reader.read(.cases(), of: node, path: "\(entry.place).kind")
    }

    /// Checks the keys of an account together.
    private func checkAccount(_ reader: inout SettingsReader, _ fields: SettingsReader.Fields, path: String) {
        switch kind {
        case .alibabaV1, .alibabaV2:
            if (fields["encryption"] == nil) != (fields["encryption_key"] == nil) {
                reader.mistakes.add(
                    "\(path): encryption and encryption_key belong together, and one is missing",
                    at: position,
                    hint: "such as encryption: gcm with encryption_key: { env: ALIBABA_AES_KEY }"
                )
            }
            if region == HTTPDNSAlibabaProvider.Region.global.identifier, fields["bootstrap"] == nil {
                reader.mistakes.add(
                    "\(path).region: the region global has no published addresses",
                    at: fields["region"]?.position ?? position,
                    hint: "add bootstrap: [ADDRESS] with those that the vendor gave you"
                )
            }
        case .tencent:
            if (fields["secret"] == nil) == (fields["encryption_key"] == nil) {
                reader.mistakes.add(
                    "\(path): it needs secret, the token, or encryption_key, the AES key, and not both",
                    at: position,
                    hint: "such as secret: { env: TENCENT_TOKEN }"
                )
            }
        case .alidns: FileSettings.AlidnsAccount.check(&reader, fields, path: path)
        case .dns:
            guard transport != .tls else { break }
            for key in ["tls_name", "ca_file"] {
                guard let node = fields[key] else { continue }
                reader.mistakes.add(
                    "\(path).\(key): there is no TLS without transport: tls",
                    at: node.position,
                    hint: "write transport: tls, or leave \(key) out"
                )
            }
        case .doh, .google, .cloudflare: break
        }
    }
}

extension FileSettings.AlidnsAccount {
    private static let settings = FileSettings.Provider.alidnsAccount

    /// The account of a local provider.
    static let form = SettingForm<Self>.section(
        settings,
        start: { _ in FileSettings.Provider(name: "", kind: .alidns, position: .none) },
        end: { provider in
            guard let account = provider.account, let accessKey = provider.accessKey, let secret = provider.secret
            else { return nil }
            return Self(account: account, accessKey: accessKey, secret: secret)
        }
    ) { reader, _, fields, path in
        check(&reader, fields, path: path)
    }

    /// Checks that all keys of an account are there, or none.
    fileprivate static func check(_ reader: inout SettingsReader, _ fields: SettingsReader.Fields, path: String) {
        let absent = settings.map(\.key).filter { fields[$0] == nil }
        for key in absent where absent.count < 3 {
            let hint = "an account needs account, access_key and secret; without all three it is the free service"
            reader.missing(key, path, at: fields.position, hint: hint)
        }
    }
}

// MARK: - Providers

extension FileSettings.Provider {
    /// Creates the provider.
    func live() throws(HTTPDNSProviderConfigurationError) -> any HTTPDNSProvider {
        let trustRoots = certificateFile.map(HTTPDNSTrust.Roots.file) ?? .system
        let answerScope = answerScope ?? .public
        let credential = HTTPDNSVendorCredential(
            account: account ?? "",
            secret: secret,
            encryptionKey: encryptionKey
        )
        let addressStore = addressesFile.map { HTTPDNSDiskStore(path: $0) }
        let service: HTTPDNSJSONProvider.Service
        switch kind {
        case .doh:
            var settings = HTTPDNSDoHProvider.Configuration(name: name, url: url ?? "", bootstrap: bootstrap ?? [])
            settings.method = method
            settings.trustRoots = trustRoots
            settings.answerScope = answerScope
            return try HTTPDNSDoHProvider(settings)
        case .dns:
            var settings = HTTPDNSDNSProvider.Configuration(name: name, servers: servers ?? .addresses([]))
            settings.transport = transport
            settings.tlsName = tlsName
            settings.trustRoots = trustRoots
            settings.answerScope = answerScope
            return try HTTPDNSDNSProvider(settings)
        case .alibabaV1, .alibabaV2:
            let version: HTTPDNSAlibabaProvider.Version = kind == .alibabaV1 ? .v1 : .v2
            var settings = HTTPDNSAlibabaProvider.Configuration(name: name, version: version, credential: credential)
            settings.encryption = encryption
            settings.customParameters = customParameters
            if let region = HTTPDNSAlibabaProvider.Region.all.first(where: { $0.identifier == region }) {
                settings.region = region
            }
            if let discovers { settings.discoversAddresses = discovers }
            settings.addressStore = addressStore
            settings.trustRoots = trustRoots
            settings.answerScope = answerScope
            if let url { settings.url = url }
            settings.bootstrap = bootstrap
            return try HTTPDNSAlibabaProvider(settings)
        case .tencent:
            var settings = HTTPDNSTencentProvider.Configuration(name: name, credential: credential)
            if let region = HTTPDNSTencentProvider.Region.all.first(where: { $0.identifier == region }) {
                settings.region = region
            }
            if let sendsExpiry { settings.sendsExpiry = sendsExpiry }
            if let encryptsClientSubnet { settings.encryptsClientSubnet = encryptsClientSubnet }
            settings.accountRefusalStatuses = accountRefusals
            if let discovers { settings.discoversAddresses = discovers }
            settings.addressStore = addressStore
            settings.trustRoots = trustRoots
            settings.answerScope = answerScope
            settings.url = url
            settings.bootstrap = bootstrap ?? []
            return try HTTPDNSTencentProvider(settings)
        case .google: service = .google
        case .cloudflare: service = .cloudflare
        case .alidns:
            if let account, let accessKey, let secret {
                service = .alidns(account: account, accessKey: accessKey, secret: secret)
            } else {
                service = .alidns
            }
        }
        var settings = HTTPDNSJSONProvider.Configuration(name: name, service: service, url: url, bootstrap: bootstrap)
        settings.trustRoots = trustRoots
        settings.answerScope = answerScope
        return try HTTPDNSJSONProvider(settings)
    }
}
