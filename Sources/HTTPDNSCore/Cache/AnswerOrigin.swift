// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The source of an answer, and the terms on which it is used: one object for all answers of a source by a route.
package final class AnswerOrigin: Sendable {
    /// Everything that the use of an answer depends on. Origins with equal terms are interchangeable.
    struct Terms: Equatable, Sendable {
        var source: HTTPDNSResolver.Resolution.Source
        /// The provider's name; nil for the system resolver.
        var provider: String?
        /// The service behind the provider; nil for the system resolver.
        var service: ProviderIdentity?
        /// The most private scope that the source may answer.
        var scope: HTTPDNSAddressPolicy.Scope?
        /// The route that decided; nil without one.
        var route: HTTPDNSRoute?
        /// The services that were queried or could have been, in their order; empty where only the system resolver is.
        var asked: [ProviderIdentity] = []
        /// The families of the route.
        var families: HTTPDNSAddress.Families
        var policy: HTTPDNSAddressPolicy
        /// The time past its lifetime that such an answer may be served.
        var staleLimit: Duration
        /// The limit on the lifetime of a provider's addresses.
        var maximumTimeToLive: Duration

        var addressSource: AddressSource { AddressSource(source: source, scope: scope, provider: provider) }
    }

    let terms: Terms
    // Stored again, because every request reads them.
    package let source: HTTPDNSResolver.Resolution.Source
    let staleLimit: Duration
    /// The counters of queries that it answers.
    let counters: StripedCounters
    /// The memory of ``counters``.
    let countersMemory: StripedCounters.Cells
    /// The most private scope whose addresses may all be dialed when they come from this origin.
    let admittedScope: HTTPDNSAddressPolicy.Scope?

    init(_ terms: Terms, counting: RouteCounting) {
        self.terms = terms
        source = terms.source
        staleLimit = terms.staleLimit
        counters = counting.answers
        countersMemory = counters.memory
        admittedScope = terms.policy.admittedScope(
            from: terms.source,
            providerScope: terms.scope,
            route: terms.route
        )
    }

    /// Creates the origin of answers outside of a resolver.
    package convenience init(
        source: HTTPDNSResolver.Resolution.Source,
        provider: String? = nil,
        providerScope: HTTPDNSAddressPolicy.Scope? = nil,
        route: HTTPDNSRoute?,
        policy: HTTPDNSAddressPolicy,
        staleLimit: Duration
    ) {
        let terms = Terms(
            source: source,
            provider: provider,
            scope: providerScope,
            route: route,
            families: route?.families ?? .both,
            policy: policy,
            staleLimit: staleLimit,
            maximumTimeToLive: HTTPDNSResolver.Configuration.Cache().maximumTimeToLive
        )
        self.init(terms, counting: RouteCounting())
    }

    package var provider: String? { terms.provider }
    /// The most private scope that the source may answer.
    var providerScope: HTTPDNSAddressPolicy.Scope? { terms.scope }
    /// The route that decided, as it is in the settings of the answer; nil without one.
    package var route: HTTPDNSRoute? { terms.route }
}

/// The origins of a resolver's answers, each created once.
struct AnswerOrigins: Sendable {
    private struct Key: Hashable {
        var provider: String?
        var pattern: HTTPDNSRoute.Pattern?
    }

    private let known: [Key: AnswerOrigin]
    private let configuration: HTTPDNSResolver.Configuration
    private let routes: RouteTable

    /// - Parameter previous: The origins of earlier settings. Those with equal terms stay.
    init(
        _ configuration: HTTPDNSResolver.Configuration,
        _ routes: RouteTable,
        _ leases: [ProviderLease],
        replacing previous: AnswerOrigins?
    ) {
        self.configuration = configuration
        self.routes = routes
        let leases = Dictionary(leases.map { ($0.provider.name, $0) }, uniquingKeysWith: { first, _ in first })
        var known: [Key: AnswerOrigin] = [:]
        for route in configuration.routes.map(Optional.some) + [nil] {
            let asked = (route?.providerNames ?? []).compactMap { leases[$0] }
            for lease in [nil] + asked.map(Optional.some) {
                let key = Key(provider: lease?.provider.name, pattern: route?.pattern)
                let terms = AnswerOrigin.Terms(
                    source: lease == nil ? .system : .provider,
                    provider: lease?.provider.name,
                    service: lease?.identity,
                    scope: lease.map(\.provider.answerScope)
                        ?? route?.fallbackScope { leases[$0]?.provider.answerScope },
                    route: route,
                    asked: asked.map(\.identity),
                    families: route?.families ?? configuration.usableFamilies,
                    policy: configuration.policy,
                    staleLimit: route?.staleLimit ?? configuration.cache.staleLimit,
                    maximumTimeToLive: configuration.cache.maximumTimeToLive
                )
                if let old = previous?.known[key], old.terms == terms {
                    known[key] = old
                } else {
                    known[key] = AnswerOrigin(terms, counting: routes.counting(of: route?.pattern))
                }
            }
        }
        self.known = known
    }

    /// Returns the origin of a provider's answers by a route.
    func provider(_ provider: any HTTPDNSProvider, _ route: HTTPDNSRoute?) -> AnswerOrigin {
        known[Key(provider: provider.name, pattern: route?.pattern)]
            ?? outside(.provider, provider: provider.name, scope: provider.answerScope, route)
    }

    /// Returns the origin of the system resolver's answers for names of a route, or of none.
    func system(_ route: HTTPDNSRoute?) -> AnswerOrigin {
        known[Key(provider: nil, pattern: route?.pattern)]
            // Providers that are not in the settings count as public.
            ?? outside(.system, provider: nil, scope: route?.fallbackScope { _ in nil }, route)
    }

