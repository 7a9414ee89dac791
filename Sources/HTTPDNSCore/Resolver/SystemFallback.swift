// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// A lookup on a route whose providers have the system resolver as fallback.
///
/// - Reliable providers are queried first. The system resolver is queried when they have failed, when their share of the time
///   is over, or when a caller's limit is half over. The first answer is used. A query in flight continues, so that its
///   answer or failure counts for the provider's health; no further provider is queried.
/// - The system resolver has its full share of the time even when the providers' share ends late, as on a busy machine or
///   after a suspension.
/// - Providers with overdue answers are waited for no longer than their hedge delay, unless an answer arrives meanwhile.
/// - A query that waits for a slot of a provider that answers others is waited for until the resolver's limit: this process's own
///   queue is no slowness of the provider.
/// - While all providers are in back-off, the system resolver is queried immediately, and a provider whose quarantine is over
///   gets one query as a probe. The providers are queried only if the system resolver has no address.
/// - While a stale answer of a provider can be served, the system resolver is not queried.
struct SystemFallback: Sendable {
    private enum Event: Sendable {
        case providers(ProviderPool.Outcome)
        /// The providers' share of the time is over.
        case due
        case system(FlightResult?)
    }

    let resolver: HTTPDNSResolver
    let inquiry: UpstreamLookup
    let assignment: ProviderPool.PoolAttempt
    let started: MonotonicTime
    let deadline: MonotonicTime
    /// The minimum time for the system resolver.
    let share: Duration

    private var team: ProviderPool { inquiry.settings.team }
    private var clock: any TimeSource { resolver.fixed.timeSource }

    /// The state of the lookup.
    private struct Progress {
        var asking: (question: ProviderPool.Question, task: Task<Void, Never>)?
        var lookingUp: Task<Void, Never>?
        /// The providers' failures.
        var attempts: [HTTPDNSResolver.ProviderAttempt]?
        var isTimeout = false
        /// The system resolver's result, when it has no address.
        var system: FlightResult?

        func cancel() {
            asking?.task.cancel()
            lookingUp?.cancel()
        }
    }

    /// Runs the lookup.
    ///
    /// When the task is canceled, no provider is queried any more: a query that is about to begin is ended by the canceling
    /// thread, and not when this task has its next turn.
    /// - Parameter hurry: Delivered by a caller whose limit is half over.
    /// - Returns: Nil when the task was canceled.
    func run(_ hurry: OneShot<Void>) async -> FlightResult? {
        let asked = Lock<ProviderPool.Question?>(nil)
        return await withTaskCancellationHandler {
            await run(hurry, asked)
        } onCancel: {
            if let question = asked.withLock({ $0 }) { team.leave(question) }
        }
    }

