// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The pool of a resolver's providers: the best one is queried first, the next one as soon as that one fails or is late,
/// unresponsive ones last.
///
/// - A definite answer ends a request: addresses, "no such name" or "no addresses". The first one wins. A losing query
///   continues within its own limit, without waiters, so that its latency or failure counts for the provider's health.
/// - All state is in ``PoolSelector``. This class runs the tasks that send queries, and watches the clock.
final class ProviderPool: Sendable {
    /// A request to the pool.
    struct PoolAttempt: Sendable {
        /// The providers that may be queried, in the order of the route.
        var providers: [String]
        var order: HTTPDNSRoute.Order = .given
        /// Whether other providers are queried before a negative answer is accepted.
        var wantsSecondOpinion = false
        /// Whether the name had addresses within the stale limit: then a negative answer of one provider is not final.
        var hadAddresses = false
        /// A provider's negative answer from a batch, which only the other providers are to confirm.
        var denial: Answer?
        /// The query. Its time limit is set for each provider.
        var query: HTTPDNSProviderQuery
        /// The deadline of the answer.
        var deadline: MonotonicTime
        /// The time until which the request waits for a slot past its deadline while its provider answers others. The time up
        /// to the deadline then counts from the sending on, because a wait for a slot is no slowness of the provider.
        var patientUntil: MonotonicTime?
        /// The calls that want the answer; nil when it is of use until the deadline.
        var demand: LookupDemand?
        /// Whether a name of a batch is still to be asked for when it is sent.
        var isWanted: @Sendable (HTTPDNSName) -> Bool = { _ in true }
        /// The address policy for the answers; nil accepts all addresses.
        var screen: AnswerScreen?
    }

    /// A definite answer.
    struct Answer: Sendable {
        var answer: HTTPDNSProviderAnswer
        /// The outcome over all families.
        var outcome: HTTPDNSProviderAnswer.Family
        var provider: any HTTPDNSProvider
        /// The time the query was sent.
        var sentAt: MonotonicTime
        /// The providers that failed before.
        var failedAttempts: [HTTPDNSResolver.ProviderAttempt]
        /// Whether it is negative, and only one provider among several has given it.
        var isUnconfirmed = false
        /// Whether it is negative, and two providers have given it.
        var isConfirmed = false
    }

    enum Outcome: Sendable {
        case answered(Answer)
        /// No provider had a definite answer.
        /// - `isTimeout`: The deadline has passed.
        /// - `retryAfter`: The time until which all providers of the request asked for a pause.
        case failed([HTTPDNSResolver.ProviderAttempt], isTimeout: Bool, retryAfter: MonotonicTime?)
        /// The calling task was canceled, or the pool shut down.
        case canceled
    }

    /// One in so many requests begins with a provider of unknown latency, where the order is `fastest`.
    static let explorationInterval: UInt64 = 20

    private struct Tasks: Sendable {
        var work: Task<Void, Never>
        var timer: Alarm
    }

    private struct Guarded: Sendable {
        var pool: PoolSelector
        var waiters: [PoolRequest.ID: OneShot<PoolSelector.Ending>] = [:]
        var alarms: [PoolRequest.ID: (at: MonotonicTime, alarm: Alarm?)] = [:]
        var running: [PoolQuery.ID: Tasks] = [:]
    }

    /// The work after the lock is released.
    private enum Effect: Sendable {
        case send(PoolQuery, limit: Duration, to: any HTTPDNSProvider)
        case cancel(Task<Void, Never>)
        case cancelAlarm(Alarm)
        case setAlarm(PoolRequest.ID, MonotonicTime)
        case deliver(OneShot<PoolSelector.Ending>, PoolSelector.Ending)
        case report(AttemptReport)
    }

    let timeSource: any TimeSource
    private let random: @Sendable (UInt64) -> UInt64
    private let onSending: @Sendable (PoolQuery, any HTTPDNSProvider) -> Void
    private let onAttempt: @Sendable (AttemptReport) -> Void
    private let guarded: Lock<Guarded>
    /// The name collections of providers that accept several names in one query.
    let gatherings: [String: NameGathering]
    /// The leases that keep the providers running for as long as this pool may query them.
    private let leases: [ProviderLease]

