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
        package var secret: SecretPlace?
        package var encryptionKey: SecretPlace?
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
        package var secret: SecretPlace
    }
}

// MARK: - Declarations

extension FileSettings.Provider {
    /// Returns the settings of a kind; those of an account begin with `account`.
    static func settings(_ kind: Kind) -> [Setting<Self>] {
        switch kind {
        case .doh: Array(json[...2]) + [method] + json[3...]
        case .google, .cloudflare: json
        case .alidns: json + [account, accessKey, secret]
        case .alibabaV1: json + [account, secret, region(alibabaRegions), parameters] + discovery
        case .alibabaV2: settings(.alibabaV1) + encryption
        case .tencent: json + [account, secret, encryptionKey, region(tencentRegions)] + tencent + discovery
        }
    }

    /// Returns the keys of a kind.
    static func table(_ kind: Kind) -> KeyTable {
        let name = [.google, .cloudflare].contains(kind) ? "json-google or json-cloudflare" : kind.rawValue
        let later = [.doh, .google, .cloudflare, .alidns].contains(kind) ? ["region"] : []
        return KeyTable("a provider of kind \(name)", settings(kind), later: later)
    }

    /// The keys of all kinds; two of them have the same.
    static let tables = Kind.allCases.filter { $0 != .cloudflare }.map(table)
    static let limits = KeyTable("a provider's limits", HTTPDNSResolver.Configuration.ProviderLimits.settings)

    private static let json: [Setting<Self>] = [
        .own("kind", "The kind of the provider."),
        .own("url", "The URL of the service."),
        .init("bootstrap", \.bootstrap, .bootstrap).means("The addresses of the service."),
        .init("ca_file", \.certificateFile, .readableFile())
            .means("The PEM file of the only authorities trusted for the service."),
        .init("answer_scope", \.answerScope, .scope).means("The most private kind of address that it may answer."),
        .init("limits", \.limits, .limits).means("The limits for its queries."),
    ]
    private static let method = Setting("method", \Self.method, .cases()).means("The method of DNS over HTTPS.")
    private static let account = Setting("account", \Self.account, .identifier).means("The account at the vendor.")
    private static let accessKey = Setting("access_key", \Self.accessKey, .identifier)
        .means("The identifier of the secret.")
    private static let secret = Setting("secret", \Self.secret, .secret).means("The place of the secret.")
    private static let encryptionKey = Setting("encryption_key", \Self.encryptionKey, .secret)
        .means("The place of the key of encrypted queries.")
    private static let parameters = Setting<Self>.own("custom_parameters", "Parameters of the program's own.") {
        $3.customParameters = $0.readCustomParameters($1, path: $2)
    }
    private static let discovery: [Setting<Self>] = [
        .init("discovery", \.discovers, .truth).means("Whether the addresses of the service are discovered."),
        .init("addresses_file", \.addressesFile, .path("the path of a file"))
            .means("The file in which discovered addresses survive a restart."),
    ]
    private static let encryption: [Setting<Self>] = [
        .init("encryption", \.encryption, .cases()).means("The encryption of names and answers inside TLS."),
        encryptionKey,
    ]
    private static let tencent: [Setting<Self>] = [
        .init("expiry", \.sendsExpiry, .truth).means("Whether queries contain the time at which they expire."),
        .init("encrypt_client_subnet", \.encryptsClientSubnet, .truth).means(
            "Whether the client's network is encrypted."
        ),
        .init("account_refusal_statuses", \.accountRefusals, .set(of: .refusal, refusals))
            .means("Statuses that mean a refused account."),
    ]

    private static func region(_ names: [String]) -> Setting<Self> {
        Setting("region", \Self.region, SettingForm<String>.words(names)).means("The region of the account.")
    }
    private static let alibabaRegions = ["cn", "hk", "sg", "de", "us", "global"]
    private static let tencentRegions = ["cn", "intl"]
}

private let refusals = "HTTP statuses, one or a list: 400 to 499 but 408 and 429"

extension SettingForm<Int> {
    fileprivate static let refusal = SettingForm(refusals) { (text, _) throws(ValueMistake) in
        guard text.utf8.count == 3, let status = Int(text), HTTPDNSTencentProvider.mayRefuseAccount(status) else {
            throw ValueMistake("found \(quoted(text)); allowed: \(refusals)")
        }
        return status
    }
}

extension HTTPDNSResolver.Configuration.ProviderLimits {
    fileprivate static let settings: [Setting<Self>] = [
        // As many as there are local ports.
        .init("in_flight", \.maximumInFlight, .number(1...65_535)).means("The maximum number of concurrent queries."),
        // No service accepts more from one machine.
        .init("per_second", \.queriesPerSecond, SettingForm<Int>.number(1...1_000_000).map(Double.init))
            .means("The maximum average number of queries in a second."),
    ]
}

extension SettingForm<HTTPDNSResolver.Configuration.ProviderLimits> {
    fileprivate static let limits = SettingForm(
        Value.settings,
        of: { Value() },
        name: FileSettings.Provider.limits.name
    ) {
        reader,
        node,
        path,
        _ in
        var limits = Value()
        if node.isEmpty { return nil }
        let name = FileSettings.Provider.limits.name
        return reader.read(Value.settings, of: node, path: path, name: name, into: &limits).map { _ in limits }
    }
}

extension SettingForm<[HTTPDNSAddress]> {
    fileprivate static let bootstrap = SettingForm { reader, node, path, _ in
        var lines: [HTTPDNSAddress: Position] = [:]
        return reader.elements(of: node, path: path, "the service's addresses, one or a list")?.compactMap { node in
            let address = reader.value(of: node, path: path, "an address") { text throws(ValueMistake) in
                try TargetText.parseAddress(text)
            }
            if let address, let first = lines.updateValue(node.position, forKey: address) {
                reader.mistakes.add(
                    "\(path): \(address) is listed twice: it is on line \(first.line) already",
                    at: node.position
                )
            }
            return address
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
            secret: secret?.live,
            encryptionKey: encryptionKey?.live
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
                service = .alidns(account: account, accessKey: accessKey, secret: secret.live)
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
