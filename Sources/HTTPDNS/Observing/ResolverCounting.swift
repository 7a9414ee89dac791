/// Placeholder until the obs branch is merged.
final class ResolverCounting: Sendable {
    enum Counter {
        case hits, staleHits, negativeHits, failureHits, misses, joined, refreshesStarted, refreshesSucceeded
        case refreshesFailed, staleServedAfterWait, immediate, evictions, restored, changes, policyRefusals, overloaded
        case systemQueries, systemFailures
    }
    func count(_ counter: Counter, _ amount: Int = 1) {}
}