    /// - Parameters:
    ///   - limits: The query limits of each provider, by its name.
    ///   - previous: The previous pool, from which providers are taken over with their health.
    ///   - hedgeAfter: The minimum time after which the next provider is queried as well.
    ///   - attemptLimit: The maximum time of one query.
    ///   - gatheringTime: The clock for names that wait for others of the same query.
    ///   - random: A function that returns a uniform random number below its argument.
    ///   - onSending: Called for each query, outside of all locks and before it is sent.
    ///   - onAttempt: Called for each query that ended, outside of all locks.
    init(
        _ leases: [ProviderLease],
        replacing previous: ProviderPool? = nil,
        limits: [String: HTTPDNSResolver.Configuration.ProviderLimits] = [:],
        hedgeAfter: Duration,
        attemptLimit: Duration,
        timeSource: any TimeSource,
        gatheringTime: any TimeSource = SystemTimeSource(),
        random: @escaping @Sendable (UInt64) -> UInt64,
        onSending: @escaping @Sendable (PoolQuery, any HTTPDNSProvider) -> Void = { _, _ in },
        onAttempt: @escaping @Sendable (AttemptReport) -> Void = { _ in }
    ) {
        let now = timeSource.now()
        let known = previous?.guarded.withLock { $0.pool.members } ?? []
        let members = leases.map { lease -> PooledProvider in
            let provider = lease.provider
            let limits = limits[provider.name] ?? HTTPDNSResolver.Configuration.ProviderLimits()
            if let previous, previous.leases.contains(where: { $0 === lease }),
                let member = known.first(where: { $0.name == provider.name })
            {
                return member.carriedOver(limits: limits, hedgeAfter: hedgeAfter, attemptLimit: attemptLimit, at: now)
            }
            return PooledProvider(provider, limits: limits, hedgeAfter: hedgeAfter, attemptLimit: attemptLimit, at: now)
        }
        self.leases = leases
        self.timeSource = timeSource
        self.random = random
        self.onSending = onSending
        self.onAttempt = onAttempt
        let providers = leases.map(\.provider).filter { $0.batchLimit > 1 }
        gatherings = Dictionary(
            providers.map { ($0.name, NameGathering($0, timeSource: gatheringTime)) },
            uniquingKeysWith: { first, _ in first }
        )
        guarded = Lock(Guarded(pool: PoolSelector(members, attemptLimit: attemptLimit)))
    }

    /// Queries providers until there is a definite answer.
    ///
    /// It returns by the deadline, and immediately when the task is canceled, which also cancels its queries without other
    /// waiters.
    func ask(_ poolAttempt: PoolAttempt) async -> Outcome {
        if Task.isCancelled { return .canceled }
        return await outcome(of: begin(poolAttempt))
    }

    /// Returns the outcome of a request for one name.
    func outcome(of question: Question) async -> Outcome {
        switch await ending(of: question) {
        case .outcome(let outcome): return outcome
        case .batch: return .failed([], isTimeout: false, retryAfter: nil)
        }
    }

    /// Returns whether one of them is neither in quarantine nor out of budget. If not, a stale answer should be served
    /// immediately.
    func mayAsk(_ providers: [String]) -> Bool { read { $0.mayAsk(providers, at: $1) } }

    /// Returns whether a provider's negative answers are final without answers of the other providers.
    func trustsNegatives(of provider: String, among providers: [String]) -> Bool {
        read { pool, _ in pool.trustsNegatives(of: provider, among: providers) }
    }

    /// Sends one query to each provider whose quarantine is over and that has received no query since. No request waits for
    /// it.
    func probe(_ poolAttempt: PoolAttempt) { update { $0.probe(poolAttempt, at: $1) } }

    /// Returns the present reliability of these providers.
    func reliance(on providers: [String]) -> ProviderReliance { read { $0.reliance(on: providers, at: $1) } }

    /// Returns the reason that each of these providers has no answer, where they are not waited for.
    func attempts(withoutAnswerFrom providers: [String], since start: MonotonicTime) -> [HTTPDNSResolver
        .ProviderAttempt]
    {
        read { $0.attempts(withoutAnswerFrom: providers, since: start, at: $1) }
    }

    /// Ends the quarantine of these providers.
    func endRests(of providers: [String]) {
        guard !providers.isEmpty else { return }
        guarded.withLock { guarded in
            for number in providers.compactMap({ guarded.pool.numbers[$0] }) {
                guarded.pool.members[number].health.endRest()
            }
        }
    }

    /// The health of each provider, in the given order.
    var health: [HTTPDNSResolver.Status.Provider] { read { pool, now in pool.members.map { $0.report(at: now) } } }

    /// Cancels all requests and all queries. It does not shut the providers down. Idempotent.
    func shutdown() { update { $0.shutdown(at: $1) } }

