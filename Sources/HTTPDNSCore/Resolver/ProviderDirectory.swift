internal import HTTPDNSPrimitives

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
