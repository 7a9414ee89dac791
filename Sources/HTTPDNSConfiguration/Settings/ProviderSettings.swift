// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
package import HTTPDNSCore
package import HTTPDNSPrimitives
package import HTTPDNSVendors

extension FileSettings {
    /// The settings of one provider in a configuration file.
    package struct Provider: Hashable, Sendable {
        /// The settings specific to each kind.
        package enum Kind: Hashable, Sendable {
            case doh(method: HTTPDNSDoHProvider.Method)
            case google
            case cloudflare
            /// Alidns; nil means the free service without an account.
            case alidns(AlidnsAccount?)
            case alibaba(AlibabaSettings)
            case tencent(TencentSettings)
        }

        package var name: String
        package var kind: Kind
        /// The URL; nil means the service's own one.
        package var url: String?
        /// The bootstrap addresses; nil means those of the service's own URL.
        package var bootstrap: [HTTPDNSAddress]?
        package var certificateFile: String?
        /// The most private scope that it may answer; nil means ``FileSettings/answerScope``.
        package var answerScope: HTTPDNSAddressPolicy.Scope?
        /// The query limits; nil means the defaults.
        package var limits: HTTPDNSResolver.Configuration.ProviderLimits?
        /// The position of its name.
        package var position: Position

        /// The same provider, without a file for discovered addresses.
        var withoutAddressesFile: Provider {
            var provider = self
            switch kind {
            case .alibaba(var own):
                own.addressesFile = nil
                provider.kind = .alibaba(own)
            case .tencent(var own):
                own.addressesFile = nil
                provider.kind = .tencent(own)
            case .doh, .google, .cloudflare, .alidns: break
            }
            return provider
        }

        /// Creates the provider.
        func live() throws(HTTPDNSProviderConfigurationError) -> any HTTPDNSProvider {
            let trustRoots = certificateFile.map(HTTPDNSTrust.Roots.file) ?? .system
            let service: HTTPDNSJSONProvider.Service
            switch kind {
            case .doh(let method):
                var settings = HTTPDNSDoHProvider.Configuration(name: name, url: url ?? "", bootstrap: bootstrap ?? [])
                settings.method = method
                settings.trustRoots = trustRoots
                settings.answerScope = answerScope ?? .public
                return try HTTPDNSDoHProvider(settings)
            case .alibaba(let own):
                var settings = own.configuration(name: name)
                settings.trustRoots = trustRoots
                settings.answerScope = answerScope ?? .public
                if let url { settings.url = url }
                settings.bootstrap = bootstrap
                return try HTTPDNSAlibabaProvider(settings)
            case .tencent(let own):
                var settings = own.configuration(name: name)
                settings.trustRoots = trustRoots
                settings.answerScope = answerScope ?? .public
                settings.url = url
                settings.bootstrap = bootstrap ?? []
                return try HTTPDNSTencentProvider(settings)
            case .google: service = .google
            case .cloudflare: service = .cloudflare
            case .alidns(nil): service = .alidns
            case .alidns(let account?):
                service = .alidns(
                    account: account.account,
                    accessKey: account.accessKey,
                    secret: account.secret.live
                )
            }
            var settings = HTTPDNSJSONProvider.Configuration(
                name: name,
                service: service,
                url: url,
                bootstrap: bootstrap
            )
            settings.trustRoots = trustRoots
            settings.answerScope = answerScope ?? .public
            return try HTTPDNSJSONProvider(settings)
        }
    }

    /// An account of Alidns.
    package struct AlidnsAccount: Hashable, Sendable {
        package var account: String
        package var accessKey: String
        package var secret: SecretPlace

        package init(account: String, accessKey: String, secret: SecretPlace) {
            self.account = account
            self.accessKey = accessKey
            self.secret = secret
        }
    }

    /// The source of a secret, never the secret itself.
    package enum SecretPlace: Hashable, Sendable {
        case file(String)
        case environment(String)
        /// The secret itself, as a reader of swift-configuration has it.
        case text(SecretText)

        package var live: HTTPDNSSecret {
            switch self {
            case .file(let path): .file(path)
            case .environment(let name): .environment(name)
            case .text(let text): .text(text.value)
            }
        }
    }

    /// A secret that is never printed.
    package struct SecretText: Hashable, Sendable, CustomStringConvertible, CustomReflectable {
        let value: String

        init(_ value: String) { self.value = value }

        package var description: String { "a secret" }
        package var customMirror: Mirror { Mirror(self, children: []) }
    }
}

extension FileSettings {
    /// The settings specific to a provider of kind `alibaba-v1` or `alibaba-v2`.
    package struct AlibabaSettings: Hashable, Sendable {
        package var version: HTTPDNSAlibabaProvider.Version
        package var account: String
        package var secret: SecretPlace?
        package var encryption: HTTPDNSAlibabaProvider.Encryption?
        package var encryptionKey: SecretPlace?
        /// The identifier of the region; nil means the vendor's default.
        package var region: String?
        package var customParameters: [String: String] = [:]
        package var discovers: Bool?
        package var addressesFile: String?

        package init(version: HTTPDNSAlibabaProvider.Version, account: String) {
            self.version = version
            self.account = account
        }

        /// Returns the provider's settings without those that all kinds of provider have.
        func configuration(name: String) -> HTTPDNSAlibabaProvider.Configuration {
            let credential = HTTPDNSVendorCredential(
                account: account,
                secret: secret?.live,
                encryptionKey: encryptionKey?.live
            )
            var configuration = HTTPDNSAlibabaProvider.Configuration(
                name: name,
                version: version,
                credential: credential
            )
            configuration.encryption = encryption
            configuration.customParameters = customParameters
            if let region = HTTPDNSAlibabaProvider.Region.all.first(where: { $0.identifier == region }) {
                configuration.region = region
            }
            if let discovers { configuration.discoversAddresses = discovers }
            configuration.addressStore = addressesFile.map { HTTPDNSDiskStore(path: $0) }
            return configuration
        }
    }
}

extension FileSettings {
    /// The settings specific to a provider of kind `tencent`.
    package struct TencentSettings: Hashable, Sendable {
        package var account: String
        /// The token; nil for an account with encryption.
        package var secret: SecretPlace?
        package var encryptionKey: SecretPlace?
        /// The identifier of the region; nil means the vendor's default.
        package var region: String?
        package var sendsExpiry: Bool?
        package var encryptsClientSubnet: Bool?
        package var accountRefusals: Set<Int> = []
        package var discovers: Bool?
        package var addressesFile: String?

        package init(account: String) {
            self.account = account
        }

        /// Returns the provider's settings without those that all kinds of provider have.
        func configuration(name: String) -> HTTPDNSTencentProvider.Configuration {
            let credential = HTTPDNSVendorCredential(
                account: account,
                secret: secret?.live,
                encryptionKey: encryptionKey?.live
            )
            var configuration = HTTPDNSTencentProvider.Configuration(name: name, credential: credential)
            if let region = HTTPDNSTencentProvider.Region.all.first(where: { $0.identifier == region }) {
                configuration.region = region
            }
            if let sendsExpiry { configuration.sendsExpiry = sendsExpiry }
            if let encryptsClientSubnet { configuration.encryptsClientSubnet = encryptsClientSubnet }
            configuration.accountRefusalStatuses = accountRefusals
            if let discovers { configuration.discoversAddresses = discovers }
            configuration.addressStore = addressesFile.map { HTTPDNSDiskStore(path: $0) }
            return configuration
        }
    }
}
