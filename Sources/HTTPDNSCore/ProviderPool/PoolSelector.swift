// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The state of all requests to a pool: the queries in flight, waiting and abandoned.
///
/// A value: it sends nothing itself. All events and times are arguments of its methods, which return the work that is to be
/// done after the lock around it is released.
struct PoolSelector: Sendable {
    /// An action after a change; actions are performed in order.
    enum Action: Sendable {
        /// Send a query, and report its result; the limit is from now on.
        case send(PoolQuery, limit: Duration)
        /// Cancel a query that was sent.
        case cancel(PoolQuery.ID)
        /// Wake the request at that time, instead of at the time set before.
        case wake(PoolRequest.ID, at: MonotonicTime)
        /// Deliver the outcome. The request is not used again.
        case finish(PoolRequest.ID, Ending)
        /// Report the attempt to logs and metrics.
        case report(AttemptReport)
    }

    /// The outcome of a request.
    enum Ending: Sendable {
        case outcome(ProviderPool.Outcome)
        /// The answered names of a batch.
        case batch([HTTPDNSName: HTTPDNSProviderAnswer], provider: any HTTPDNSProvider, sentAt: MonotonicTime)
    }

    /// The minimum interval between hedges, unless they are set to a shorter one (RFC 8305, section 8: the least delay
    /// between attempts).
    static let leastHedgeStep = Duration.milliseconds(10)

    /// The time that a provider has to return a query that has ended. Then its slot is given to another one: a provider that
    /// ignores cancellation must not stop all queries for good.
    static let patience = Duration.seconds(1)

    let attemptLimit: Duration
    let numbers: [String: Int]
    var members: [PooledProvider]
    var asks: [PoolRequest.ID: PoolRequest] = [:]
    var queries: [PoolQuery.ID: PoolQuery] = [:]
    var hedgeBudget = HedgeBudget()
    private(set) var isShutDown = false
    var lastID: UInt64 = 0

    init(_ members: [PooledProvider], attemptLimit: Duration) {
        self.members = members
        self.attemptLimit = attemptLimit
        numbers = Dictionary(members.enumerated().map { ($1.name, $0) }, uniquingKeysWith: { first, _ in first })
    }

    // MARK: Events of a request

    /// Adds a request.
    /// - Parameters:
    ///   - batch: Names to be queried together, at the single provider of the request.
    ///   - explores: Whether this request may begin with a provider of unknown latency, where the order is `fastest`.
    mutating func begin(
        _ poolAttempt: ProviderPool.PoolAttempt,
        batch: [HTTPDNSName]? = nil,
        explores: Bool,
        at now: MonotonicTime
    ) -> (PoolRequest.ID, [Action]) {
        lastID += 1
        let id = lastID
        hedgeBudget.noteQuestion()
        var actions: [Action] = []
        asks[id] = PoolRequest(
            poolAttempt: poolAttempt,
            batch: batch,
            startedAt: now,
            remaining: poolAttempt.providers.compactMap { numbers[$0] },
            explores: explores && poolAttempt.order == .fastest
        )
        let denier = poolAttempt.denial.flatMap { numbers[$0.provider.name] }
        if let denier, let denial = poolAttempt.denial {
            asks[id]?.remaining.removeAll { $0 == denier }
            asks[id]?.negatives = [denier]
            asks[id]?.tentative = denial
        }
        if isShutDown {
            finish(id, .outcome(.canceled), at: now, &actions)
        } else if now >= poolAttempt.deadline {
            giveUp(id, at: now, &actions)
        } else if let denier, let denial = poolAttempt.denial {
            if isOpen(id, after: denial, of: denier, at: now, &actions) { askNext(id, at: now, &actions) }
            if let ask = asks[id] { actions.append(.wake(id, at: ask.wakeAt)) }
        } else {
            askNext(id, at: now, &actions)
            copyToProbe(id, at: now, &actions)
            if let ask = asks[id] { actions.append(.wake(id, at: ask.wakeAt)) }
        }
        return (id, actions)
    }

