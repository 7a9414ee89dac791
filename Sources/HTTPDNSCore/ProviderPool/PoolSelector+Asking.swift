// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The choice of the next provider, and the time to query it.
extension PoolSelector {
    /// Queries the best of the remaining providers, or the one after it when that one cannot be queried.
    ///
    /// Ends the request if none can be, and no answer is awaited.
    mutating func askNext(_ id: PoolRequest.ID, at now: MonotonicTime, _ actions: inout [Action]) {
        while let ask = asks[id] {
            if let number = best(for: ask, at: now) {
                if self.ask(number, id, .turn, at: now, &actions) { return }
            } else if !ask.pending.isEmpty {
                limitDoubt(id, at: now, &actions)
                return
            } else if let number = lastResort(for: ask, at: now) {
                if self.ask(number, id, .lastResort, at: now, &actions) { return }
            } else {
                conclude(exhausted: id, at: now, &actions)
                return
            }
        }
    }

    /// Returns the provider that would be queried first, if there is one that is not in quarantine.
    func first(for poolAttempt: ProviderPool.PoolAttempt, at now: MonotonicTime) -> (any HTTPDNSProvider)? {
        let numbers = poolAttempt.providers.compactMap { self.numbers[$0] }
        let ask = PoolRequest(poolAttempt: poolAttempt, startedAt: now, remaining: numbers, explores: false)
        return best(for: ask, at: now).map { members[$0].provider }
    }

    /// Copies the query to each provider whose quarantine is over, as a probe. The request does not wait for the copies while
    /// it has another query to wait for.
    mutating func copyToProbe(_ id: PoolRequest.ID, at now: MonotonicTime, _ actions: inout [Action]) {
        guard let ask = asks[id] else { return }
        for number in ask.remaining {
            let member = members[number]
            guard member.health.standing(at: now) == .probeDue, member.hasFreePlace, member.hasBudget(at: now) else {
                continue
            }
            _ = self.ask(number, id, .copy, at: now, &actions)
        }
    }

    /// Probes each provider whose quarantine is over, and waits for none of them.
    mutating func probe(_ poolAttempt: ProviderPool.PoolAttempt, at now: MonotonicTime) -> [Action] {
        guard !isShutDown else { return [] }
        lastID += 1
        let id = lastID
        let numbers = poolAttempt.providers.compactMap { self.numbers[$0] }
        asks[id] = PoolRequest(poolAttempt: poolAttempt, startedAt: now, remaining: numbers, explores: false)
        var actions: [Action] = []
        copyToProbe(id, at: now, &actions)
        finish(id, .outcome(.canceled), at: now, &actions)
        return actions
    }

    /// Queries the next provider as well, because the last one has not answered. While the last query waits for a slot, only
    /// a provider with a free slot is queried.
    mutating func hedge(_ id: PoolRequest.ID, at now: MonotonicTime, _ actions: inout [Action]) {
        let waiting = asks[id]?.latest.flatMap { queries[$0] }.flatMap { $0.sentAt == nil ? $0 : nil }
        while let ask = asks[id] {
            let next = best(for: ask, at: now) { member in
                member.health.standing(at: now) <= .suspect && (waiting == nil || member.hasFreePlace)
            }
            if let next {
                var isBudgeted = false
                if waiting == nil {
                    switch mayHedge(ask, at: now) {
                    case .always: break
                    case .byBudget: isBudgeted = true
                    case .later(let time):
                        asks[id]?.hedgeAt = time
                        return
                    }
                }
                if self.ask(next, id, .hedge, at: now, &actions) {
                    if isBudgeted, let query = asks[id]?.latest { queries[query]?.isBudgetedHedge = true }
                    return
                }
                if isBudgeted { hedgeBudget.giveBack() }
                continue
            }
            // The next check is after as long as it has waited: thousands may be in one queue.
            asks[id]?.hedgeAt = waiting.map { now + max(members[$0.member].health.hedgeDelay, now - $0.startedAt) }
            limitDoubt(id, at: now, &actions)
            return
        }
    }

