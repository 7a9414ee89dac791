internal import HTTPDNSPrimitives

/// The providers of a resolver, asked as a team: the best one first, the next one as soon as that one fails or is late, the
/// dead ones last.
///
/// - A definite answer ends the question: addresses, "no such name" or "no addresses". The first one wins; a query that
///   lost goes on within its own limit, so that its latency or failure is learnt, and nobody waits for it.
/// - All bookkeeping is in ``TeamState``. This class keeps the tasks that send queries and watch the clock.
final class ProviderTeam: Sendable {
    /// A question to the team.
    struct Assignment: Sendable {
        /// The providers that may be asked, in the order of the route.
        var providers: [String]
        var order: HTTPDNSRoute.Order = .given
        /// Whether others are asked before a negative answer is believed.
        var wantsSecondOpinion = false
        /// Whether the name had addresses within the stale limit: then a negative answer of one provider is not final.
        var hadAddresses = false
        /// A provider's negative answer in a batch, which is put to the other providers alone.
        var denial: Answer?
        /// What is asked. Its time limit is set for each query.
        var query: HTTPDNSProviderQuery
        /// When the answer must be there.
        var deadline: MonotonicTime
    }

    /// A definite answer.
    struct Answer: Sendable {
        var answer: HTTPDNSProviderAnswer
        var reading: AnswerReading
        var provider: any HTTPDNSProvider
        /// When the query was sent.
        var sentAt: MonotonicTime
        /// Who failed before.
        var failedAttempts: [HTTPDNSResolver.ProviderAttempt]
        /// Whether it is negative, and nothing speaks for it but the word of one provider among several.
        var isUnconfirmed = false
    }

    enum Outcome: Sendable {
        case answered(Answer)
        /// Nobody had a definite answer.
        /// - `isTimeout`: The deadline has passed.
        /// - `retryAfter`: Until then all providers of the assignment want to be left alone.
        case failed([HTTPDNSResolver.ProviderAttempt], isTimeout: Bool, retryAfter: MonotonicTime?)
        /// The calling task was cancelled, or the team shut down.
        case cancelled
    }

    /// One in so many questions begins with a provider whose latency is not known, where the fastest is looked for.
    static let explorationInterval: UInt64 = 20

    /// How long a provider may take to let go of a query that is over. Then its place is given to another one: a provider
    /// that listens to nothing must not stop all queries for good.
    static let patience = Duration.seconds(1)

    private struct Tasks: Sendable {
        var work: Task<Void, Never>
        var timer: Task<Void, Never>
    }

    private struct Guarded: Sendable {
        var team: TeamState
        var waiters: [TeamAsk.ID: OneShot<TeamState.Ending>] = [:]
        var alarms: [TeamAsk.ID: (at: MonotonicTime, task: Task<Void, Never>?)] = [:]
        var running: [TeamQuery.ID: Tasks] = [:]
    }

    /// What is done after the lock is let go.
    private enum Effect: Sendable {
        case send(TeamQuery, limit: Duration, to: any HTTPDNSProvider)
        case cancel(Task<Void, Never>)
        case setAlarm(TeamAsk.ID, MonotonicTime)
        case deliver(OneShot<TeamState.Ending>, TeamState.Ending)
        case report(AttemptReport)
    }

    let timeSource: any TimeSource
    private let random: @Sendable (UInt64) -> UInt64
    private let onSending: @Sendable (QuerySending) -> Void
    private let onAttempt: @Sendable (AttemptReport) -> Void
    private let guarded: Lock<Guarded>
    /// For the providers that take several names in one query.
    let gatherings: [String: NameGathering]
    /// Keeps the providers from being shut down for as long as this team may ask them.
    private let leases: [ProviderLease]