    /// Performs the steps that are due without an answer: hedges, or ends the request at the deadline.
    mutating func wake(_ id: PoolRequest.ID, at now: MonotonicTime) -> [Action] {
        guard let ask = asks[id], now >= ask.wakeAt else { return [] }
        var actions: [Action] = []
        if now < ask.poolAttempt.deadline {
            hedge(id, at: now, &actions)
        } else if let later = patience(with: ask, at: now) {
            asks[id]?.poolAttempt.deadline = later
            if let hedgeAt = ask.hedgeAt, now >= hedgeAt { hedge(id, at: now, &actions) }
        } else {
            giveUp(id, at: now, &actions)
        }
        if let ask = asks[id] { actions.append(.wake(id, at: ask.wakeAt)) }
        return actions
    }

    /// Records that an answer is not needed any more. Idempotent.
    mutating func leave(_ id: PoolRequest.ID, at now: MonotonicTime) -> [Action] {
        guard let ask = asks[id] else { return [] }
        var actions: [Action] = []
        for query in ask.pending { drop(query, at: now, &actions) }
        asks[id]?.pending = []
        finish(id, .outcome(.canceled), at: now, &actions)
        return actions
    }

    /// Ends a request whose answer is not needed any more. Sent queries continue, and no further provider is queried.
    mutating func settle(_ id: PoolRequest.ID, at now: MonotonicTime) -> [Action] {
        var actions: [Action] = []
        finish(id, .outcome(.canceled), at: now, &actions)
        return actions
    }

    /// Ends all requests and all queries; later requests end immediately.
    mutating func shutdown(at now: MonotonicTime) -> [Action] {
        isShutDown = true
        var actions: [Action] = []
        for id in asks.keys.sorted() { actions += leave(id, at: now) }
        for id in queries.keys.sorted() { drop(id, at: now, &actions) }
        return actions
    }

    // MARK: Events of a query

    /// Records the result that a query's provider returned.
    mutating func returned(
        _ id: PoolQuery.ID,
        _ result: PoolQuery.Result,
        jitter: UInt64,
        at now: MonotonicTime
    ) -> [Action] {
        var actions: [Action] = []
        if case .unsent = result, let query = queries[id] {
            members[query.member].giveBackQuery()
            if query.isBudgetedHedge { hedgeBudget.giveBack() }
        }
        end(id, result, jitter: jitter, at: now, &actions)
        free(id, at: now, &actions)
        return actions
    }

    /// Takes the next step with a query that its provider has not returned. It ends at its limit, or before that if it takes much
    /// longer than others do and a query waits for its slot: names whose servers are slow must not delay all other answers. Some
    /// time later its slot is taken back.
    /// - Parameter limit: The end of its limit.
    /// - Returns: The time of the step after that; nil when there is none.
    mutating func check(
        _ id: PoolQuery.ID,
        until limit: MonotonicTime,
        jitter: UInt64,
        at now: MonotonicTime
    ) -> (MonotonicTime?, [Action]) {
        guard let query = queries[id], let sentAt = query.sentAt else { return (nil, []) }
        var actions: [Action] = []
        if let endedAt = query.endedAt {
            guard now >= endedAt + Self.patience else { return (endedAt + Self.patience, []) }
            free(id, at: now, &actions)
            return (nil, actions)
        }
        var (message, jitter) = ("no answer", jitter)
        if now < limit {
            let isSlow = members[query.member].health.isOverdue(sentAt: sentAt, at: now)
            guard isSlow, members[query.member].makeRoom() else {
                return (min(now + MemberHealth.leastPlaceTime, limit), [])
            }
            queries[id]?.madeRoom = true
            (message, jitter) = ("no answer, and others waited for its place", MemberHealth.jitterSteps / 2)
        }
        actions.append(.cancel(id))
        let error = HTTPDNSProviderError(code: .timedOut, message: message)
        end(id, .failed(error), jitter: jitter, at: now, &actions)
        return (now + Self.patience, actions)
    }

    // MARK: Health

    /// Returns whether one of them is neither in quarantine nor out of budget.
    func mayAsk(_ providers: [String], at now: MonotonicTime) -> Bool {
        providers.contains { name in
            guard let number = numbers[name] else { return false }
            return !members[number].health.isResting(at: now) && members[number].hasBudget(at: now)
        }
    }

    // MARK: Shared steps

