// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
internal import Synchronization

/// The settings for names that no mapping decides: routes, providers, policy, limits.
///
/// A lookup keeps the settings it began with. A reload takes over what it leaves unchanged: a provider with its health. A cached
/// answer stays in use as far as the new settings allow it (``adopt(_:)``).
final class ResolvingSettings: Sendable {
    /// The number of settings that were created in this process.
    private static let lastNumber = Atomic<UInt64>(0)

    /// A number that no other settings of the process have, of this resolver or another. Rules are shared by resolvers: what is
    /// known about a rule is known under this number.
    let number = ResolvingSettings.lastNumber.add(1, ordering: .relaxed).newValue
    /// A version that distinguishes settings cheaply: cached answers are known to be usable under one version. See
    /// ``isNewer(_:than:)``.
    let version: UInt16
    /// The settings as given, with the providers in use.
    let configuration: HTTPDNSResolver.Configuration
    /// Whether the file has everything switched on.
    let isEnabled: Bool
    let routes: RouteTable
    let origins: AnswerOrigins
    let pool: ProviderPool
    let leases: [ProviderLease]

    /// The number of changes after which the cache is cleared, so that no answer survives until its version is used again.
    static let versionsPerClearing: UInt16 = 0x4000

    /// - Parameters:
    ///   - previous: The settings that these replace.
    ///   - counting: The counters of queries.
    ///   - makePool: A function that creates a provider pool, which takes over unchanged providers from another pool.
    /// - Throws: ``HTTPDNSResolver/ConfigurationError``.
    init(
        _ given: HTTPDNSResolver.Configuration,
        isEnabled: Bool,
        replacing previous: ResolvingSettings?,
        counting: ResolverCounting,
        makePool: ([ProviderLease], HTTPDNSResolver.Configuration, ProviderPool?) -> ProviderPool
    ) throws(HTTPDNSResolver.ConfigurationError) {
        if let fault = given.fault { throw HTTPDNSResolver.ConfigurationError(message: fault) }
        var leases: [ProviderLease] = []
        for provider in given.providers {
            let lease =
                previous?.leases.first {
                    $0.provider.name == provider.name && $0.provider.isEquivalent(to: provider)
                        && !ProviderUsers.shared.isShutDown($0.provider)
                } ?? ProviderLease(provider)
            if lease.isRefused {
                throw HTTPDNSResolver.ConfigurationError(
                    message: "provider \"\(provider.name)\" is shut down and answers no more: its last user has ended, "
                        + "or other settings replaced it; create a new provider, or read the file again"
                )
            }
            leases.append(lease)
        }
        var configuration = given
        configuration.providers = leases.map(\.provider)
        routes = try RouteTable(
            configuration.routes,
            providerNames: configuration.providers.map(\.name),
            nameServers: configuration.nameServers,
            internalZones: configuration.internalZones,
            counting: counting.route
        )
        if let previous, previous.leases.elementsEqual(leases, by: ===), previous.configuration.asks(as: configuration)
        {
            pool = previous.pool
        } else {
            pool = makePool(leases, configuration, previous?.pool)
        }
        version = previous.map { $0.version &+ 1 } ?? 0
        self.isEnabled = isEnabled
        self.configuration = configuration
        self.leases = leases
        origins = AnswerOrigins(configuration, routes, leases, replacing: previous?.origins)
    }

    /// Returns whether the settings equal others. Two closures are never equal.
    func equals(_ other: HTTPDNSResolver.Configuration, isEnabled: Bool) -> Bool {
        self.isEnabled == isEnabled && configuration.asks(as: other)
            && configuration.policy == other.policy && configuration.families == other.families
            && configuration.internalZones == other.internalZones
            && configuration.routes == other.routes && configuration.timeLimit == other.timeLimit
            && configuration.cache.liveLimits == other.cache.liveLimits
            && configuration.timeToLiveOverride == nil && other.timeToLiveOverride == nil
            && configuration.providers.count == other.providers.count
            && zip(configuration.providers, other.providers).allSatisfy {
                $0.name == $1.name && $0.isEquivalent(to: $1) && !ProviderUsers.shared.isShutDown($0)
            }
    }

