/// What someone who waits for a flight is given.
enum Delivery: Sendable {
    case answer(CachedAnswer)
    case failed(HTTPDNSResolver.Error)
    case timedOut
    case cancelled
    case shutDown
    /// The name was switched off.
    case switchedOff
}
