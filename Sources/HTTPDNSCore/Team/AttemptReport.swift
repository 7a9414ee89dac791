internal import HTTPDNSPrimitives

/// What became of one query to one provider, for logs and metrics.
struct AttemptReport: Sendable, Equatable {
    enum Outcome: Sendable, Equatable {
        /// There were addresses.
        case addresses
        /// The name does not exist, or has no addresses.
        case nothing
        /// At least one name of a batch had a definite answer.
        case batch(answered: Int)
        /// There was no definite answer.
        case failed(HTTPDNSProviderError)
        /// Nobody wanted the answer any more.
        case cancelled
    }

    var provider: String
    /// The name asked for; the first one of a batch.
    var host: HTTPDNSName
    /// How many names were asked for.
    var names: Int
    var outcome: Outcome
    /// From the sending to the outcome; zero for a query that was not sent.
    var elapsed: Duration
    /// How long it waited for its turn.
    var queued: Duration
    /// Whether it was asked because the one before kept silent.
    var isHedge: Bool
    /// Whether it was asked to see if the provider is back.
    var isProbe: Bool
    /// Whether its asker had gone on without it.
    var isLate: Bool
    /// Whether it was sent, and did not fail before that.
    var wasSent: Bool
    /// How the provider stands after it.
    var state: HTTPDNSResolver.Status.Provider.State
}