    /// Returns the origin of answers by a route of these settings from a service: under the provider's name, or another one.
    func service(_ service: ProviderIdentity?, provider: String?, _ route: HTTPDNSRoute) -> AnswerOrigin? {
        let names = route.providerNames
        let candidates = (names.filter { $0 == provider } + names).lazy
            .compactMap { known[Key(provider: $0, pattern: route.pattern)] }
        return candidates.first { $0.terms.service == service }
    }

    /// Returns an origin with these terms for the names of its route.
    func with(_ terms: AnswerOrigin.Terms) -> AnswerOrigin {
        AnswerOrigin(terms, counting: routes.counting(of: terms.route?.pattern))
    }

    /// Returns the origin of an answer by a route or a provider that the settings do not contain.
    private func outside(
        _ source: HTTPDNSResolver.Resolution.Source,
        provider: String?,
        scope: HTTPDNSAddressPolicy.Scope?,
        _ route: HTTPDNSRoute?
    ) -> AnswerOrigin {
        AnswerOrigin(
            source: source,
            provider: provider,
            providerScope: scope,
            route: route,
            policy: configuration.policy,
            staleLimit: route?.staleLimit ?? configuration.cache.staleLimit
        )
    }
}

// The use of answers across a change of settings.
extension ResolvingSettings {
    /// Returns a cached answer as these settings allow it; nil when they would not have led to it.
    ///
    /// Limits, families and the address policy of these settings apply to it from then on. The answer itself is returned when
    /// nothing that it depends on has changed.
    func adopt(_ answer: CachedAnswer) -> CachedAnswer? {
        guard let old = answer.origin, let new = origin(inPlaceOf: old, for: answer.key) else { return nil }
        if new === old { return answer }
        guard var known = KnownAnswer(answer).taken(over: new, from: old, for: answer.key) else { return nil }
        // A failure concerns the providers that were queried.
        if old.terms.asked != new.terms.asked { known.details.failure = nil }
        return CachedAnswer(answer.key, known)
    }

    /// Returns the answer of a lookup under earlier settings, or from a store, as these settings allow it; nil when they
    /// would not have led to it.
    func adopt(_ answer: KnownAnswer, for key: CacheKey) -> KnownAnswer? {
        guard let old = answer.origin, let new = origin(inPlaceOf: old, for: key) else { return nil }
        return answer.taken(over: new, from: old, for: key)
    }

    /// Returns the origin of an answer under these settings: the same service for a provider's answer, the same reason to query
    /// the system resolver for its answer.
    private func origin(inPlaceOf old: AnswerOrigin, for key: CacheKey) -> AnswerOrigin? {
        let route = key.isSystemOnly ? nil : routes.entry(for: key.host)?.route
        let new: AnswerOrigin?
        if old.source == .provider {
            // Another client network may have other addresses.
            guard let route, key.clientSubnet != nil || route.clientSubnet == old.route?.clientSubnet else {
                return nil
            }
            new = origins.service(old.terms.service, provider: old.provider, route)
        } else {
            new = origins.system(route)
            guard old.terms.asked == new?.terms.asked, old.route.fallback == route.fallback else { return nil }
        }
        guard let new, new !== old else { return new }
        // What a source answered while less was expected of it is not trusted with more afterwards.
        guard let limit = old.terms.scope, let scope = new.terms.scope, limit < scope else { return new }
        var terms = new.terms
        terms.scope = limit
        return terms == old.terms ? old : origins.with(terms)
    }
}

extension HTTPDNSRoute? {
    /// The fallback of a route with providers; nil where the system resolver is queried for all names.
    fileprivate var fallback: HTTPDNSRoute.Fallback? {
        guard case .providers(let names, let fallback)? = self?.action, !names.isEmpty else { return nil }
        return fallback
    }
}

extension KnownAnswer {
    /// Returns the answer on the terms of another origin; nil when nothing is left of it.
    fileprivate func taken(over origin: AnswerOrigin, from previous: AnswerOrigin, for key: CacheKey) -> KnownAnswer? {
        let (old, new) = (previous.terms, origin.terms)
        let before = key.families ?? old.families
        let after = key.families ?? new.families
        var answer = self
        answer.origin = origin
        guard case .addresses(let known) = content else {
            // Another provider may know more, and another family may have addresses.
            let isSame =
                old.asked == new.asked && before == after
                && old.route?.wantsSecondOpinion == new.route?.wantsSecondOpinion
            return isSame ? answer : nil
        }
        let wantsRecords = new.route?.usesHTTPSRecords == true || details.httpsRecords?.isOfServers == true
        if before != after || !wantsRecords { answer.details.httpsRecords = nil }
        let left = known.filter { after.contains($0.family) }
        answer.content = .addresses(left)
        let candidates = left + (answer.details.httpsRecords?.endpoints.map(\.address) ?? [])
        let isUsable = candidates.contains {
            new.policy.reason(of: $0, from: new.addressSource, route: new.route) == nil
        }
        guard isUsable || answer.details.httpsRecords?.unavailable != nil else { return nil }
        let added = after.subtracting(before)
        answer.details.failedFamilies = details.failedFamilies.intersection(after).union(added)
        if new.source == .provider, life > new.maximumTimeToLive {
            answer.life = new.maximumTimeToLive
            answer.refreshAt = min(refreshAt, answer.expiresAt - Lifetimes.refreshWindow(of: answer.life))
        }
        // The next use queries the families that were not queried before.
        if !added.isEmpty { answer.refreshAt = min(answer.refreshAt, sentAt) }
        return answer
    }
}
