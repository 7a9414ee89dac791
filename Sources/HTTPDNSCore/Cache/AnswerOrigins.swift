internal import HTTPDNSPrimitives

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