    private func run(_ hurry: OneShot<Void>, _ asked: borrowing Lock<ProviderPool.Question?>) async -> FlightResult? {
        let (events, feed) = AsyncStream<Event>.makeStream()
        // Its only waiter is the task below, which must not be left waiting.
        defer { hurry.deliver(()) }
        if Task.isCancelled { return nil }
        var progress = Progress()
        let reliance = team.reliance(on: assignment.providers)
        var timer: Task<Void, Never>?
        defer { timer?.cancel() }
        if reliance == .none {
            team.probe(assignment)
            if mustSkipFallback {
                return skippedFallback(team.attempts(withoutAnswerFrom: assignment.providers, since: started))
            }
            progress.lookingUp = lookUp(feed)
        } else {
            progress.asking = ask(until: assignment.deadline, feed, asked)
            if case .suspect(let delay) = reliance { timer = alarm(at: started + delay, hurry) }
            CallWork.detached {
                await hurry.value()
                feed.yield(.due)
            }
        }
        for await event in events {
            switch event {
            case .due:
                if progress.lookingUp == nil, !mustSkipFallback { progress.lookingUp = lookUp(feed) }
            case .providers(.answered(let answer)):
                progress.lookingUp?.cancel()
                var assignment = assignment
                assignment.deadline = deadline
                return await resolver.followHTTPSRecords(of: answer, assignment, inquiry)
            case .providers(.canceled):
                progress.cancel()
                return nil
            case .providers(.failed(let attempts, let isTimeout, _)):
                (progress.attempts, progress.isTimeout) = (attempts, isTimeout)
                if progress.system != nil { return failure(progress) }
                if progress.lookingUp == nil {
                    if mustSkipFallback { return skippedFallback(attempts) }
                    progress.lookingUp = lookUp(feed)
                }
            case .system(nil):
                progress.cancel()
                return nil
            case .system(let result?):
                if case .answer(let answer) = result, case .addresses = answer.content {
                    if let asking = progress.asking { team.settle(asking.question) }
                    let attempts = progress.attempts
                    return resolver.fallBack(
                        to: answer,
                        inquiry,
                        attempts ?? team.attempts(withoutAnswerFrom: assignment.providers, since: started)
                    )
                }
                progress.system = result
                if progress.attempts != nil { return failure(progress) }
                // Only providers in back-off are left.
                if progress.asking == nil { progress.asking = ask(until: deadline, feed, asked) }
            }
        }
        progress.cancel()
        return nil
    }

    /// Queries the providers.
    ///
    /// The query is sent before this returns: a task that starts late would reduce their time. The task is not canceled with
    /// this lookup when the system resolver was faster.
    private func ask(
        until deadline: MonotonicTime,
        _ feed: AsyncStream<Event>.Continuation,
        _ asked: borrowing Lock<ProviderPool.Question?>
    ) -> (question: ProviderPool.Question, task: Task<Void, Never>) {
        var assignment = assignment
        assignment.deadline = deadline
        let question = team.begin(assignment)
        asked.withLock { $0 = question }
        if Task.isCancelled { team.leave(question) }
        let task = CallWork.detached { [team] in
            _ = feed.yield(.providers(await team.outcome(of: question)))
        }
        return (question, task)
    }

    private func lookUp(_ feed: AsyncStream<Event>.Continuation) -> Task<Void, Never> {
        CallWork.detached {
            let end = max(deadline, clock.now() + share)
            feed.yield(.system(await resolver.askSystem(inquiry, until: end)))
        }
    }

    private func alarm(at time: MonotonicTime, _ hurry: OneShot<Void>) -> Task<Void, Never> {
        CallWork.detached { [clock, team, assignment] in
            guard (try? await clock.sleep(until: time)) != nil else { return }
            if team.reliance(on: assignment.providers) != .healthy { hurry.deliver(()) }
        }
    }

    /// The system's own expired answer is worth no more than a new one.
    private var mustSkipFallback: Bool { resolver.hasAnswer(inquiry, of: .provider, at: clock.now()) }

    private func skippedFallback(_ attempts: [HTTPDNSResolver.ProviderAttempt]) -> FlightResult {
        .failure(.allFailed(inquiry, attempts), sentAt: started, skippedFallback: true)
    }

    /// Providers and system resolver have failed.
    private func failure(_ progress: Progress) -> FlightResult? {
        let attempts = progress.attempts ?? []
        switch progress.system {
        case .answer(let answer): return resolver.fallBack(to: answer, inquiry, attempts)
        case .failure(let error, let sentAt, _):
            return .failure(error.after(attempts, inquiry), sentAt: sentAt, skippedFallback: false)
        case .busy(let error, let sentAt): return .busy(error.after(attempts, inquiry), sentAt: sentAt)
        case .fallback, nil: return nil
        }
    }
}

