/// What happens to a resolver besides answering, and seldom enough for one plain counter each.
package enum OccurrenceCount: Int, CaseIterable, Sendable {
    /// A cached answer began to be asked for anew.
    case refreshStarted
    /// A refresh brought an answer, be it that there is nothing.
    case refreshSucceeded
    /// A refresh brought none.
    case refreshFailed
    /// An answer had to leave the cache for another one.
    case eviction
    /// An answer came out of the store.
    case restored
    /// A name has other addresses than before.
    case change
    /// A question was refused, since too many names are asked for.
    case overload
    /// The system resolver was asked.
    case systemQuery
    /// The system resolver failed; that a name does not exist is no failure.
    case systemFailure
    /// Providers and system resolver agreed about a name of a route in shadow mode.
    case shadowAgreed
    /// They did not.
    case shadowDiffered
    /// No provider had a usable answer to compare.
    case shadowFailed
    /// Addresses of last resort served.
    case lastResort
    /// The kill switch sent a question to the system resolver.
    case switchedOff
    /// A question was within its route's rollout.
    case rolledOut
    /// A question was outside of it.
    case heldBack
}