    // MARK: Requests

    /// A request that the pool processes.
    struct Question: Sendable {
        fileprivate let id: PoolRequest.ID
        fileprivate let waiter: OneShot<PoolSelector.Ending>
    }

    /// Sends the first query of a request. Each call must be followed by one call of ``ending(of:)``.
    func begin(_ poolAttempt: PoolAttempt, batch: [HTTPDNSName]? = nil) -> Question {
        let explores =
            poolAttempt.order == .fastest
            && random(ProviderPool.explorationInterval) == ProviderPool.explorationInterval - 1
        let waiter = OneShot<PoolSelector.Ending>()
        let now = timeSource.now()
        let (id, effects): (PoolRequest.ID, [Effect]) = guarded.withLock { guarded in
            let (id, actions) = guarded.pool.begin(poolAttempt, batch: batch, explores: explores, at: now)
            guarded.waiters[id] = waiter
            return (id, ProviderPool.effects(of: actions, &guarded))
        }
        run(effects)
        return Question(id: id, waiter: waiter)
    }

    /// Waits for the end of a request. The cancellation of the calling task ends it too.
    func ending(of question: Question) async -> PoolSelector.Ending {
        await withTaskCancellationHandler {
            await question.waiter.value()
        } onCancel: {
            leave(question)
        }
    }

    /// Ends a request and its queries.
    func leave(_ question: Question) { update { $0.leave(question.id, at: $1) } }

    /// Ends a request whose answer is not needed any more. Sent queries continue, so that their latency or failure is known;
    /// no further provider is queried.
    func settle(_ question: Question) { update { $0.settle(question.id, at: $1) } }

    func ending(_ poolAttempt: PoolAttempt, batch: [HTTPDNSName]?) async -> PoolSelector.Ending {
        if Task.isCancelled { return .outcome(.canceled) }
        return await ending(of: begin(poolAttempt, batch: batch))
    }

    /// Returns the provider that would be queried first, if it is not in quarantine.
    func first(for poolAttempt: PoolAttempt) -> (any HTTPDNSProvider)? { read { $0.first(for: poolAttempt, at: $1) } }

    private func read<Value: Sendable>(_ body: (PoolSelector, MonotonicTime) -> Value) -> Value {
        let now = timeSource.now()
        return guarded.withLock { body($0.pool, now) }
    }

    /// - Parameters:
    ///   - woken: The request whose alarm has gone off.
    ///   - ended: The query whose task has ended.
    private func update(
        waking woken: (ask: PoolRequest.ID, at: MonotonicTime)? = nil,
        ending ended: PoolQuery.ID? = nil,
        _ change: @Sendable (inout PoolSelector, MonotonicTime) -> [PoolSelector.Action]
    ) {
        let now = timeSource.now()
        let (effects, timer): ([Effect], Alarm?) = guarded.withLock { guarded in
            // The request may have another alarm by now, which has not gone off.
            if let woken, guarded.alarms[woken.ask]?.at == woken.at { guarded.alarms[woken.ask] = nil }
            let tasks = ended.flatMap { guarded.running.removeValue(forKey: $0) }
            let actions = change(&guarded.pool, now)
            return (ProviderPool.effects(of: actions, &guarded), tasks?.timer)
        }
        timer?.cancel()
        run(effects)
    }

    private static func effects(of actions: [PoolSelector.Action], _ guarded: inout Guarded) -> [Effect] {
        var effects: [Effect] = []
        for action in actions {
            switch action {
            case .send(let query, let limit):
                effects.append(.send(query, limit: limit, to: guarded.pool.members[query.member].provider))
            case .cancel(let query):
                if let tasks = guarded.running[query] { effects.append(.cancel(tasks.work)) }
            case .wake(let ask, let time):
                guard guarded.pool.asks[ask]?.wakeAt == time, guarded.alarms[ask]?.at != time else { break }
                if let old = guarded.alarms[ask]?.alarm { effects.append(.cancelAlarm(old)) }
                guarded.alarms[ask] = (time, nil)
                effects.append(.setAlarm(ask, time))
            case .finish(let ask, let ending):
                if let old = guarded.alarms.removeValue(forKey: ask)?.alarm { effects.append(.cancelAlarm(old)) }
                if let waiter = guarded.waiters.removeValue(forKey: ask) { effects.append(.deliver(waiter, ending)) }
            case .report(let report):
                effects.append(.report(report))
            }
        }
        return effects
    }