    /// - Parameters:
    ///   - limits: How much each provider may be asked, by its name.
    ///   - previous: The team before, from which members are taken over with their health.
    ///   - hedgeAfter: The least time after which the next provider is asked as well.
    ///   - attemptLimit: The most that one query may take.
    ///   - gatheringTime: The clock by which names wait for others that go into the same query.
    ///   - random: A number below its argument.
    ///   - onSending: Told about each query that is sent, outside of all locks and before it is.
    ///   - onAttempt: Told about each query that came to an end, outside of all locks.
    init(
        _ leases: [ProviderLease],
        replacing previous: ProviderTeam? = nil,
        limits: [String: HTTPDNSResolver.Configuration.ProviderLimits] = [:],
        hedgeAfter: Duration,
        attemptLimit: Duration,
        timeSource: any TimeSource,
        gatheringTime: any TimeSource = SystemTimeSource(),
        random: @escaping @Sendable (UInt64) -> UInt64,
        onSending: @escaping @Sendable (QuerySending) -> Void = { _ in },
        onAttempt: @escaping @Sendable (AttemptReport) -> Void = { _ in }
    ) {
        let now = timeSource.now()
        let known = previous?.guarded.withLock { $0.team.members } ?? []
        let members = leases.map { lease -> TeamMember in
            let provider = lease.provider
            let limits = limits[provider.name] ?? HTTPDNSResolver.Configuration.ProviderLimits()
            if let previous, previous.leases.contains(where: { $0 === lease }),
                let member = known.first(where: { $0.name == provider.name })
            {
                return member.carriedOver(limits: limits, hedgeAfter: hedgeAfter, attemptLimit: attemptLimit, at: now)
            }
            return TeamMember(provider, limits: limits, hedgeAfter: hedgeAfter, attemptLimit: attemptLimit, at: now)
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
        guarded = Lock(Guarded(team: TeamState(members, attemptLimit: attemptLimit)))
    }

    /// Asks until there is a definite answer. It returns by the deadline, and at once when the task is cancelled, which also
    /// ends the queries that it had sent and nobody else waits for.
    func ask(_ assignment: Assignment) async -> Outcome {
        if Task.isCancelled { return .cancelled }
        return await outcome(of: begin(assignment))
    }

    /// The outcome of a question about one name.
    func outcome(of question: Question) async -> Outcome {
        switch await ending(of: question) {
        case .outcome(let outcome): return outcome
        case .batch: return .failed([], isTimeout: false, retryAfter: nil)
        }
    }

    /// Whether one of them neither rests nor has used up its budget. If not, a stale answer should serve at once.
    func mayAsk(_ providers: [String]) -> Bool {
        let now = timeSource.now()
        return guarded.withLock { $0.team.mayAsk(providers, at: now) }
    }

    /// Whether a provider's negative answers are final without a look at what the other providers say.
    func trustsNegatives(of provider: String, among providers: [String]) -> Bool {
        guarded.withLock { $0.team.trustsNegatives(of: provider, among: providers) }
    }

    /// Sends one query to each provider whose quarantine is over and that nothing was sent to since. Nobody waits for it.
    func probe(_ assignment: Assignment) {
        let now = timeSource.now()
        update { $0.probe(assignment, at: now) }
    }

    /// The reliance on these providers now.
    func reliance(on providers: [String]) -> ProviderReliance {
        let now = timeSource.now()
        return guarded.withLock { $0.team.reliance(on: providers, at: now) }
    }

    /// Why each of these providers has no answer, where they are not waited for.
    func attempts(withoutAnswerFrom providers: [String], since start: MonotonicTime) -> [HTTPDNSResolver
        .ProviderAttempt]
    {
        let now = timeSource.now()
        return guarded.withLock { $0.team.attempts(withoutAnswerFrom: providers, since: start, at: now) }
    }

    /// Lets providers be asked in their turn that are in quarantine.
    func endRests(of providers: [String]) {
        guard !providers.isEmpty else { return }
        guarded.withLock { guarded in
            for number in providers.compactMap({ guarded.team.numbers[$0] }) {
                guarded.team.members[number].health.endRest()
            }
        }
    }

    /// How each provider does, in the order in which they were given.
    var health: [HTTPDNSResolver.Status.Provider] {
        let now = timeSource.now()
        return guarded.withLock { $0.team.members.map { $0.report(at: now) } }
    }

    /// Ends all questions as cancelled, and all queries. It does not shut the providers down. Idempotent.
    func shutdown() {
        let now = timeSource.now()
        update { $0.shutdown(at: now) }
    }

    // MARK: Questions

    /// A question that was put to the team.
    struct Question: Sendable {
        fileprivate let id: TeamAsk.ID
        fileprivate let waiter: OneShot<TeamState.Ending>
    }

    /// Sends the first query of a question. Each call must be followed by one call of ``ending(of:)``.
    func begin(_ assignment: Assignment, batch: [HTTPDNSName]? = nil) -> Question {
        let explores =
            assignment.order == .fastest
            && random(ProviderTeam.explorationInterval) == ProviderTeam.explorationInterval - 1
        let waiter = OneShot<TeamState.Ending>()
        let now = timeSource.now()
        let (id, effects): (TeamAsk.ID, [Effect]) = guarded.withLock { guarded in
            let (id, actions) = guarded.team.begin(assignment, batch: batch, explores: explores, at: now)
            guarded.waiters[id] = waiter
            return (id, ProviderTeam.effects(of: actions, &guarded))
        }
        run(effects)
        return Question(id: id, waiter: waiter)
    }

    /// Waits for the end of a question, which the end of the calling task is, too.
    func ending(of question: Question) async -> TeamState.Ending {
        await withTaskCancellationHandler {
            await question.waiter.value()
        } onCancel: {
            let now = timeSource.now()
            update { $0.leave(question.id, at: now) }
        }
    }

    func ending(_ assignment: Assignment, batch: [HTTPDNSName]?) async -> TeamState.Ending {
        if Task.isCancelled { return .outcome(.cancelled) }
        return await ending(of: begin(assignment, batch: batch))
    }

    /// The provider that would be asked first, if it is not resting.
    func first(for assignment: Assignment) -> (any HTTPDNSProvider)? {
        let now = timeSource.now()
        return guarded.withLock { $0.team.first(for: assignment, at: now) }
    }

    /// - Parameters:
    ///   - woken: The question whose alarm has gone off.
    ///   - ended: The query whose tasks are done with.
    private func update(
        waking woken: (ask: TeamAsk.ID, at: MonotonicTime)? = nil,
        ending ended: TeamQuery.ID? = nil,
        _ change: @Sendable (inout TeamState) -> [TeamState.Action]
    ) {
        let (effects, timer): ([Effect], Task<Void, Never>?) = guarded.withLock { guarded in
            // The question may have another alarm by now, which is not the one that went off.
            if let woken, guarded.alarms[woken.ask]?.at == woken.at { guarded.alarms[woken.ask] = nil }
            let tasks = ended.flatMap { guarded.running.removeValue(forKey: $0) }
            let actions = change(&guarded.team)
            return (ProviderTeam.effects(of: actions, &guarded), tasks?.timer)
        }
        timer?.cancel()
        run(effects)
    }

    private static func effects(of actions: [TeamState.Action], _ guarded: inout Guarded) -> [Effect] {
        var effects: [Effect] = []
        for action in actions {
            switch action {
            case .send(let query, let limit):
                effects.append(.send(query, limit: limit, to: guarded.team.members[query.member].provider))
            case .cancel(let query):
                if let tasks = guarded.running[query] { effects.append(.cancel(tasks.work)) }
            case .wake(let ask, let time):
                guard guarded.team.asks[ask]?.wakeAt == time, guarded.alarms[ask]?.at != time else { break }
                if let old = guarded.alarms[ask]?.task { effects.append(.cancel(old)) }
                guarded.alarms[ask] = (time, nil)
                effects.append(.setAlarm(ask, time))
            case .finish(let ask, let ending):
                if let old = guarded.alarms.removeValue(forKey: ask)?.task { effects.append(.cancel(old)) }
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
                onSending(
                    QuerySending(
                        provider: provider.name,
                        isHedge: query.purpose == .hedge,
                        isProbe: query.isProbe
                    )
                )
                send(query, limit: limit, to: provider)
            case .cancel(let task): task.cancel()
            case .setAlarm(let ask, let time): setAlarm(ask, time)
            case .deliver(let waiter, let ending): waiter.deliver(ending)
            case .report(let report): onAttempt(report)
            }
        }
    }

    // MARK: Tasks

    private func setAlarm(_ ask: TeamAsk.ID, _ time: MonotonicTime) {
        let task = CallWork.detached { [self] in
            guard (try? await timeSource.sleep(until: time)) != nil else { return }
            let now = timeSource.now()
            update(waking: (ask, time)) { $0.wake(ask, at: now) }
        }
        // The question may have ended, or gone on to another time, since the lock was let go.
        let isCurrent = guarded.withLock { guarded in
            guard guarded.alarms[ask]?.at == time, guarded.alarms[ask]?.task == nil else { return false }
            guarded.alarms[ask]?.task = task
            return true
        }
        if !isCurrent { task.cancel() }
    }

    private func send(_ query: TeamQuery, limit: Duration, to provider: any HTTPDNSProvider) {
        // Detached, because the work is the team's and may outlive who asked first: task-local values of that one have no
        // place in it.
        let work = CallWork.detached { [self] in
            let result = await result(of: query, at: provider)
            let jitter = random(MemberHealth.jitterSteps)
            let now = timeSource.now()
            update(ending: query.id) { $0.returned(query.id, result, jitter: jitter, at: now) }
        }
        let sentAt = query.sentAt ?? query.startedAt
        let timer = CallWork.detached { [self] in
            let end = sentAt + limit
            var check = sentAt + MemberHealth.leastPlaceTime
            while check < end {
                guard (try? await timeSource.sleep(until: check)) != nil else { return }
                if makeRoom(query.id) { break }
                check = check + MemberHealth.leastPlaceTime
            }
            guard (try? await timeSource.sleep(until: min(check, end))) != nil else { return }
            let jitter = random(MemberHealth.jitterSteps)
            let expiredAt = timeSource.now()
            update { $0.expired(query.id, jitter: jitter, at: expiredAt) }
            // A provider that keeps its contract comes back now. One that does not keeps its place a while longer.
            guard (try? await timeSource.sleep(until: min(check, end) + ProviderTeam.patience)) != nil else { return }
            let now = timeSource.now()
            update(ending: query.id) { $0.abandon(query.id, at: now) }
        }
        let tasks = Tasks(work: work, timer: timer)
        // It may have come back, or been given up, since the lock was let go.
        let current: TeamQuery? = guarded.withLock { guarded in
            let current = guarded.team.queries[query.id]
            if current != nil { guarded.running[query.id] = tasks }
            return current
        }
        if current == nil { timer.cancel() }
        if current?.isEnded ?? true { work.cancel() }
    }

    /// Ends a query that keeps its place from others for too long.
    /// - Returns: Whether it did.
    private func makeRoom(_ id: TeamQuery.ID) -> Bool {
        let now = timeSource.now()
        let effects: [Effect]? = guarded.withLock { guarded in
            guarded.team.makeRoom(id, at: now).map { ProviderTeam.effects(of: $0, &guarded) }
        }
        run(effects ?? [])
        return effects != nil
    }

    private func result(of query: TeamQuery, at provider: any HTTPDNSProvider) async -> TeamQuery.Result {
        // On a busy machine a query may be given up before its task begins.
        if Task.isCancelled { return .cancelled }
        do {
            if let batch = query.batch {
                return .answeredBatch(try await provider.resolve(query.question, batch: batch))
            }
            guard let gathering = gatherings[provider.name] else {
                return .answered(try await provider.resolve(query.question))
            }
            let answer = try await gathering.answer(to: query.question) {
                guarded.withLock { $0.team.members[query.member].shareQuery() }
            }
            return .answered(answer)
        } catch is CancellationError {
            return .cancelled
        } catch let error as HTTPDNSProviderError {
            return .failed(error)
        } catch {
            return .failed(HTTPDNSProviderError(code: .badResponse, message: "\(error)"))
        }
    }
}
