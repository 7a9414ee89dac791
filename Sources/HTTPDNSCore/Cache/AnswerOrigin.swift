internal import HTTPDNSPrimitives

/// The provider and route of an answer: one object for all answers of a provider by a route.
package final class AnswerOrigin: Sendable {
    let source: HTTPDNSResolver.Resolution.Source
    /// The provider's name; nil for the system resolver.
    let provider: String?
    let providerScope: HTTPDNSAddressPolicy.Scope?
    /// The identity of the route's settings, which the answer depends on.
    let basis: RouteIdentity
    /// The counters of queries that it answers. They are stored here rather than read through ``basis``, because every
    /// request uses them.
    let counters: StripedCounters
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
        self.staleLimit = staleLimit
        admittedScope = policy.admittedScope(from: source, providerScope: providerScope, route: route)
    }

    /// The route that decided, as it is in the present settings; nil without one.
    var route: HTTPDNSRoute? { basis.route }
}