    private func run(_ effects: [Effect]) {
        for effect in effects {
            switch effect {
            case .send(let query, let limit, let provider):
                onSending(query, provider)
                send(query, limit: limit, to: provider)
            case .cancel(let task): task.cancel()
            case .cancelAlarm(let alarm): alarm.cancel()
            case .setAlarm(let ask, let time): setAlarm(ask, time)
            case .deliver(let waiter, let ending): waiter.deliver(ending)
            case .report(let report): onAttempt(report)
            }
        }
    }

    // MARK: Tasks

    private func setAlarm(_ ask: PoolRequest.ID, _ time: MonotonicTime) {
        let alarm = timeSource.alarm(at: time) { [self] in
            // What it leads to may call code of users: the logger's.
            CallWork.detached { self.update(waking: (ask, time)) { $0.wake(ask, at: $1) } }
            return nil
        }
        // The request may have ended, or set another alarm, since the lock was released.
        let isCurrent = guarded.withLock { guarded in
            guard guarded.alarms[ask]?.at == time, guarded.alarms[ask]?.alarm == nil else { return false }
            guarded.alarms[ask]?.alarm = alarm
            return true
        }
        if !isCurrent { alarm.cancel() }
    }

    private func send(_ query: PoolQuery, limit: Duration, to provider: any HTTPDNSProvider) {
        // A detached task, because the work belongs to the pool and may outlive the first caller: task-local values of that
        // caller must not be visible in it.
        let work = CallWork.detached { [self] in
            let result = await result(of: query, at: provider)
            let jitter = random(MemberHealth.jitterSteps)
            update(ending: query.id) { $0.returned(query.id, result, jitter: jitter, at: $1) }
        }
        let sentAt = query.sentAt ?? query.startedAt
        let end = sentAt + limit
        let timer = timeSource.alarm(at: min(sentAt + MemberHealth.leastPlaceTime, end)) { [self] in
            check(query.id, until: end)
        }
        let tasks = Tasks(work: work, timer: timer)
        // The query may have returned, or been abandoned, since the lock was released.
        let current: PoolQuery? = guarded.withLock { guarded in
            let current = guarded.pool.queries[query.id]
            if current != nil { guarded.running[query.id] = tasks }
            return current
        }
        if current == nil { timer.cancel() }
        if current?.isEnded ?? true { work.cancel() }
    }

    /// Takes the next step with a query that has no result yet.
    /// - Parameter end: The end of its limit.
    /// - Returns: The time of the next step.
    private func check(_ id: PoolQuery.ID, until end: MonotonicTime) -> MonotonicTime? {
        let jitter = random(MemberHealth.jitterSteps)
        let now = timeSource.now()
        let (next, effects): (MonotonicTime?, [Effect]) = guarded.withLock { guarded in
            let (next, actions) = guarded.pool.check(id, until: end, jitter: jitter, at: now)
            let effects = ProviderPool.effects(of: actions, &guarded)
            if next == nil { guarded.running[id] = nil }
            return (next, effects)
        }
        if !effects.isEmpty { CallWork.detached { self.run(effects) } }
        return next
    }

    private func result(of query: PoolQuery, at provider: any HTTPDNSProvider) async -> PoolQuery.Result {
        // On a busy machine a query may be abandoned before its task begins.
        if Task.isCancelled { return .unsent }
        do {
            if let batch = query.batch {
                let wanted = batch.filter(query.isWanted)
                guard let first = wanted.first else { return .unsent }
                var question = query.question
                question.host = first
                // The reports are about those that were asked for.
                guarded.withLock { [question] guarded in
                    guarded.pool.queries[query.id]?.batch = wanted
                    guarded.pool.queries[query.id]?.question = question
                }
                return .answeredBatch(try await provider.resolve(question, batch: wanted))
            }
            guard let gathering = gatherings[provider.name] else {
                return .answered(try await provider.resolve(query.question))
            }
            let isNeeded: @Sendable () -> Bool = { self.guarded.withLock { $0.pool.queries[query.id]?.ask != nil } }
            let answer = try await gathering.answer(to: query.question, isNeeded: isNeeded) {
                guarded.withLock { $0.pool.members[query.member].giveBackQuery() }
            }
            return .answered(answer)
        } catch is CancellationError {
            return .canceled
        } catch let error as HTTPDNSProviderError {
            return .failed(error)
        } catch {
            return .failed(HTTPDNSProviderError(code: .badResponse, message: "\(error)"))
        }
    }
}
