internal import HTTPDNSPrimitives

/// The outcome of one query to one provider, for logs and metrics.
struct AttemptReport: Sendable, Equatable {
    enum Outcome: Sendable, Equatable {
        /// The answer had addresses.
        case addresses
        /// The name does not exist, or has no addresses.
        case nothing
        /// At least one name of a batch had a definite answer.
        case batch(answered: Int)
        /// The answer was not needed any more.
        case failed(HTTPDNSProviderError)
        /// The answer was not needed any more.
        case cancelled
    }

    var provider: String
    /// The queried name; the first one of a batch.
    var host: HTTPDNSName
    /// The number of queried names.
    var names: Int
    var outcome: Outcome
    /// The time from sending to the outcome; zero for a query that was not sent.
    var elapsed: Duration
    /// The time in the queue.
    var queued: Duration
    /// Whether it was sent because an earlier provider had not answered.
    var isHedge: Bool
    /// Whether it was sent to check whether the provider has recovered.
    var isProbe: Bool
    /// Whether its request had already ended or continued without it.
    var isLate: Bool
    /// Whether it was sent, and did not fail before that.
    var wasSent: Bool
    /// The state of the provider after it.
    var state: HTTPDNSResolver.Status.Provider.State
}
