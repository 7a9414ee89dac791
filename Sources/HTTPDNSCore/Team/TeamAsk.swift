internal import HTTPDNSPrimitives

/// One question to the team, until it is answered.
struct TeamAsk: Sendable {
    typealias ID = UInt64

    var assignment: ProviderTeam.Assignment
    /// The names, if it is a batch. Then one provider is asked, once.
    var batch: [HTTPDNSName]?
    var startedAt: MonotonicTime
    /// The providers that were not asked yet, in the order that the route gives.
    var remaining: [Int]
    /// The queries whose answers are waited for.
    var pending: [TeamQuery.ID] = []
    /// The query by which the next hedge is timed: the one asked last, copies apart.
    var latest: TeamQuery.ID?
    /// When the next provider is asked as well.
    var hedgeAt: MonotonicTime?
    /// How many providers were asked because the one before kept silent.
    var hedges = 0
    var failedAttempts: [HTTPDNSResolver.ProviderAttempt] = []
    /// "No such name", or "no addresses", as long as another provider may overrule it.
    var tentative: ProviderTeam.Answer?
    /// The members whose answers were negative.
    var negatives: [Int] = []
    /// The member whose negative answers this question puts to the test, for other questions that wait for the outcome.
    var confirms: Int?
    /// The member whose negative answer waits for the outcome of another question.
    var heldFor: Int?
    /// Whether a provider that rests was asked, for want of others.
    var hadLastHope = false
    /// Whether to begin with a provider whose latency is not known.
    var explores: Bool

    /// The moment at which something has to be done without any answer.
    var wakeAt: MonotonicTime { min(hedgeAt ?? assignment.deadline, assignment.deadline) }
}
