package import HTTPDNSPrimitives

/// A readable report on one key of the cache at a moment.
package struct AnswerReport: Sendable {
    /// The name.
    package var host: HTTPDNSName
    /// The families that the query itself named; nil for those of the name's route.
    package var families: HTTPDNSAddress.Families?
    /// The addresses, IPv4 first; empty for a negative answer, and without an answer.
    package var addresses: [HTTPDNSAddress]
    /// The source of the addresses; nil while only a failure is known.
    package var source: HTTPDNSResolver.Resolution.Source?
    /// The provider's name.
    package var provider: String?
    /// The route of the answer.
    package var route: HTTPDNSRoute.Pattern?
    /// The time since the answer was requested; nil without an answer.
    package var age: Duration?
    /// The remaining lifetime; negative for an answer that may only be served as stale.
    package var timeLeft: Duration?
    /// The reason that there are no addresses, for a negative answer.
    package var negative: HTTPDNSResolver.Error.Code?
    /// The failure of the latest lookup since then.
    package var failure: HTTPDNSResolver.Error.Code?
    /// The time until the next lookup after the failure.
    package var retryIn: Duration?
}
