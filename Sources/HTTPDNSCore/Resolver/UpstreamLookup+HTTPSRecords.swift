// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

extension UpstreamLookup {
    /// Converts a provider's answer to a cacheable one, and follows the HTTPS records of its name if the route requires it.
    func followHTTPSRecords(
        of first: ProviderPool.Answer,
        _ poolAttempt: ProviderPool.PoolAttempt
    ) async -> Result<KnownAnswer, LookupFailure> {
        let plain = known(first)
        guard first.answer.httpsRecords != nil else { return .success(plain) }
        var chance = Chance(random: resolver.random)
        var selection = HTTPSRecordSelection(host: host, families: queried)
        var actions = selection.received(first.answer, about: host, using: &chance)
        while true {
            var questions: [ProviderPool.PoolAttempt] = []
            for action in actions {
                switch action {
                case .done(.plain(.failed(let error))): return withoutHTTPSRecords(plain, error)
                case .done(.plain): return judged(plain)
                case .done(.route(let route, let timeToLive, let missing)):
                    return merge(route, timeToLive, isIncomplete: missing != nil, into: plain)
                case .ask(let host, let families, let httpsRecords):
                    var question = poolAttempt
                    question.query.host = host
                    // Records have whole names.
                    question.query.search = nil
                    question.query.families = families
                    question.query.wantsHTTPSRecords = httpsRecords
                    question.hadAddresses = false
                    questions.append(question)
                }
            }
            let outcomes = questions.isEmpty ? [] : await ask(questions)
            actions = []
            for (host, outcome) in outcomes {
                switch outcome {
                case .answered(let answer):
                    actions += selection.received(answer.answer, about: host, using: &chance)
                case .failed(let attempts, _, _):
                    let message = attempts.map(\.description).joined(separator: "; ")
                    actions += selection.failed(HTTPDNSProviderError(code: .unreachable, message: message), about: host)
                case .canceled:
                    actions += selection.failed(
                        HTTPDNSProviderError(code: .shutDown, message: "canceled"),
                        about: host
                    )
                }
            }
            if actions.isEmpty { actions = selection.expired() }
            if actions.isEmpty { return judged(plain) }
        }
    }

    /// Returns an answer as the result of a lookup: as a failure of its provider when the address policy refuses the
    /// addresses that the HTTPS records led to, and the name's own.
    private func judged(_ answer: KnownAnswer) -> Result<KnownAnswer, LookupFailure> {
        guard case .addresses(let own) = answer.content, let origin = answer.origin else { return .success(answer) }
        let refusal = screen.refusal(
            of: own + (answer.details.httpsRecords?.endpoints.map(\.address) ?? []),
            from: origin.terms.addressSource
        )
        guard let refusal else { return .success(answer) }
        return failure(refusal.message, refusal: refusal, of: answer)
    }

    /// Returns the failure of a provider whose answer leads nowhere.
    private func failure(
        _ message: String,
        refusal: AddressRefusal.Summary? = nil,
        of answer: KnownAnswer
    ) -> Result<KnownAnswer, LookupFailure> {
        var attempt = HTTPDNSResolver.ProviderAttempt(
            provider: answer.origin?.provider ?? HTTPDNSResolver.ProviderAttempt.systemName,
            failure: message,
            elapsed: clock.now() - answer.sentAt
        )
        attempt.refusal = refusal
        return .failure(
            LookupFailure(error: .allFailed(self, answer.details.failedAttempts + [attempt]), sentAt: answer.sentAt)
        )
    }

    /// Asks all questions at once.
    ///
    /// They begin in the order of the records, and not in that of the tasks: free slots, the rest of a budget and the probe of
    /// a provider belong to the preferred target.
    private func ask(_ questions: [ProviderPool.PoolAttempt]) async -> [(HTTPDNSName, ProviderPool.Outcome)] {
        if Task.isCancelled { return questions.map { ($0.query.host, .canceled) } }
        let begun = questions.map { ($0.query.host, settings.pool.begin($0)) }
        return await withTaskGroup(of: (HTTPDNSName, ProviderPool.Outcome).self) { group in
            for (host, question) in begun {
                group.addTask { (host, await settings.pool.outcome(of: question)) }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }

    /// Returns the name's own addresses, when its HTTPS records could not be queried.
    ///
    /// Without addresses the result is indefinite: only the HTTPS records may lead to an address.
    private func withoutHTTPSRecords(_ plain: KnownAnswer, _ error: HTTPDNSProviderError) -> Result<
        KnownAnswer, LookupFailure
    > {
        guard case .addresses = plain.content else {
            return failure("HTTPS records: \(error.message)", of: plain)
        }
        var answer = plain
        answer.httpsRecordsFailed = true
        answer.refreshAt = min(answer.refreshAt, answer.sentAt + Lifetimes.partial)
        return judged(answer)
    }

    /// Returns an answer with the result of its name's HTTPS records.
    private func merge(
        _ route: ServiceRoute,
        _ timeToLive: Duration,
        isIncomplete: Bool,
        into plain: KnownAnswer
    ) -> Result<KnownAnswer, LookupFailure> {
        var answer = plain
        answer.details.httpsRecords = route
        if let reason = route.unavailable {
            if case .nothing(var error) = plain.content {
                if route.isOfServers { error.message = reason }
                answer = plain
                answer.content = .nothing(error)
                return .success(answer)
            }
            answer.life = min(answer.life, Lifetimes.negative(timeToLive, self.route))
            answer.refreshAt = answer.expiresAt
            return .success(answer)
        }
        answer.life = Lifetimes.positive(timeToLive, within: settings.configuration.cache, self.route)
        if case .nothing = plain.content {
            answer.content = .addresses([])
        } else {
            answer.life = min(answer.life, plain.life)
        }
        answer.refreshAt = resolver.refreshMoment(of: answer)
        if isIncomplete { answer.refreshAt = min(answer.refreshAt, answer.sentAt + Lifetimes.partial) }
        return judged(answer)
    }
}

/// The resolver's random source as a generator of the standard library.
private struct Chance: RandomNumberGenerator {
    let random: @Sendable (UInt64) -> UInt64

    mutating func next() -> UInt64 { random(.max) }
}
