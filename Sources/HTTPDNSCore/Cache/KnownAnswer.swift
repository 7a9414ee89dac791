// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

package import HTTPDNSPrimitives

/// A definite answer for a name: addresses, or the fact that there are none.
package struct KnownAnswer: Sendable {
    package enum Content: Sendable {
        /// At least one address, in the order to try.
        case addresses([HTTPDNSAddress])
        /// The name does not exist, or has no address of the queried families.
        case nothing(HTTPDNSResolver.Error)
    }

    var content: Content
    var origin: AnswerOrigin
    /// The time the query was sent, from which its age counts.
    var sentAt: MonotonicTime
    /// The lifetime after that.
    var life: Duration
    /// The time from which a use of it starts a refresh in the background.
    var refreshAt: MonotonicTime
    var canonicalName: HTTPDNSName?
    var failedAttempts: [HTTPDNSResolver.ProviderAttempt] = []
    /// The queried families that failed: their previous addresses are not contradicted.
    var failedFamilies: HTTPDNSAddress.Families = []
    /// Whether the query for HTTPS records failed: the previous records are not contradicted.
    package var httpsRecordsFailed = false
    /// Whether queries with any client subnet may use it, although the query had one.
    var holdsForAllClients = false
    /// The result of the HTTPS records; nil without any.
    var httpsRecords: ServiceRoute?

    package init(
        _ content: Content,
        origin: AnswerOrigin,
        sentAt: MonotonicTime,
        life: Duration,
        refreshAt: MonotonicTime? = nil
    ) {
        self.content = content
        self.origin = origin
        self.sentAt = sentAt
        self.life = life
        self.refreshAt = refreshAt ?? sentAt + life
    }

    var expiresAt: MonotonicTime { sentAt + life }

    /// Whether the system resolver reported that the name does not exist.
    var isUnknownToSystem: Bool {
        guard origin.source == .system, case .nothing(let error) = content else { return false }
        return error.code == .nameNotFound
    }

    /// Returns the same answer with another lifetime, and no refresh before its end.
    func living(_ life: Duration) -> KnownAnswer {
        var answer = self
        answer.life = life
        answer.refreshAt = answer.expiresAt
        return answer
    }

    /// Returns the answer with the addresses that `older` has of the families that failed this time. It lives no longer than
    /// either.
    func keepingFailedFamilies(of older: KnownAnswer, at now: MonotonicTime) -> KnownAnswer {
        if httpsRecordsFailed, httpsRecords == nil, now < older.expiresAt, let known = older.httpsRecords {
            var answer = self
            answer.httpsRecordsFailed = false
            answer.httpsRecords = known
            answer.life = min(expiresAt, older.expiresAt) - sentAt
            answer.refreshAt = min(refreshAt, answer.expiresAt)
            return answer.keepingFailedFamilies(of: older, at: now)
        }
        // Addresses that one provider may not answer must not be merged into the answer of another.
        guard !failedFamilies.isEmpty, now < older.expiresAt, origin.providerScope == older.origin.providerScope,
            case .addresses(let own) = content,
            case .addresses(let known) = older.content
        else { return self }
        let kept = known.filter { failedFamilies.contains($0.family) && !own.contains($0) }
        guard !kept.isEmpty else { return self }
        var answer = self
        let both = own + kept
        answer.content = .addresses(both.filter { $0.family == .v4 } + both.filter { $0.family == .v6 })
        answer.life = min(expiresAt, older.expiresAt) - sentAt
        answer.refreshAt = min(refreshAt, answer.expiresAt)
        return answer
    }
}

/// The provider and route of an answer: one object for all answers of a provider by a route.
package final class AnswerOrigin: Sendable {
    package let source: HTTPDNSResolver.Resolution.Source
    /// The provider's name; nil for the system resolver.
    package let provider: String?
    let providerScope: HTTPDNSAddressPolicy.Scope?
    /// The identity of the route's settings, which the answer depends on.
    let basis: RouteIdentity
    /// The counters of queries that it answers. They are stored here rather than read through ``basis``, because every
    /// request uses them.
    let counters: StripedCounters
    /// The memory of ``counters``.
    let countersMemory: StripedCounters.Cells
    /// The most private scope whose addresses may all be dialed when they come from this origin.
    let admittedScope: HTTPDNSAddressPolicy.Scope?
    /// The time past its lifetime that such an answer may be served.
    let staleLimit: Duration

    package init(
        source: HTTPDNSResolver.Resolution.Source,
        provider: String? = nil,
        providerScope: HTTPDNSAddressPolicy.Scope? = nil,
        route: HTTPDNSRoute?,
        basis: RouteIdentity? = nil,
        policy: HTTPDNSAddressPolicy,
        staleLimit: Duration
    ) {
        self.source = source
        self.provider = provider
        self.providerScope = providerScope
        let basis = basis ?? RouteIdentity(route)
        self.basis = basis
        counters = basis.counting.answers
        countersMemory = counters.memory
        self.staleLimit = staleLimit
        admittedScope = policy.admittedScope(from: source, providerScope: providerScope, route: route)
    }

    /// The route that decided, as it is in the present settings; nil without one.
    package var route: HTTPDNSRoute? { basis.route }
}

/// The origins of a resolver's answers, each created once.
struct AnswerOrigins: Sendable {
    private struct Key: Hashable {
        var provider: String?
        var pattern: HTTPDNSRoute.Pattern?
    }

    private let known: [Key: AnswerOrigin]
    private let policy: HTTPDNSAddressPolicy
    private let staleLimit: Duration

    init(_ configuration: HTTPDNSResolver.Configuration, _ routes: RouteTable) {
        policy = configuration.policy
        staleLimit = configuration.cache.staleLimit
        var known: [Key: AnswerOrigin] = [:]
        let scopes = Dictionary(
            configuration.providers.map { ($0.name, $0.answerScope) },
            uniquingKeysWith: { first, _ in first }
        )
        for route in configuration.routes.map(Optional.some) + [nil] {
            var names: [String?] = [nil]
            if case .providers(let own, _) = route?.action { names += own.map(Optional.some) }
            for name in names {
                known[Key(provider: name, pattern: route?.pattern)] = AnswerOrigin(
                    source: name == nil ? .system : .provider,
                    provider: name,
                    providerScope: name == nil ? route?.fallbackScope { scopes[$0] } : name.flatMap { scopes[$0] },
                    route: route,
                    basis: routes.basis(of: route?.pattern),
                    policy: policy,
                    staleLimit: route?.staleLimit ?? staleLimit
                )
            }
        }
        self.known = known
    }

    /// Returns the origin of a provider's answers by a route.
    func provider(_ provider: any HTTPDNSProvider, _ route: HTTPDNSRoute?) -> AnswerOrigin {
        known[Key(provider: provider.name, pattern: route?.pattern)]
            ?? AnswerOrigin(
                source: .provider,
                provider: provider.name,
                providerScope: provider.answerScope,
                route: route,
                policy: policy,
                staleLimit: route?.staleLimit ?? staleLimit
            )
    }

    /// Returns the origin of the system resolver's answers for names of a route, or of none.
    func system(_ route: HTTPDNSRoute?) -> AnswerOrigin {
        known[Key(provider: nil, pattern: route?.pattern)]
            ?? AnswerOrigin(
                source: .system,
                // Providers that are not in the settings count as public.
                providerScope: route?.fallbackScope { _ in nil },
                route: route,
                policy: policy,
                staleLimit: route?.staleLimit ?? staleLimit
            )
    }
}
