internal import HTTPDNSPrimitives

/// The state of one request to the pool, until it is answered.
struct PoolRequest: Sendable {
    typealias ID = UInt64

    var assignment: ProviderPool.PoolAttempt
    /// The names of a batch. Then one provider is queried, once.
    var batch: [HTTPDNSName]?
    var startedAt: MonotonicTime
    /// The providers that were not queried yet, in the order of the route.
    var remaining: [Int]
    /// The queries whose answers are awaited.
    var pending: [PoolQuery.ID] = []
    /// The query that times the next hedge: the latest one, copies excluded.
    var latest: PoolQuery.ID?
    /// The time at which the next provider is queried as well.
    var hedgeAt: MonotonicTime?
    /// The number of hedges.
    var hedges = 0
    var failedAttempts: [HTTPDNSResolver.ProviderAttempt] = []
    /// "No such name", or "no addresses", as long as another provider may contradict it.
    var tentative: ProviderPool.Answer?
    /// The providers whose answers were negative.
    var negatives: [Int] = []
    /// The provider whose negative answers this request tries to confirm; other requests wait for the outcome.
    var confirms: Int?
    /// The provider whose negative answer waits for the outcome of another request.
    var heldFor: Int?
    /// Whether a quarantined provider was queried, because there was no other.
    var hadLastHope = false
    /// Whether to begin with a provider of unknown latency.
    var explores: Bool

    /// The next time at which the request acts without an answer.
    var wakeAt: MonotonicTime { min(hedgeAt ?? assignment.deadline, assignment.deadline) }
}
