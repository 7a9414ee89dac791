/// The occurrences in a resolver other than answers, rare enough for one plain counter each.
package enum OccurrenceCount: Int, CaseIterable, Sendable {
    /// A refresh of a cached answer was started.
    case refreshStarted
    /// A refresh received an answer, positive or negative.
    case refreshSucceeded
    /// A refresh received no answer.
    case refreshFailed
    /// An answer was evicted from the cache to make room.
    case eviction
    /// An answer was restored from the store.
    case restored
    /// The addresses of a name changed.
    case change
    /// A query was refused, because too many lookups were in flight.
    case overload
    /// The system resolver was queried.
    case systemQuery
    /// The system resolver failed. A name that does not exist is no failure.
    case systemFailure
    /// Providers and system resolver agreed on a name of a route in shadow mode.
    case shadowAgreed
    /// Providers and system resolver disagreed.
    case shadowDiffered
    /// No provider had a usable answer to compare.
    case shadowFailed
    /// Addresses of last resort were served.
    case lastResort
    /// The kill switch sent a query to the system resolver.
    case switchedOff
    /// A query was within its route's rollout.
    case rolledOut
    /// A query was outside its route's rollout.
    case heldBack
}
