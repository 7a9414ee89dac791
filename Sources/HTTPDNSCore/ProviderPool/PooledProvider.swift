// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// A provider of a pool: its health, its query slots, and its budget.
struct PooledProvider: Sendable {
    /// The decision on sending a query.
    enum Admission: Sendable, Equatable {
        case send
        /// All slots are in use; the query is sent when one is free.
        case queued
        case overBudget(HTTPDNSProviderError)
    }

    let provider: any HTTPDNSProvider
    let maximumInFlight: Int
    var health: MemberHealth
    /// The trust in its negative answers.
    var negatives = NegativeAnswerTrust()
    /// The request that tries to confirm its negative answers.
    var confirmation: PoolRequest.ID?
    /// The requests that wait for the outcome of that.
    var held: [PoolRequest.ID] = []
    private var budget: QueryBudget?
    private var waiting = ArrivalQueue<UInt64>()
    /// The queries that wait behind all others, because the calls that want their answers will have ended.
    private var postponed = ArrivalQueue<UInt64>()
    private(set) var inFlight = 0
    /// The number of queries that were ended for waiting ones, and whose slots are not free yet.
    private var makingRoom = 0
    private(set) var queries = 0
    private(set) var successes = 0
    private(set) var failures = 0

    init(
        _ provider: any HTTPDNSProvider,
        limits: HTTPDNSResolver.Configuration.ProviderLimits,
        hedgeAfter: Duration,
        attemptLimit: Duration,
        at now: MonotonicTime
    ) {
        self.provider = provider
        maximumInFlight = max(1, limits.maximumInFlight)
        budget = limits.queriesPerSecond.map { QueryBudget(queriesPerSecond: $0, at: now) }
        health = MemberHealth(hedgeAfter: hedgeAfter, attemptLimit: attemptLimit, at: now)
    }

    /// Returns the same provider for another pool: with its health, and without its queries in flight.
    func carriedOver(
        limits: HTTPDNSResolver.Configuration.ProviderLimits,
        hedgeAfter: Duration,
        attemptLimit: Duration,
        at now: MonotonicTime
    ) -> PooledProvider {
        var member = PooledProvider(
            provider,
            limits: limits,
            hedgeAfter: hedgeAfter,
            attemptLimit: attemptLimit,
            at: now
        )
        member.health = health.carriedOver(hedgeAfter: hedgeAfter, attemptLimit: attemptLimit, at: now)
        member.negatives = negatives
        if budget?.queriesPerSecond == limits.queriesPerSecond { member.budget = budget }
        (member.queries, member.successes, member.failures) = (queries, successes, failures)
        return member
    }

    var name: String { provider.name }
    var hasFreePlace: Bool { inFlight < maximumInFlight }
    private var queued: Int { waiting.count + postponed.count }

    /// The time in which it probably answers a query; zero before the first answer.
    var usualTime: Duration {
        let latency = health.latency
        guard let mean = latency.mean else { return .zero }
        return latency.percentile95.map { min($0, mean * 2) } ?? mean
    }

    func hasBudget(at now: MonotonicTime) -> Bool { budget?.hasOne(at: now) ?? true }

    mutating func admit(_ query: UInt64, at now: MonotonicTime) -> Admission {
        if budget?.take(at: now) == false, let budget {
            let rate = budget.queriesPerSecond
            let text = rate == rate.rounded() && rate < 1e9 ? "\(Int(rate))" : "\(rate)"
            return .overBudget(
                HTTPDNSProviderError(code: .rateLimited, message: "over its budget of \(text) queries a second")
            )
        }
        guard hasFreePlace else {
            waiting.append(query)
            return .queued
        }
        inFlight += 1
        return .send
    }

    /// Ends a query's claim to its slot, if a query waits that no other slot is promised to.
    mutating func makeRoom() -> Bool {
        guard queued > makingRoom else { return false }
        makingRoom += 1
        return true
    }

    /// Frees the slot of a query that was sent, and gives it to the one that has waited longest.
    /// - Parameter madeRoom: Whether the query was ended for waiting ones.
    /// - Returns: The query to be sent now, and whether it was postponed.
    mutating func free(madeRoom: Bool) -> (query: UInt64, wasPostponed: Bool)? {
        inFlight -= 1
        if madeRoom { makingRoom -= 1 }
        guard hasFreePlace else { return nil }
        let first = waiting.popFirst()
        guard let next = first ?? postponed.popFirst() else { return nil }
        inFlight += 1
        return (next, first == nil)
    }

    /// Puts a query that has its slot behind all others. Its slot is freed next.
    mutating func postpone(_ query: UInt64) { postponed.append(query) }

    /// Removes a query that was not sent, and that may wait in the queue.
    mutating func leaveQueue(_ query: UInt64) {
        if !waiting.remove(query) { postponed.remove(query) }
        budget?.giveBack()
    }

    /// Returns the token of a query that was not sent to the service: its name was sent with that of another one, or its task had
    /// not begun when it was canceled.
    mutating func giveBackQuery() { budget?.giveBack() }

    mutating func sent(_ query: UInt64, isProbe: Bool, at now: MonotonicTime) {
        queries += 1
        health.sent(query, isProbe: isProbe, at: now)
    }

    mutating func count(success: Bool) {
        if success { successes += 1 } else { failures += 1 }
    }

    /// Returns the record of a query to it that failed, or of the reason that none was sent.
    func attempt(_ failure: String, elapsed: Duration = .zero) -> HTTPDNSResolver.ProviderAttempt {
        HTTPDNSResolver.ProviderAttempt(provider: name, failure: failure, elapsed: elapsed)
    }

    func report(at now: MonotonicTime) -> HTTPDNSResolver.Status.Provider {
        let state: HTTPDNSResolver.Status.Provider.State =
            if let rest = health.rest {
                .quarantined(until: .init(rest.until), reason: rest.why)
            } else {
                health.standing(at: now) == .suspect ? .suspect : .healthy
            }
        return HTTPDNSResolver.Status.Provider(
            name: name,
            state: state,
            latency: health.latency.mean,
            percentile95: health.latency.percentile95,
            successes: successes,
            failures: failures,
            inFlight: inFlight,
            queued: queued,
            queries: queries
        )
    }
}

/// The budget of queries: a token bucket that fills at a steady rate and holds the tokens of one second.
struct QueryBudget: Sendable {
    let queriesPerSecond: Double
    private var tokens: Double
    private var filledAt: MonotonicTime

    /// Creates a full bucket. It holds one query at least, or a rate below one a second would never allow any.
    init(queriesPerSecond: Double, at now: MonotonicTime) {
        self.queriesPerSecond = queriesPerSecond
        tokens = max(1, queriesPerSecond)
        filledAt = now
    }

    func hasOne(at now: MonotonicTime) -> Bool { level(at: now) >= 1 }

    /// Takes a query from the budget.
    /// - Returns: False when there is none.
    mutating func take(at now: MonotonicTime) -> Bool {
        let level = level(at: now)
        guard level >= 1 else { return false }
        tokens = level - 1
        filledAt = max(filledAt, now)
        return true
    }

    /// Returns the token of a query that was never sent.
    mutating func giveBack() {
        tokens = min(max(1, queriesPerSecond), tokens + 1)
    }

    private func level(at now: MonotonicTime) -> Double {
        let elapsed = max(now - filledAt, .zero).inSeconds
        return min(max(1, queriesPerSecond), tokens + elapsed * queriesPerSecond)
    }
}