    /// Processes an outcome, once for each query.
    private mutating func end(
        _ id: PoolQuery.ID,
        _ result: PoolQuery.Result,
        jitter: UInt64,
        at now: MonotonicTime,
        _ actions: inout [Action]
    ) {
        guard let query = queries[id], !query.isEnded, let sentAt = query.sentAt else { return }
        queries[id]?.endedAt = now
        let verdict = query.verdict(result, of: members[query.member].provider)
        switch verdict {
        case .definite:
            members[query.member].count(success: true)
            members[query.member].health.succeeded(id, latency: now - sentAt, at: now)
            noteEvidence(of: verdict, query)
        case .batch:
            members[query.member].count(success: true)
            noteEvidence(of: verdict, query)
            // A batch may take longer than a single name, and does not predict a single name's latency.
            members[query.member].health.succeeded(id, latency: nil, at: now)
        case .failed(let error, _):
            members[query.member].count(success: false)
            members[query.member].health.failed(
                id,
                error,
                about: query.question.host,
                isPartial: query.question.completesAnswer || PoolQuery.isPartial(result),
                sentAt: sentAt,
                limit: query.limit(attemptLimit),
                jitter: jitter,
                at: now
            )
        case .canceled:
            members[query.member].health.dropped(id)
        }
        actions.append(.report(report(on: query, verdict, at: now)))
        guard let ask = query.ask, asks[ask] != nil else { return }
        conclude(ask, query, verdict, at: now, &actions)
        if let ask = query.ask, let wakeAt = asks[ask]?.wakeAt { actions.append(.wake(ask, at: wakeAt)) }
    }

    /// Applies an outcome to its request.
    private mutating func conclude(
        _ id: PoolRequest.ID,
        _ query: PoolQuery,
        _ verdict: PoolQuery.Verdict,
        at now: MonotonicTime,
        _ actions: inout [Action]
    ) {
        guard var ask = asks[id] else { return }
        let member = members[query.member]
        let sentAt = query.sentAt ?? query.startedAt
        ask.pending.removeAll { $0 == query.id }
        switch verdict {
        case .batch(let answers):
            asks[id] = ask
            finish(id, .batch(answers, provider: member.provider, sentAt: sentAt), at: now, &actions)
            return
        case .definite(let answer, let outcome):
            let answer = ProviderPool.Answer(
                answer: answer,
                outcome: outcome,
                provider: member.provider,
                sentAt: sentAt,
                failedAttempts: ask.failedAttempts
            )
            asks[id] = ask
            guard outcome.isNegative else {
                for number in ask.negatives {
                    members[number].negatives.note(query.question.host, .contradicted)
                }
                finish(id, .outcome(.answered(answer)), at: now, &actions)
                return
            }
            guard isOpen(id, after: answer, of: query.member, at: now, &actions), let left = asks[id] else { return }
            ask = left
        case .failed(let error, let refusal):
            var attempt = member.attempt(error.message, elapsed: now - sentAt)
            attempt.isLocal = error.code.isLocal
            attempt.refusal = refusal
            ask.failedAttempts.append(attempt)
        case .canceled:
            ask.failedAttempts.append(member.attempt("ended the query itself", elapsed: now - sentAt))
        }
        asks[id] = ask
        // While a later query is within its own delay, it counts as the next provider, and its delay is running.
        guard ask.latest == query.id || ask.pending.isEmpty else { return }
        askNext(id, at: now, &actions)
    }

    /// Frees the slot of a query that was sent, for the next one in the queue.
    private mutating func free(_ id: PoolQuery.ID, at now: MonotonicTime, _ actions: inout [Action]) {
        guard let query = queries.removeValue(forKey: id), query.sentAt != nil else { return }
        var madeRoom = query.madeRoom
        while let (next, wasPostponed) = members[query.member].free(madeRoom: madeRoom) {
            madeRoom = false
            guard let waiting = queries[next], let ask = waiting.ask, let request = asks[ask] else { continue }
            if now >= request.poolAttempt.deadline {
                // Its alarm is late, as are those of a burst.
                guard let later = patience(with: request, at: now) else {
                    giveUp(ask, at: now, &actions)
                    continue
                }
                asks[ask]?.poolAttempt.deadline = later
            }
            // The first in the queue has the least time left. Under overload, answers would all come too late.
            if !wasPostponed,
                now + members[query.member].usualTime
                    > end(of: waiting, asks[ask]?.poolAttempt ?? request.poolAttempt, at: now)
            {
                members[query.member].postpone(next)
                // Its deadline may be later now, and its alarm goes off at the earlier one.
                if let wakeAt = asks[ask]?.wakeAt { actions.append(.wake(ask, at: wakeAt)) }
                continue
            }
            send(next, at: now, &actions)
            if asks[ask]?.latest == next { timeHedge(ask, after: next, at: now) }
            if let wakeAt = asks[ask]?.wakeAt { actions.append(.wake(ask, at: wakeAt)) }
            return
        }
    }

