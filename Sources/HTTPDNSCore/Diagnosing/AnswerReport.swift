package import HTTPDNSPrimitives

/// What is known about one key of the cache at a moment, for people to look at.
package struct AnswerReport: Sendable {
    /// The name.
    package var host: HTTPDNSName
    /// The families that the question itself named; nil for those of the name's route.
    package var families: HTTPDNSAddress.Families?
    /// The addresses, IPv4 first; empty for an answer that says so, and while nothing is known.
    package var addresses: [HTTPDNSAddress]
    /// Where they came from; nil while nothing is known but that asking failed.
    package var source: HTTPDNSResolver.Resolution.Source?
    /// The provider's name.
    package var provider: String?
    /// The route that it came by.
    package var route: HTTPDNSRoute.Pattern?
    /// How long ago it was asked for; nil while nothing is known.
    package var age: Duration?
    /// How long it is still good; below zero for one that may only serve as a stale one.
    package var timeLeft: Duration?
    /// Why there are no addresses, for an answer that says so.
    package var negative: HTTPDNSResolver.Error.Code?
    /// How asking failed since.
    package var failure: HTTPDNSResolver.Error.Code?
    /// How long it is left alone after that.
    package var retryIn: Duration?
}