    /// The decision about a hedge.
    private enum HedgePermission {
        case always
        /// One was taken from the budget.
        case byBudget
        /// The budget is empty; it is to be checked again at that time.
        case later(MonotonicTime)
    }

    /// Takes a hedge from the budget.
    ///
    /// A provider without an answer for four delays counts as unavailable rather than slow, and hedging away from it needs no
    /// budget.
    private mutating func mayHedge(_ ask: PoolRequest, at now: MonotonicTime) -> HedgePermission {
        guard let query = ask.latest.flatMap({ queries[$0] }) else { return .always }
        let health = members[query.member].health
        let isDown = health.silence(at: now).map { $0 >= health.hedgeDelay * 4 } ?? false
        if isDown { return .always }
        return hedgeBudget.take() ? .byBudget : .later(now + health.hedgeDelay)
    }

    /// Sets the time of the next hedge, from the sending of a query or its joining the queue.
    ///
    /// Each delay is half as long as it would be without the hedges before. So any number of unresponsive providers at the
    /// head of a route costs no more than two delays, and the steps of ``leastHedgeStep``.
    mutating func timeHedge(_ id: PoolRequest.ID, after query: PoolQuery.ID, at now: MonotonicTime) {
        guard let ask = asks[id], let query = queries[query] else { return }
        guard !ask.remaining.isEmpty else {
            asks[id]?.hedgeAt = nil
            return
        }
        let delay = members[query.member].health.hedgeDelay
        let step = max(delay / (1 << min(ask.hedges, 10)), min(delay, PoolSelector.leastHedgeStep))
        asks[id]?.hedgeAt = now + step
    }

    /// Sends a query that has its slot.
    mutating func send(_ id: PoolQuery.ID, at now: MonotonicTime, _ actions: inout [Action]) {
        guard var query = queries[id] else { return }
        query.sentAt = now
        if let number = query.ask, let poolAttempt = asks[number]?.poolAttempt, let end = poolAttempt.patientUntil {
            // The wait for the slot is not the provider's.
            query.deadline = max(poolAttempt.deadline, min(query.deadline + (now - query.startedAt), end))
            asks[number]?.poolAttempt.deadline = query.deadline
        }
        // Several may have waited in the queue of one provider, but one probe at a time is enough.
        query.isProbe = query.isProbe && members[query.member].health.probe == nil
        let limit = query.limit(attemptLimit)
        query.question.timeLimit = limit
        queries[id] = query
        members[query.member].sent(id, isProbe: query.isProbe, at: now)
        actions.append(.send(query, limit: limit))
    }

    /// Queries one provider.
    /// - Returns: False when it could not be queried, which is recorded.
    private mutating func ask(
        _ number: Int,
        _ id: PoolRequest.ID,
        _ purpose: PoolQuery.Purpose,
        at now: MonotonicTime,
        _ actions: inout [Action]
    ) -> Bool {
        guard var ask = asks[id] else { return false }
        lastID += 1
        let query = PoolQuery(
            id: lastID,
            member: number,
            ask: id,
            question: ask.poolAttempt.query,
            batch: ask.batch,
            isWanted: ask.poolAttempt.isWanted,
            purpose: purpose,
            isProbe: members[number].health.standing(at: now) == .probeDue,
            startedAt: now,
            deadline: ask.poolAttempt.deadline,
            isOnlyChance: ask.poolAttempt.providers.count == 1 && ask.batch == nil && purpose != .copy,
            screen: ask.poolAttempt.screen
        )
        ask.heldFor = nil
        ask.remaining.removeAll { $0 == number }
        ask.explores = false
        if purpose == .lastResort { ask.hadLastResort = true }
        if purpose == .hedge { ask.hedges += 1 }
        let admission = members[number].admit(query.id, at: now)
        if case .overBudget(let error) = admission {
            ask.failedAttempts.append(members[number].attempt(error.message))
            asks[id] = ask
            actions.append(.report(report(on: query, .failed(error), at: now)))
            return false
        }
        ask.pending.append(query.id)
        if purpose != .copy { ask.latest = query.id }
        asks[id] = ask
        queries[query.id] = query
        if admission == .send { send(query.id, at: now, &actions) }
        if purpose != .copy { timeHedge(id, after: query.id, at: now) }
        if ask.tentative != nil { limitDoubt(id, at: now, &actions) }
        return true
    }

