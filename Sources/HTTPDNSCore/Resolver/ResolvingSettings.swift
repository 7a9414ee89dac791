// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
internal import Synchronization

/// The settings for names that no mapping decides: routes, providers, policy, limits.
///
/// A lookup keeps the settings it began with. A reload takes over what it leaves unchanged: a provider with its health, and
/// the identity of a route's settings, by which its cached answers stay in use.
final class ResolvingSettings: Sendable {
    /// The number of settings that were created in this process.
    private static let lastNumber = Atomic<UInt64>(0)

    /// A number that no other settings of the process have, of this resolver or another. Rules are shared by resolvers: what is
    /// known about a rule is known under this number.
    let number = ResolvingSettings.lastNumber.add(1, ordering: .relaxed).newValue
    /// A version that distinguishes settings cheaply: cached answers are known to be usable under one version. See
    /// ``isNewer(_:than:)``.
    let epoch: UInt16
    /// The settings as given, with the providers in use.
    let configuration: HTTPDNSResolver.Configuration
    /// Whether the file has everything switched on.
    let isEnabled: Bool
    let routes: RouteTable
    let origins: AnswerOrigins
    let team: ProviderPool
    let leases: [ProviderLease]

    /// The number of changes after which the cache is cleared, so that no answer survives until its version is used again.
    static let epochsPerClearing: UInt16 = 0x4000

    /// - Parameters:
    ///   - previous: The settings that these replace.
    ///   - counting: The counters of queries.
    ///   - makeTeam: A function that creates a provider pool, which takes over unchanged providers from another pool.
    /// - Throws: ``HTTPDNSResolver/ConfigurationError``.
    init(
        _ given: HTTPDNSResolver.Configuration,
        isEnabled: Bool,
        replacing previous: ResolvingSettings?,
        counting: ResolverCounting,
        makeTeam: ([ProviderLease], HTTPDNSResolver.Configuration, ProviderPool?) -> ProviderPool
    ) throws(HTTPDNSResolver.ConfigurationError) {
        if let fault = given.fault { throw HTTPDNSResolver.ConfigurationError(message: fault) }
        let leases = given.providers.map { provider in
            previous?.leases.first { $0.provider.name == provider.name && $0.provider.isEquivalent(to: provider) }
                ?? ProviderLease(provider)
        }
        var configuration = given
        configuration.providers = leases.map(\.provider)
        let taken = Set(leases.map(ObjectIdentifier.init))
        let replaced = Set(
            (previous?.leases ?? []).filter { !taken.contains(ObjectIdentifier($0)) }.map(\.provider.name)
        )
        let environmentHolds = previous.map { $0.configuration.answersDepend(as: configuration) } ?? false
        routes = try RouteTable(
            configuration.routes,
            providerNames: configuration.providers.map(\.name),
            internalZones: configuration.internalZones
        ) { route in
            guard environmentHolds, let old = previous?.routes.basis(of: route?.pattern),
                old.route?.answering == route?.answering,
                route?.providerNames.contains(where: replaced.contains) != true
            else { return RouteIdentity(route, counting: counting.route(route?.pattern)) }
            return old
        }
        if let previous, previous.leases.elementsEqual(leases, by: ===), previous.configuration.asks(as: configuration)
        {
            team = previous.team
        } else {
            team = makeTeam(leases, configuration, previous?.team)
        }
        epoch = previous.map { $0.epoch &+ 1 } ?? 0
        self.isEnabled = isEnabled
        self.configuration = configuration
        self.leases = leases
        origins = AnswerOrigins(configuration, routes)
    }

    /// Updates the routes of the identities that were taken over. Called once these settings are in use.
    func renameBases() {
        for entry in routes.entries { entry.basis.rename(entry.route) }
    }

