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
        case system(Result<KnownAnswer, LookupFailure>?)
    }

    let lookup: UpstreamLookup
    let poolAttempt: ProviderPool.PoolAttempt
    let started: MonotonicTime
    let deadline: MonotonicTime
    /// The minimum time for the system resolver.
    let share: Duration

    private var pool: ProviderPool { lookup.settings.pool }
    private var clock: any TimeSource { lookup.clock }

    /// The state of the lookup.
    private struct Progress {
        var asking: (question: ProviderPool.Question, task: Task<Void, Never>)?
        var lookingUp: Task<Void, Never>?
        /// The providers' failures.
        var attempts: [HTTPDNSResolver.ProviderAttempt]?
        var isTimeout = false
        /// The system resolver's result, when it has no address.
        var system: Result<KnownAnswer, LookupFailure>?

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
    func run(_ hurry: OneShot<Void>) async -> Result<KnownAnswer, LookupFailure>? {
        let asked = Lock<ProviderPool.Question?>(nil)
        return await withTaskCancellationHandler {
            await run(hurry, asked)
        } onCancel: {
            if let question = asked.withLock({ $0 }) { pool.leave(question) }
        }
    }

    private func run(_ hurry: OneShot<Void>, _ asked: borrowing Lock<ProviderPool.Question?>) async -> Result<
        KnownAnswer, LookupFailure
    >? {
        let (events, feed) = AsyncStream<Event>.makeStream()
        // Its only waiter is the task below, which must not be left waiting.
        defer { hurry.deliver(()) }
        if Task.isCancelled { return nil }
        var progress = Progress()
        let reliance = pool.reliance(on: poolAttempt.providers)
        var timer: Alarm?
        defer { timer?.cancel() }
        if reliance == .none {
            pool.probe(poolAttempt)
            if mustSkipFallback {
                return skippedFallback(pool.attempts(withoutAnswerFrom: poolAttempt.providers, since: started))
            }
            progress.lookingUp = lookUp(feed)
        } else {
            progress.asking = ask(until: poolAttempt.deadline, feed, asked)
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
                var poolAttempt = poolAttempt
                poolAttempt.deadline = deadline
                return await lookup.followHTTPSRecords(of: answer, poolAttempt)
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
                if case .success(let answer) = result, case .addresses = answer.content {
                    if let asking = progress.asking { pool.settle(asking.question) }
                    let attempts = progress.attempts
                    return lookup.fallBack(
                        to: answer,
                        attempts ?? pool.attempts(withoutAnswerFrom: poolAttempt.providers, since: started)
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
        var poolAttempt = poolAttempt
        poolAttempt.deadline = deadline
        let question = pool.begin(poolAttempt)
        asked.withLock { $0 = question }
        if Task.isCancelled { pool.leave(question) }
        let task = CallWork.detached { [pool] in
            _ = feed.yield(.providers(await pool.outcome(of: question)))
        }
        return (question, task)
    }

    private func lookUp(_ feed: AsyncStream<Event>.Continuation) -> Task<Void, Never> {
        CallWork.detached {
            let end = max(deadline, clock.now() + share)
            feed.yield(.system(await lookup.querySystem(until: end)))
        }
    }

    private func alarm(at time: MonotonicTime, _ hurry: OneShot<Void>) -> Alarm {
        clock.alarm(at: time) { [pool, poolAttempt] in
            if pool.reliance(on: poolAttempt.providers) != .healthy { hurry.deliver(()) }
            return nil
        }
    }

    /// The system's own expired answer is worth no more than a new one.
    private var mustSkipFallback: Bool { lookup.hasAnswer(of: .provider, at: clock.now()) }

    private func skippedFallback(
        _ attempts: [HTTPDNSResolver.ProviderAttempt]
    ) -> Result<KnownAnswer, LookupFailure> {
        .failure(LookupFailure(error: .allFailed(lookup, attempts), sentAt: started, skippedFallback: true))
    }

    /// Providers and system resolver have failed.
    private func failure(_ progress: Progress) -> Result<KnownAnswer, LookupFailure>? {
        let attempts = progress.attempts ?? []
        switch progress.system {
        case .success(let answer): return lookup.fallBack(to: answer, attempts)
        case .failure(var failure):
            failure.error = failure.error.after(attempts, lookup)
            return .failure(failure)
        case nil: return nil
        }
    }
}

extension UpstreamLookup {
    /// Queries the system resolver.
    /// - Returns: A definite answer or a failure; nil when the lookup was canceled.
    func querySystem(until deadline: MonotonicTime) async -> Result<KnownAnswer, LookupFailure>? {
        let sentAt = clock.now()
        let limit = deadline - sentAt
        guard limit > .zero else { return systemFailure("no time left", sentAt: sentAt) }
        let origin = settings.origins.system(route)
        let content: KnownAnswer.Content
        resolver.counting.count(.systemQuery)
        do throws(SystemResolverError) {
            let addresses = try await resolver.systemResolver.resolve(host, families: families, timeLimit: limit)
            let wanted = addresses.filter { families.contains($0.family) }
            if let refusal = screen.refusal(of: wanted, from: origin.terms.addressSource) {
                return systemFailure(refusal.message, refusal: refusal, sentAt: sentAt)
            }
            content =
                wanted.isEmpty
                ? .nothing(.noAddresses(host, families, says: "the system resolver")) : .addresses(wanted)
        } catch {
            switch error.code {
            case .nameNotFound: content = .nothing(.unknownToSystem(self))
            case .noAddresses: content = .nothing(.noAddresses(host, families, says: "the system resolver"))
            case .timedOut: return systemFailure("no answer", isTimeout: true, sentAt: sentAt)
            case .canceled: return nil
            case .failed: return systemFailure(error.message, sentAt: sentAt)
            case .overloaded: return systemFailure(error.message, wasBusy: true, sentAt: sentAt)
            }
        }
        var answer = KnownAnswer(
            content,
            origin: origin,
            sentAt: sentAt,
            life: settings.configuration.cache.systemTimeToLive
        )
        if case .addresses = content {
            answer.refreshAt = resolver.refreshMoment(of: answer)
        } else {
            answer = answer.living(Lifetimes.negativeWithoutSOA)
        }
        return .success(answer)
    }

    private func systemFailure(
        _ message: String,
        refusal: AddressRefusal.Summary? = nil,
        isTimeout: Bool = false,
        wasBusy: Bool = false,
        sentAt: MonotonicTime
    ) -> Result<KnownAnswer, LookupFailure> {
        resolver.counting.count(.systemFailure)
        var attempt = HTTPDNSResolver.ProviderAttempt(
            provider: HTTPDNSResolver.ProviderAttempt.systemName,
            failure: message,
            elapsed: clock.now() - sentAt
        )
        attempt.refusal = refusal
        let error: HTTPDNSResolver.Error =
            isTimeout
            ? .timedOut(host: host, limit: settings.configuration.timeLimit, attempts: [attempt])
            : .allFailed(self, [attempt])
        return .failure(LookupFailure(error: error, sentAt: sentAt, wasBusy: wasBusy))
    }
}

extension HTTPDNSResolver.Error {
    /// Returns the same failure of the system resolver, with the earlier failures of providers.
    func after(_ attempts: [HTTPDNSResolver.ProviderAttempt], _ lookup: UpstreamLookup) -> HTTPDNSResolver.Error {
        guard !attempts.isEmpty else { return self }
        if code == .timedOut, let limit, attempts.allSatisfy({ $0.refusal == nil }) {
            return .timedOut(host: lookup.host, limit: limit, attempts: attempts + self.attempts)
        }
        return .allFailed(lookup, attempts + self.attempts)
    }
}