    /// Limits the wait of a negative answer for quarantined providers to that for a healthy one: an unresponsive provider
    /// must not delay every "no such name".
    private mutating func limitDoubt(_ id: PoolRequest.ID, at now: MonotonicTime, _ actions: inout [Action]) {
        guard let ask = asks[id], ask.tentative != nil else { return }
        let pending = ask.pending.compactMap { queries[$0] }
        guard pending.allSatisfy(\.isDoubtful) else { return }
        let end = pending.map { ($0.sentAt ?? $0.startedAt) + members[$0.member].health.hedgeDelay }.max()
        guard let end, now < end else {
            giveUp(id, at: now, &actions)
            return
        }
        asks[id]?.hedgeAt = end
    }

    /// Returns the first of the remaining providers that is not in quarantine and passes `condition`: by standing, then by
    /// the route's order.
    private func best(
        for ask: PoolRequest,
        at now: MonotonicTime,
        where condition: (PooledProvider) -> Bool = { _ in true }
    ) -> Int? {
        let candidates = ask.remaining.enumerated().compactMap { position, number -> Candidate? in
            let member = members[number]
            let standing = member.health.standing(at: now)
            guard standing != .quarantined, condition(member) else { return nil }
            let mean = ask.poolAttempt.order == .fastest ? member.health.latency.knownMean(at: now) : .zero
            return Candidate(number: number, standing: standing, mean: mean, position: position)
        }
        if ask.explores, let unknown = candidates.first(where: { $0.standing == .healthy && $0.mean == nil }) {
            return unknown.number
        }
        return candidates.min()?.number
    }

    /// Returns the remaining provider whose quarantine ends first, without those that asked for theirs.
    private func lastResort(for ask: PoolRequest, at now: MonotonicTime) -> Int? {
        guard ask.batch == nil, !ask.hadLastResort else { return nil }
        // An unresponsive provider is not queried to confirm the answer of a healthy one, unless that one had addresses for
        // this name before.
        if ask.tentative != nil, !ask.poolAttempt.wantsSecondOpinion, !ask.poolAttempt.hadAddresses { return nil }
        let resting = ask.remaining.filter { number in
            guard let rest = members[number].health.rest else { return false }
            return !rest.isRequested || now >= rest.until
        }
        return resting.min { left, right in
            guard let left = members[left].health.rest, let right = members[right].health.rest else { return false }
            return left.until < right.until
        }
    }

    private struct Candidate: Comparable {
        var number: Int
        var standing: MemberHealth.Standing
        /// The mean latency. Nil when it is not known; such providers are last.
        var mean: Duration?
        var position: Int

        static func < (left: Candidate, right: Candidate) -> Bool {
            if left.standing != right.standing { return left.standing < right.standing }
            switch (left.mean, right.mean) {
            case (let left?, let right?) where left != right: return left < right
            case (.some, nil): return true
            case (nil, .some): return false
            default: return left.position < right.position
            }
        }
    }
}

/// The end of requests.
extension PoolSelector {
    /// Ends a request that has no provider left to query or to wait for.
    mutating func conclude(exhausted id: PoolRequest.ID, at now: MonotonicTime, _ actions: inout [Action]) {
        guard let ask = asks[id] else { return }
        if var answer = ask.tentative {
            answer.failedAttempts = ask.failedAttempts
            answer.isUnconfirmed = isUnconfirmed(ask)
            answer.isConfirmed = ask.negatives.count > 1
            finish(id, .outcome(.answered(answer)), at: now, &actions)
            return
        }
        let unasked = ask.remaining.map { self.unasked($0, at: now) }
        let outcome = ProviderPool.Outcome.failed(
            ask.failedAttempts + unasked,
            isTimeout: now >= ask.poolAttempt.deadline,
            retryAfter: requestedRestEnd(ask.poolAttempt.providers, at: now)
        )
        finish(id, .outcome(outcome), at: now, &actions)
    }

