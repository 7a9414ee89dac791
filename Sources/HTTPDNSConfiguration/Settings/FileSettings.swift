// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNS
package import HTTPDNSCore
internal import HTTPDNSPrimitives
package import HTTPDNSResponseCache

/// The settings of a configuration file, as values. No providers are running yet: see ``clientConfiguration(file:)``.
package struct FileSettings: Sendable {
    /// Whether everything is switched on.
    package var isEnabled = true
    /// Whether the file is refused when other users may write it.
    package var refusesOpenFile = false
    package var providers: [Provider] = []
    package var routes: [HTTPDNSRoute] = []
    package var mappings: [HTTPDNSMapping.Key: HTTPDNSMapping] = [:]
    /// ``mappings``, checked and indexed; nil for settings without a section of mappings, and of a hosts file.
    package var indexedMappings: HTTPDNSMappings?
    package var policy = HTTPDNSAddressPolicy()
    /// The scope of the answers of providers without their own scope.
    package var answerScope = HTTPDNSAddressPolicy.Scope.public
    package var cache = HTTPDNSResolver.Configuration.Cache()
    /// Names that are resolved at start.
    package var preresolve: [HTTPDNSName] = []
    /// The file in which the cache survives a restart.
    package var snapshotFile: String?
    /// The families to query; nil here and below means the resolver's own default.
    package var families: HTTPDNSAddress.Families?
    /// Zones whose names are sent to no provider unless a route names them.
    package var internalZones: [HTTPDNSName] = []
    package var hedgeAfter: Duration?
    package var attemptLimit: Duration?
    /// The time limit of one resolution.
    package var timeLimit: Duration?
    package var systemThreads: Int?
    package var timeouts = HTTPDNSClient.Configuration.Timeouts()
    package var certificateFile: String?
    /// The trust settings of the client, apart from ``certificateFile``.
    package var trust = HTTPDNSTrust()
    /// The complete trust settings of hosts that have their own.
    package var trustByHost: [HTTPDNSRoute.Pattern: HTTPDNSTrust] = [:]
    /// The position of each of these in the file.
    package var trustOrigins: [HTTPDNSTrust: TrustOrigin] = [:]
    package var connections = HTTPDNSClient.Configuration.Connections()
    package var versions: HTTPDNSClient.AllowedVersions = .automatic
    package var maximumResponseBody = HTTPDNSClient.ByteLimit.unlimited
    package var bandwidth = HTTPDNSClient.Bandwidth.unlimited
    package var headers = HTTPDNSClient.Configuration.DefaultHeaders()
    package var credentials: [HTTPDNSClient.Origin: HTTPDNSClient.Credential] = [:]
    package var redirects = HTTPDNSClient.RedirectPolicy()
    package var retries = HTTPDNSClient.RetryPolicy.never
    package var mergesIdenticalReads = false
    package var cookies = HTTPDNSClient.Configuration.Cookies.off
    /// The response cache; nil for none.
    package var responseCache: ResponseCacheSettings?
    package var proxy = HTTPDNSClient.Proxy.Rules.direct
    package var unixSocket: String?
    package var localSource: HTTPDNSClient.Configuration.LocalSource?
    package var reachableNetworks = HTTPDNSClient.ReachableNetworks.any
    /// The settings of a local provider. Clients do not use them.
    package var serve = ServeSettings()

    package init() {}

    /// ``trust`` with ``certificateFile``.
    package var wholeTrust: HTTPDNSTrust {
        var trust = trust
        trust.roots = certificateFile.map(HTTPDNSTrust.Roots.file) ?? .system
        return trust
    }

    /// These settings for a program other than the service that owns the file. A client with them neither reads nor writes the
    /// files of the service, and queries no provider before its first call.
    package var forInspection: FileSettings {
        var settings = self
        settings.snapshotFile = nil
        settings.cookies = cookies.withoutFile
        settings.responseCache = responseCache?.withoutFolder
        settings.preresolve = []
        settings.providers = providers.map(\.withoutAddressesFile)
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
        var configuration = HTTPDNSClient.Configuration()
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
        configuration.isEnabled = isEnabled
        configuration.resolver.routes = routes
        configuration.resolver.mappings = mappings
        configuration.resolver.indexedMappings = indexedMappings
        configuration.resolver.policy = policy
        apply(to: &configuration.resolver)
        configuration.trust = wholeTrust
        configuration.trustByHost = trustByHost
        configuration.trustOrigins = trustOrigins
        configuration.timeouts = timeouts
        configuration.maximumResponseBody = maximumResponseBody
        configuration.bandwidth = bandwidth
        configuration.versions = versions
        configuration.headers = headers
        configuration.credentials = credentials
        configuration.redirects = redirects
        configuration.retries = retries
        configuration.mergesIdenticalReads = mergesIdenticalReads
        configuration.cookies = cookies
        configuration.responseCaching = responseCache
        configuration.proxy = proxy
        configuration.unixSocket = unixSocket
        configuration.localSource = localSource
        configuration.reachableNetworks = reachableNetworks
        configuration.connections = connections
        return configuration
    }

    /// Applies the settings of the resolver other than providers, routes and mappings.
    private func apply(to resolver: inout HTTPDNSResolver.Configuration) {
        resolver.cache = cache
        resolver.preresolve = preresolve
        resolver.snapshotPath = snapshotFile
        if let families { resolver.families = families }
        if let hedgeAfter { resolver.hedgeAfter = hedgeAfter }
        if let attemptLimit { resolver.attemptLimit = attemptLimit }
        if let timeLimit { resolver.timeLimit = timeLimit }
        resolver.internalZones = internalZones
        if let systemThreads { resolver.systemThreads = systemThreads }
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
