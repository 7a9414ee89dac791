internal import HTTPDNSPrimitives

/// The facts about the providers by their names, also of those that were replaced: their kind, and how private their
/// answers may be. It keeps no provider alive.
package final class ProviderDirectory: Sendable {
    private let known = Lock<[String: (kind: String, scope: HTTPDNSAddressPolicy.Scope)]>([:])

    init() {}

    func add(_ providers: [any HTTPDNSProvider]) {
        let new = providers.map { ($0.name, ($0.kind, $0.answerScope)) }
        known.withLock { $0.merge(new) { _, newer in newer } }
    }

    /// The most private scope that a provider may answer.
    package func scope(of name: String) -> HTTPDNSAddressPolicy.Scope? { known.withLock { $0[name]?.scope } }

    /// What kind of provider a name stands for: `doh`, `json`; nil for one that was never there.
    package func kind(of name: String) -> String? { known.withLock { $0[name]?.kind } }
}