    /// Ends a request at its deadline.
    mutating func giveUp(_ id: PoolRequest.ID, at now: MonotonicTime, _ actions: inout [Action]) {
        guard let ask = asks[id] else { return }
        for query in ask.pending.compactMap({ queries[$0] }) {
            let member = members[query.member]
            let failure =
                query.sentAt == nil
                ? "not asked: all its \(member.maximumInFlight) places were taken by other queries" : "no answer"
            let elapsed = now - (query.sentAt ?? query.startedAt)
            asks[id]?.failedAttempts.append(member.attempt(failure, elapsed: elapsed))
        }
        conclude(exhausted: id, at: now, &actions)
    }

    /// Delivers the outcome. Sent queries continue, so that their latency or failure is known; the others are not sent.
    mutating func finish(_ id: PoolRequest.ID, _ ending: Ending, at now: MonotonicTime, _ actions: inout [Action]) {
        guard let ask = asks.removeValue(forKey: id) else { return }
        for query in ask.pending {
            if queries[query]?.sentAt == nil { unqueue(query) } else { queries[query]?.ask = nil }
        }
        actions.append(.finish(id, ending))
        if let number = ask.confirms { release(number, at: now, &actions) }
    }

    func unasked(_ number: Int, at now: MonotonicTime) -> HTTPDNSResolver.ProviderAttempt {
        members[number].attempt(reasonNotToAsk(number, at: now))
    }

    mutating func unqueue(_ id: PoolQuery.ID) {
        guard let query = queries.removeValue(forKey: id) else { return }
        members[query.member].leaveQueue(id)
        if query.isBudgetedHedge { hedgeBudget.giveBack() }
    }

    private func reasonNotToAsk(_ number: Int, at now: MonotonicTime) -> String {
        guard let rest = members[number].health.rest, now < rest.until else { return "not asked: no time was left" }
        let left = (rest.until - now).shortText
        return rest.isRequested
            ? "not asked: it wants no queries for another \(left) (\(rest.why))"
            : "not asked: in quarantine for another \(left) (\(rest.why))"
    }

    /// Returns the earliest time at which one of them may be queried again; nil if one of them may be now.
    private func requestedRestEnd(_ providers: [String], at now: MonotonicTime) -> MonotonicTime? {
        var end: MonotonicTime?
        for number in providers.compactMap({ numbers[$0] }) {
            guard let rest = members[number].health.rest, rest.isRequested, now < rest.until else { return nil }
            end = min(end ?? rest.until, rest.until)
        }
        return end
    }
}

/// The reliability of a route's providers at a moment.
enum ProviderReliance: Sendable, Equatable {
    /// At least one of them answers, as far as is known.
    case healthy
    /// The answers of the available providers are overdue. The value is the time to wait for another answer.
    case suspect(Duration)
    /// All of them are in quarantine or being probed, or have used up their budgets.
    case none
}

extension PoolSelector {
    func reliance(on providers: [String], at now: MonotonicTime) -> ProviderReliance {
        var delay: Duration?
        for number in providers.compactMap({ numbers[$0] }) where members[number].hasBudget(at: now) {
            let health = members[number].health
            switch health.standing(at: now) {
            case .healthy: return .healthy
            case .suspect: delay = max(delay ?? .zero, health.hedgeDelay)
            case .probeDue, .quarantined: continue
            }
        }
        return delay.map(ProviderReliance.suspect) ?? .none
    }

    /// Returns the reason that each of these providers has no answer, where they are not waited for.
    func attempts(
        withoutAnswerFrom providers: [String],
        since start: MonotonicTime,
        at now: MonotonicTime
    ) -> [HTTPDNSResolver.ProviderAttempt] {
        providers.compactMap { numbers[$0] }.map { number in
            let member = members[number]
            if let rest = member.health.rest {
                if now < rest.until { return unasked(number, at: now) }
                return member.attempt("not waited for: it is tried again after a quarantine (\(rest.why))")
            }
            guard member.hasBudget(at: now) else { return member.attempt("not asked: over its budget") }
            return member.attempt("no answer", elapsed: now - start)
        }
    }
}