extension HTTPDNSResolver {
    /// Queries the system resolver.
    /// - Returns: A definite answer or a failure; nil when the lookup was canceled.
    func askSystem(_ inquiry: UpstreamLookup, until deadline: MonotonicTime) async -> FlightResult? {
        let clock = fixed.timeSource
        let sentAt = clock.now()
        let limit = deadline - sentAt
        guard limit > .zero else { return failure("no time left", inquiry, sentAt: sentAt) }
        let system = systemResolver
        let origin = inquiry.settings.origins.system(inquiry.route)
        let content: KnownAnswer.Content
        counting.count(.systemQuery)
        do throws(SystemResolverError) {
            let addresses = try await system.resolve(inquiry.host, families: inquiry.families, timeLimit: limit)
            let wanted = addresses.filter { inquiry.families.contains($0.family) }
            let refusal = inquiry.screen.refusal(
                of: wanted,
                from: .system,
                providerScope: origin.providerScope,
                provider: nil
            )
            if let refusal { return failure(refusal.message, refusal: refusal, inquiry, sentAt: sentAt) }
            content =
                wanted.isEmpty
                ? .nothing(.noAddresses(inquiry.host, inquiry.families, says: "the system resolver"))
                : .addresses(wanted)
        } catch {
            switch error.code {
            case .nameNotFound: content = .nothing(.unknownToSystem(inquiry))
            case .noAddresses:
                content = .nothing(.noAddresses(inquiry.host, inquiry.families, says: "the system resolver"))
            case .timedOut: return timedOut(inquiry, sentAt: sentAt)
            case .canceled: return nil
            case .failed: return failure(error.message, inquiry, sentAt: sentAt)
            case .overloaded:
                let failure = failure(error.message, inquiry, sentAt: sentAt)
                guard case .failure(let error, let sentAt, _) = failure else { return failure }
                return .busy(error, sentAt: sentAt)
            }
        }
        var answer = KnownAnswer(
            content,
            origin: origin,
            sentAt: sentAt,
            life: inquiry.settings.configuration.cache.systemTimeToLive
        )
        switch content {
        case .addresses: answer.refreshAt = refreshMoment(of: answer)
        case .nothing: answer = answer.living(Lifetimes.negativeWithoutSOA)
        }
        return .answer(answer)
    }

    private func failure(
        _ message: String,
        refusal: AddressRefusal.Summary? = nil,
        _ inquiry: UpstreamLookup,
        sentAt: MonotonicTime
    ) -> FlightResult {
        counting.count(.systemFailure)
        var attempt = HTTPDNSResolver.ProviderAttempt(
            provider: HTTPDNSResolver.ProviderAttempt.systemName,
            failure: message,
            elapsed: fixed.timeSource.now() - sentAt
        )
        attempt.refusal = refusal
        return .failure(.allFailed(inquiry, [attempt]), sentAt: sentAt, skippedFallback: false)
    }

    private func timedOut(_ inquiry: UpstreamLookup, sentAt: MonotonicTime) -> FlightResult {
        counting.count(.systemFailure)
        let attempt = HTTPDNSResolver.ProviderAttempt(
            provider: HTTPDNSResolver.ProviderAttempt.systemName,
            failure: "no answer",
            elapsed: fixed.timeSource.now() - sentAt
        )
        let error = HTTPDNSResolver.Error.timedOut(
            host: inquiry.host,
            limit: inquiry.settings.configuration.timeLimit,
            attempts: [attempt]
        )
        return .failure(error, sentAt: sentAt, skippedFallback: false)
    }
}

extension HTTPDNSResolver.Error {
    /// Returns the same failure of the system resolver, with the earlier failures of providers.
    func after(_ attempts: [HTTPDNSResolver.ProviderAttempt], _ inquiry: UpstreamLookup) -> HTTPDNSResolver.Error {
        guard !attempts.isEmpty else { return self }
        if code == .timedOut, let limit, attempts.allSatisfy({ $0.refusal == nil }) {
            return .timedOut(host: inquiry.host, limit: limit, attempts: attempts + self.attempts)
        }
        return .allFailed(inquiry, attempts + self.attempts)
    }
}