    /// The scopes that the file has turned off.
    var switchedOff: Set<HTTPDNSResolver.KillSwitch.Scope> {
        var scopes = Set(
            configuration.routes.filter { !$0.isEnabled }.map { HTTPDNSResolver.KillSwitch.Scope.route($0.pattern) }
        )
        if !isEnabled { scopes.insert(.everything) }
        return scopes
    }

    /// Versions wrap around, as serial numbers in RFC 1982.
    static func isNewer(_ version: UInt16, than other: UInt16) -> Bool { Int16(bitPattern: version &- other) > 0 }
}

extension HTTPDNSResolver.Configuration {
    /// The names of the providers that are name servers.
    package var nameServers: Set<String> { Set(providers.filter { $0 is HTTPDNSDNSProvider }.map(\.name)) }

    /// Returns whether providers are queried in the same way, apart from the providers themselves.
    fileprivate func asks(as other: HTTPDNSResolver.Configuration) -> Bool {
        providerLimits == other.providerLimits && hedgeAfter == other.hedgeAfter && attemptLimit == other.attemptLimit
    }

    /// The mistake in the settings alone; nil when they are valid.
    fileprivate var fault: String? {
        if cache.entries < 1 { return "cache.entries is \(cache.entries), and 1 is the least" }
        if cache.minimumTimeToLive < .zero { return "cache.ttl.min is negative" }
        if cache.maximumTimeToLive < cache.minimumTimeToLive { return "cache.ttl.max is below cache.ttl.min" }
        if cache.staleLimit < .zero { return "cache.stale_limit is negative" }
        if cache.staleAfter < .zero { return "cache.stale_after is negative" }
        if cache.systemTimeToLive < .zero { return "cache.ttl.system is negative" }
        if timeLimit <= .zero { return "the time limit for resolving is not above zero" }
        if attemptLimit <= .zero { return "the time limit for one query is not above zero, so that each would fail" }
        if hedgeAfter < .zero { return "hedgeAfter is negative" }
        for (name, limits) in providerLimits.sorted(by: { $0.key < $1.key }) {
            if limits.maximumInFlight < 1 {
                return "provider \"\(name)\": maximumInFlight is \(limits.maximumInFlight), and 1 is the least"
            }
            if let rate = limits.queriesPerSecond, !rate.isFinite || rate <= 0 {
                return "provider \"\(name)\": queriesPerSecond is \(rate); it is a number above 0, or nil for no limit"
            }
        }
        if systemThreads < 1 { return "systemThreads is \(systemThreads), and 1 is the least" }
        if systemThreads > HTTPDNSResolver.Configuration.maximumSystemThreads {
            return
                "systemThreads is \(systemThreads), and \(HTTPDNSResolver.Configuration.maximumSystemThreads) is the most"
        }
        if usableFamilies.intersection(.both).isEmpty {
            return "no family of addresses is allowed; allow IPv4, IPv6 or both"
        }
        var names: Set<String> = []
        for provider in providers {
            if provider.name.isEmpty { return "a provider has no name" }
            if provider.name == HTTPDNSResolver.ProviderAttempt.systemName {
                return "a provider is called \"system\", which is the system resolver's name in reports; take another"
            }
            guard names.insert(provider.name).inserted else {
                return "two providers are called \"\(provider.name)\"; names of providers are unique"
            }
        }
        return nil
    }
}

extension HTTPDNSResolver.Configuration.Cache {
    /// The limits that a reload changes: all except the sizes.
    var liveLimits: Self {
        var limits = self
        limits.entries = 0
        limits.bytes = .bytes(0)
        return limits
    }
}

extension HTTPDNSRoute {
    /// The names of its providers.
    var providerNames: [String] {
        if case .providers(let names, _) = action { names } else { [] }
    }
}
