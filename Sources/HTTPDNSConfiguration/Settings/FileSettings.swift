// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNS
package import HTTPDNSCore
internal import HTTPDNSPrimitives
internal import HTTPDNSResponseCache

/// The settings of a configuration file, as values. No providers are running yet: see ``clientConfiguration(file:)``.
package struct FileSettings: Sendable {
    /// The settings of the client, without providers.
    package var configuration = HTTPDNSClient.Configuration()
    /// Whether the file is refused when other users may write it.
    var refusesOpenFile = false
    package var providers: [Provider] = []
    /// The scope of the answers of providers without their own scope.
    package var answerScope = HTTPDNSAddressPolicy.Scope.public
    /// The settings of a local provider. Clients do not use them.
    package var serve = ServeSettings()
    /// The settings of a local agent. Clients do not use them.
    package var agent = AgentSettings()

    package init() {}

    /// The mappings, which a local provider serves.
    package var mappings: [HTTPDNSMapping.Key: HTTPDNSMapping] { configuration.resolver.mappings }

    /// The name of the top level of the file in errors.
    static let topName = "the top level"

    /// The sections of the file.
    static let settings: [Setting<FileSettings>] = [
        .own("version").means("The version of the file's form: 1."),
        .init("enabled", \.configuration.isEnabled, .truth).means(
            "The kill switch: `false` sends every name to the system resolver."
        ),
        .init("file_permissions", \.refusesOpenFile, .words(["warn": false, "refuse": true]))
            .means("The consequence of a file that other users may write: a warning or a refusal.").inFileOnly(),
        .init("providers", \.providers, .providers).means("The providers, by their names."),
        .init("routes", \.configuration.resolver.routes, .routes).means("The providers for names, `*.suffix` or `*`."),
        .init("mappings", \.indexedMappings, .mappings)
            .means("The addresses of names or `*.suffix`, either with a port."),
        .init("policy", \.self, section: policy).means("The addresses that may be dialed."),
        .init("cache", \.configuration.resolver, .cache).means("The cache of answers."),
        .init("resolver", \.configuration.resolver, .resolver).means("The queries to providers."),
        .init("client", \.configuration, .client).means("The requests of the client."),
        .init("metrics", \.self, section: metrics).means("The metrics of the client.").inFileOnly(),
        .init("serve", \.serve, section: ServeSettings.settings).means(
            "The settings of a local provider (resolve-test serve). Clients ignore them."
        ).inFileOnly(),
        .init("agent", \.agent, section: AgentSettings.settings).means(
            "The listeners of a local agent (resolve-test agent), each off without its key. Clients ignore them."
        ).inFileOnly(),
    ]

    // There is only one value; the key documents it in the file.
    private static let metrics: [Setting<FileSettings>] = [
        .init("host_label", only: .words(["routes": true]))
            .means("The label of hosts in metrics: the pattern of their route.")
    ]

    private var indexedMappings: HTTPDNSMappings? {
        get { configuration.resolver.indexedMappings }
        set {
            configuration.resolver.mappings = newValue?.rules ?? [:]
            configuration.resolver.indexedMappings = newValue
        }
    }

    /// The descriptions of all settings, with the defaults.
    package static let facts = settings.map { $0.facts(FileSettings()) }

    private static let policy: [Setting<FileSettings>] = [
        .init("providers_may_answer", \.answerScope, .scope)
            .means("The most private kind of address that providers without this key may answer."),
        .init("allow", \.configuration.resolver.policy.allowed, .blocks)
            .means("Blocks of addresses that may be dialed from every source."),
        .init("deny", \.configuration.resolver.policy.denied, .blocks)
            .means("Blocks of addresses that are never dialed. They override every `allow`."),
    ]

    /// These settings for a program other than the service that owns the file. A client with them neither reads nor writes the
    /// files of the service, and queries no provider before its first call.
    package var forInspection: FileSettings {
        var settings = self
        settings.configuration.resolver.snapshotPath = nil
        settings.configuration.resolver.preresolve = []
        settings.configuration.cookies = configuration.cookies.withoutFile
        settings.configuration.responseCacheSettings?.folder = nil
        for index in providers.indices { settings.providers[index].addressesFile = nil }
        return settings
    }

    /// Returns the settings with running providers.
    /// - Throws: ``HTTPDNSConfigurationFileError`` for a provider that cannot be created.
    package func clientConfiguration(file: String) throws(HTTPDNSConfigurationFileError) -> HTTPDNSClient.Configuration
    {
        var providers = LiveProviders()
        return try clientConfiguration(file: file, providers: &providers)
    }

    /// Returns the settings as ``clientConfiguration(file:)`` does, with the running providers whose settings are unchanged.
    /// - Parameter live: The running providers; afterwards those of these settings.
    package func clientConfiguration(
        file: String,
        providers live: inout LiveProviders
    ) throws(HTTPDNSConfigurationFileError) -> HTTPDNSClient.Configuration {
        var next = LiveProviders()
        var mistakes = MistakeList(file: file)
        var configuration = configuration
        for var provider in providers {
            provider.answerScope = provider.answerScope ?? answerScope
            do {
                configuration.resolver.providers.append(try next.take(provider, from: live))
                configuration.resolver.providerLimits[provider.name] = provider.limits
            } catch {
                mistakes.add("providers[\"\(provider.name)\"]: \(error.message)", at: provider.position)
            }
        }
        if let error = mistakes.error {
            next.end(except: live)
            throw error
        }
        live = next
        return configuration
    }
}

/// The running providers, by their settings in the file. A provider with unchanged settings continues, with its connections and
/// its health.
package struct LiveProviders: Sendable {
    private var running: [FileSettings.Provider: any HTTPDNSProvider] = [:]

    package init() {}

    /// Returns the provider in `others` that runs with these settings, or a new one, and adds it here.
    mutating func take(
        _ settings: FileSettings.Provider,
        from others: LiveProviders
    ) throws(HTTPDNSProviderConfigurationError) -> any HTTPDNSProvider {
        let key = LiveProviders.key(settings)
        let provider: any HTTPDNSProvider
        if let known = others.running[key], !ProviderUsers.shared.isShutDown(known) {
            provider = known
        } else {
            provider = try settings.live()
        }
        running[key] = provider
        return provider
    }

    /// Shuts down those that are not in `others` and not in use, in the background.
    func end(except others: LiveProviders) {
        let unused = running.filter { others.running[$0.key] == nil }.values
        guard !unused.isEmpty else { return }
        Task { for provider in unused { await ProviderUsers.shared.shutDown(provider) } }
    }

    /// Returns the key of a provider: its settings without its position in the file and its query limits, which do not affect
    /// its identity.
    private static func key(_ settings: FileSettings.Provider) -> FileSettings.Provider {
        var key = settings
        key.position = Position(line: 0, column: 0)
        key.limits = nil
        return key
    }
}