    /// Returns whether the settings equal others. Two closures are never equal.
    func equals(_ other: HTTPDNSResolver.Configuration, isEnabled: Bool) -> Bool {
        self.isEnabled == isEnabled && configuration.answersDepend(as: other) && configuration.asks(as: other)
            && configuration.routes == other.routes && configuration.timeLimit == other.timeLimit
            && configuration.cache.liveLimits == other.cache.liveLimits
            && configuration.timeToLiveOverride == nil && other.timeToLiveOverride == nil
            && configuration.providers.count == other.providers.count
            && zip(configuration.providers, other.providers).allSatisfy {
                $0.name == $1.name && $0.isEquivalent(to: $1)
            }
    }

    /// Returns whether a cached answer is still usable: whether its name is decided as it was when the answer was received.
    func keeps(_ answer: CachedAnswer) -> Bool {
        guard let origin = answer.origin else { return false }
        return origin.basis === (answer.header.isSystemOnly ? routes.none : routes.basis(for: answer.host))
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
    static func isNewer(_ epoch: UInt16, than other: UInt16) -> Bool { Int16(bitPattern: epoch &- other) > 0 }
}

extension HTTPDNSResolver.Configuration {
    /// Returns whether answers under both depend on the same settings, apart from routes and providers.
    fileprivate func answersDepend(as other: HTTPDNSResolver.Configuration) -> Bool {
        policy == other.policy && families == other.families && internalZones == other.internalZones
            && cache.minimumTimeToLive == other.cache.minimumTimeToLive
            && cache.maximumTimeToLive == other.cache.maximumTimeToLive && cache.staleLimit == other.cache.staleLimit
    }

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

/// A reference that keeps a provider running: all provider pools with the provider share one lease.
///
/// When the settings no longer contain the provider, and the last lookup under settings with it has ended, the lease is
/// released and shuts the provider down.
final class ProviderLease: Sendable {
    let provider: any HTTPDNSProvider
    private let isRetired = Atomic(false)

    init(_ provider: any HTTPDNSProvider) { self.provider = provider }

    /// Records that the settings no longer contain the provider.
    func retire() { isRetired.store(true, ordering: .releasing) }

    deinit {
        guard isRetired.load(ordering: .acquiring) else { return }
        let provider = provider
        Task.detached { await provider.shutdown() }
    }
}

/// The leases and provider pools that reloads took out of use and that are still alive. A shutdown ends them as well.
final class RetiredProviders: Sendable {
    private struct Retired: Sendable {
        weak let team: ProviderPool?
        weak let lease: ProviderLease?
    }

    private let retired = Lock<[Retired]>([])

    func add(team: ProviderPool?, leases: [ProviderLease]) {
        let new = leases.map { Retired(team: nil, lease: $0) } + (team.map { [Retired(team: $0, lease: nil)] } ?? [])
        retired.withLock { retired in
            retired.removeAll { $0.team == nil && $0.lease == nil }
            retired += new
        }
    }

    /// The number that is left.
    var count: Int { retired.withLock { $0.count { $0.team != nil || $0.lease != nil } } }

    var teams: [ProviderPool] { retired.withLock { $0.compactMap(\.team) } }
    var providers: [any HTTPDNSProvider] { retired.withLock { $0.compactMap { $0.lease?.provider } } }
}

/// The kind and scope of providers by name, including those that were replaced. It keeps no provider alive.
package final class ProviderDirectory: Sendable {
    private let known = Lock<[String: (kind: String, scope: HTTPDNSAddressPolicy.Scope)]>([:])

    init() {}

    func add(_ providers: [any HTTPDNSProvider]) {
        let new = providers.map { ($0.name, ($0.kind, $0.answerScope)) }
        known.withLock { $0.merge(new) { _, newer in newer } }
    }

    /// Returns the most private scope that a provider may answer.
    package func scope(of name: String) -> HTTPDNSAddressPolicy.Scope? { known.withLock { $0[name]?.scope } }

    /// Returns the kind of the provider with a name: `doh`, `json`; nil for one that never existed.
    package func kind(of name: String) -> String? { known.withLock { $0[name]?.kind } }
}