    /// Returns the time until which the answer to a waiting query is of use, if it is sent now.
    private func end(
        of query: PoolQuery,
        _ poolAttempt: ProviderPool.PoolAttempt,
        at now: MonotonicTime
    ) -> MonotonicTime {
        let end = poolAttempt.patientUntil.map { min(query.deadline + (now - query.startedAt), $0) }
        return min(
            max(poolAttempt.deadline, end ?? poolAttempt.deadline),
            poolAttempt.demand?.end ?? MonotonicTime(nanoseconds: .max)
        )
    }

    /// Returns the time until which a request waits past its deadline; nil when it does not.
    ///
    /// It waits while its query waits for a slot of a provider that answers others.
    private func patience(with ask: PoolRequest, at now: MonotonicTime) -> MonotonicTime? {
        guard let end = ask.poolAttempt.patientUntil, now < end else { return nil }
        let isQueued = ask.pending.contains { id in
            guard let query = queries[id], query.sentAt == nil else { return false }
            return members[query.member].health.isAnswering(at: now)
        }
        return isQueued ? min(now + MemberHealth.leastPlaceTime, end) : nil
    }

    /// Ends a query that no request needs.
    private mutating func drop(_ id: PoolQuery.ID, at now: MonotonicTime, _ actions: inout [Action]) {
        guard let query = queries[id], !query.isEnded else { return }
        guard query.sentAt != nil else {
            unqueue(id)
            return
        }
        queries[id]?.endedAt = now
        queries[id]?.ask = nil
        members[query.member].health.dropped(id)
        actions.append(.report(report(on: query, .canceled, at: now)))
        actions.append(.cancel(id))
    }

    func report(on query: PoolQuery, _ verdict: PoolQuery.Verdict, at now: MonotonicTime) -> AttemptReport {
        let outcome: AttemptReport.Outcome =
            switch verdict {
            case .definite(_, let outcome): outcome.isNegative ? .nothing : .addresses
            case .batch(let answers): .batch(answered: answers.count)
            case .failed(let error, _): .failed(error)
            case .canceled: .canceled
            }
        return AttemptReport(
            provider: members[query.member].name,
            host: query.question.host,
            names: query.batch?.count ?? 1,
            outcome: outcome,
            elapsed: query.sentAt.map { now - $0 } ?? .zero,
            queued: (query.sentAt ?? now) - query.startedAt,
            isHedge: query.purpose == .hedge,
            isProbe: query.isProbe,
            isLate: query.ask == nil,
            wasSent: query.sentAt != nil,
            state: members[query.member].report(at: now).state
        )
    }
}

/// The state of one request to the pool, until it is answered.
struct PoolRequest: Sendable {
    typealias ID = UInt64

    var poolAttempt: ProviderPool.PoolAttempt
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
    var hadLastResort = false
    /// Whether to begin with a provider of unknown latency.
    var explores: Bool

    /// The next time at which the request acts without an answer.
    var wakeAt: MonotonicTime { min(hedgeAt ?? poolAttempt.deadline, poolAttempt.deadline) }
}

/// The budget for hedges, queries to a second provider because the first is slow: a tenth of all requests, after the first ten.
struct HedgeBudget: Sendable {
    /// The maximum that may be saved, in tenths of a hedge.
    static let most = 100

    private var tenths = HedgeBudget.most

    mutating func noteQuestion() { tenths = min(tenths + 1, HedgeBudget.most) }

    /// Takes a hedge from the budget.
    /// - Returns: False when there is none.
    mutating func take() -> Bool {
        guard tenths >= 10 else { return false }
        tenths -= 10
        return true
    }

    /// Returns a hedge that was not sent.
    mutating func giveBack() { tenths = min(tenths + 10, HedgeBudget.most) }
}
