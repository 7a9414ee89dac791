/// The result that a waiter of a lookup receives.
enum Delivery: Sendable {
    case answer(CachedAnswer)
    case failed(HTTPDNSResolver.Error)
    case timedOut
    case cancelled
    case shutDown
    /// The name was switched off.
    case switchedOff
}
