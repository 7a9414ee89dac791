internal import HTTPDNSPrimitives

/// One query to one provider.
struct TeamQuery: Sendable {
    typealias ID = UInt64

    /// How it came back.
    enum Result: Sendable {
        case answered(HTTPDNSProviderAnswer)
        case answeredBatch([HTTPDNSName: HTTPDNSProviderAnswer])
        case failed(HTTPDNSProviderError)
        /// It ended because it was told to.
        case cancelled
    }

    /// Why it is sent.
    enum Purpose: Sendable {
        /// It is its asker's turn to ask this provider.
        case turn
        /// The one before keeps silent.
        case hedge
        /// To see whether the provider is back. The asker has another one to count on.
        case copy
        /// There is nobody else.
        case lastHope
    }

    var id: ID
    /// The number of the provider in its team.
    var member: Int
    /// Who wants the answer; nil when nobody does any more.
    var ask: TeamAsk.ID?
    var question: HTTPDNSProviderQuery
    var batch: [HTTPDNSName]?
    var purpose: Purpose
    /// Whether its provider's quarantine was over and nobody had tried it.
    var isProbe: Bool
    var startedAt: MonotonicTime
    /// The asker's deadline.
    var deadline: MonotonicTime
    /// Nil as long as it waits for its turn.
    var sentAt: MonotonicTime?
    /// Whether its outcome is known. It keeps its place until the provider lets go of it.
    var isEnded = false

    /// Whether it was ended for queries that waited for its place.
    var madeRoom = false

    /// Whether it went to a provider that rests or has rested, and may well be dead.
    var isDoubtful: Bool { isProbe || purpose == .copy || purpose == .lastHope }

    /// Whether its asker has nobody else to ask.
    var isOnlyChance = false

    /// How long it may take from its sending on: all the time there is, when giving up early would win nothing.
    func limit(_ attemptLimit: Duration) -> Duration {
        let left = deadline - (sentAt ?? startedAt)
        return isOnlyChance ? left : min(attemptLimit, left)
    }

    /// What a result comes to.
    enum Verdict: Sendable {
        case definite(HTTPDNSProviderAnswer, AnswerReading)
        case batch([HTTPDNSName: HTTPDNSProviderAnswer])
        case failed(HTTPDNSProviderError)
        case cancelled
    }

    /// Reads a result.
    func verdict(_ result: Result) -> Verdict {
        switch result {
        case .cancelled: return .cancelled
        case .failed(let error): return .failed(error)
        case .answered(let answer):
            let reading = AnswerReading(answer, families: question.families)
            if case .failed(let text) = reading { return .failed(answer.failure(saying: text)) }
            return .definite(answer, reading)
        case .answeredBatch(let answers):
            let known = answers.filter { _, answer in
                if case .failed = AnswerReading(answer, families: question.families) { false } else { true }
            }
            if known.isEmpty {
                let text = "no name of the batch was answered"
                return .failed(
                    answers.values.first?.failure(saying: text)
                        ?? HTTPDNSProviderError(code: .badResponse, message: text)
                )
            }
            return .batch(known)
        }
    }
}

extension AnswerReading {
    /// Whether there is no address, for whatever reason.
    var isNegative: Bool {
        if case .addresses = self { false } else { true }
    }
}

extension HTTPDNSProviderAnswer {
    /// The failure of an answer that answers nothing, with the kind of the family that failed.
    fileprivate func failure(saying text: String) -> HTTPDNSProviderError {
        for case .failed(let error)? in [v4, v6] {
            return HTTPDNSProviderError(code: error.code, message: text, retryAfter: error.retryAfter)
        }
        return HTTPDNSProviderError(code: .badResponse, message: text)
    }
}
