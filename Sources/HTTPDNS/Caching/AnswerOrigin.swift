internal import HTTPDNSPrimitives

/// Who answered, by which route: one object for all answers of a provider by a route.
package final class AnswerOrigin: Sendable {
    let source: Resolution.Source
    /// The provider's name; nil for the system resolver.
    let provider: String?
    let providerScope: AddressScope?
    let route: Route?
    /// The most private scope whose addresses may all be dialled when they come from here.
    let admittedScope: AddressScope?
    /// How long past its life such an answer may serve.
    let staleLimit: Duration

    package init(
        source: Resolution.Source,
        provider: String? = nil,
        providerScope: AddressScope? = nil,
        route: Route?,
        policy: AddressPolicy,
        staleLimit: Duration
    ) {
        self.source = source
        self.provider = provider
        self.providerScope = providerScope
        self.route = route
        self.staleLimit = staleLimit
        admittedScope = policy.admittedScope(from: source, providerScope: providerScope, route: route)
    }
}
