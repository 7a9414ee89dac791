// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// A query to one provider.
struct PoolQuery: Sendable {
    typealias ID = UInt64

    /// The result of a query.
    enum Result: Sendable {
        case answered(HTTPDNSProviderAnswer)
        case answeredBatch([HTTPDNSName: HTTPDNSProviderAnswer])
        case failed(HTTPDNSProviderError)
        /// It was canceled.
        case canceled
        /// It was canceled before anything was sent.
        case unsent
    }

    /// The purpose of a query.
    enum Purpose: Sendable {
        /// The provider's turn in the order of its request.
        case turn
        /// A hedge, because the provider before has not answered.
        case hedge
        /// A probe of a provider in quarantine. Its request also has another query to wait for.
        case copy
        /// A query to a provider of last resort, because there is no other.
        case lastResort
    }

    var id: ID
    /// The index of the provider in its pool.
    var member: Int
    /// The request that needs the answer; nil when none does any more.
    var ask: PoolRequest.ID?
    var question: HTTPDNSProviderQuery
    var batch: [HTTPDNSName]?
    var isWanted: @Sendable (HTTPDNSName) -> Bool
    var purpose: Purpose
    /// Whether its provider's quarantine was over and no query had been sent to it since.
    var isProbe: Bool
    var startedAt: MonotonicTime
    /// The deadline of its request.
    var deadline: MonotonicTime
    /// The time it was sent; nil as long as it waits for a slot.
    var sentAt: MonotonicTime?
    /// The time at which its outcome was known. It keeps its slot until the provider returns.
    var endedAt: MonotonicTime?
    var isEnded: Bool { endedAt != nil }

    /// Whether it has taken a hedge from the budget.
    var isBudgetedHedge = false

    /// Whether it was ended for queries that waited for its slot.
    var madeRoom = false

    /// Whether it was sent to a provider that is or was in quarantine, and may be unresponsive.
    var isDoubtful: Bool { isProbe || purpose == .copy || purpose == .lastResort }

    /// Whether its request has no other provider to query.
    var isOnlyChance = false

    /// The address policy for its answers; nil accepts all addresses.
    var screen: AnswerScreen?

    /// Returns the time limit from the sending on: all of the remaining time, if an earlier end would gain nothing.
    func limit(_ attemptLimit: Duration) -> Duration {
        let left = deadline - (sentAt ?? startedAt)
        return isOnlyChance ? left : min(attemptLimit, left)
    }

    /// The evaluation of a result.
    enum Verdict: Sendable {
        /// An answer, and its outcome over all families: addresses, or that there are none.
        case definite(HTTPDNSProviderAnswer, HTTPDNSProviderAnswer.Family)
        case batch([HTTPDNSName: HTTPDNSProviderAnswer])
        /// The refusal is that of an answer with addresses; nil for other failures.
        case failed(HTTPDNSProviderError, AddressRefusal.Summary? = nil)
        case canceled
    }

    /// Returns whether the provider answered a part of a query that failed as a whole: then the failure is about the name.
    static func isPartial(_ result: Result) -> Bool {
        guard case .answered(let answer) = result else { return false }
        return [answer.v4, answer.v6].contains { outcome in
            switch outcome {
            case .noData, .nameError: true
            case .addresses, .failed, nil: false
            }
        }
    }

    /// Evaluates a result.
    func verdict(_ result: Result, of provider: any HTTPDNSProvider) -> Verdict {
        switch result {
        case .canceled, .unsent: return .canceled
        case .failed(let error): return .failed(error)
        case .answered(let answer): return verdict(on: answer, about: question.host, of: provider)
        case .answeredBatch(let answers):
            var known: [HTTPDNSName: HTTPDNSProviderAnswer] = [:]
            var failure: HTTPDNSProviderError?
            for (host, answer) in answers {
                if case .failed(let error, _) = verdict(on: answer, about: host, of: provider) {
                    failure = failure ?? error
                } else {
                    known[host] = answer
                }
            }
            if !known.isEmpty { return .batch(known) }
            return .failed(
                HTTPDNSProviderError(
                    code: failure?.code ?? .badResponse,
                    message: "no name of the batch was answered",
                    retryAfter: failure?.retryAfter
                )
            )
        }
    }

    /// Evaluates the answer for one name. One of which the address policy refuses every address is a failure.
    private func verdict(
        on answer: HTTPDNSProviderAnswer,
        about host: HTTPDNSName,
        of provider: any HTTPDNSProvider
    ) -> Verdict {
        let outcome = answer.outcome(of: question.families)
        if let error = outcome.error { return .failed(error) }
        let refusal = screen?.refusal(
            of: addresses(of: answer, outcome, about: host),
            from: AddressSource(source: .provider, scope: provider.answerScope, provider: provider.name)
        )
        guard let refusal else { return .definite(answer, outcome) }
        return .failed(HTTPDNSProviderError(code: .policyRefused, message: refusal.message), refusal)
    }

    /// Returns the addresses that an answer leads to; none when its HTTPS records have to be followed first.
    private func addresses(
        of answer: HTTPDNSProviderAnswer,
        _ outcome: HTTPDNSProviderAnswer.Family,
        about host: HTTPDNSName
    ) -> [HTTPDNSAddress] {
        var own: [HTTPDNSAddress] = []
        if case .addresses(let addresses, _, _) = outcome { own = addresses }
        guard answer.httpsRecords != nil else { return own }
        var selection = HTTPSRecordSelection(host: host, families: question.families)
        var generator = SystemRandomNumberGenerator()
        switch selection.received(answer, about: host, using: &generator).first {
        case .done(.plain)?: return own
        case .done(.route(let route, _, _))? where route.unavailable == nil: return own + route.endpoints.map(\.address)
        case .done?, .ask?, nil: return []
        }
    }
}
