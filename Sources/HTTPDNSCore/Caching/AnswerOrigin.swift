internal import HTTPDNSPrimitives

/// Who answered, by which route: one object for all answers of a provider by a route.
package final class AnswerOrigin: Sendable {
    let source: HTTPDNSResolver.Resolution.Source
    /// The provider's name; nil for the system resolver.
    let provider: String?
    let providerScope: HTTPDNSAddressPolicy.Scope?
    /// What it rests on, and by which route it came.
    let basis: RouteBasis
    /// Where questions that it answers are counted, without a way through ``basis``: every request comes by here.
    let counters: StripedCounters
    /// The most private scope whose addresses may all be dialled when they come from here.
    let admittedScope: HTTPDNSAddressPolicy.Scope?
    /// How long past its life such an answer may serve.
    let staleLimit: Duration

    package init(
        source: HTTPDNSResolver.Resolution.Source,
        provider: String? = nil,
        providerScope: HTTPDNSAddressPolicy.Scope? = nil,
        route: HTTPDNSRoute?,
        basis: RouteBasis? = nil,
        policy: HTTPDNSAddressPolicy,
        staleLimit: Duration
    ) {
        self.source = source
        self.provider = provider
        self.providerScope = providerScope
        let basis = basis ?? RouteBasis(route)
        self.basis = basis
        counters = basis.counting.answers
        self.staleLimit = staleLimit
        admittedScope = policy.admittedScope(from: source, providerScope: providerScope, route: route)
    }

    /// The route that decided, as it stands in the settings now; nil without one.
    var route: HTTPDNSRoute? { basis.route }
}
