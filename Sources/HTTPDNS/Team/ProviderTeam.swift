internal import HTTPDNSPrimitives

/// Placeholder until the team branch is merged: asks one after the other.
final class ProviderTeam: Sendable {
    struct Assignment: Sendable {
        var providers: [String]
        var order: Route.Order
        var wantsSecondOpinion: Bool
        var query: ProviderQuery
        var deadline: MonotonicTime
    }
    struct Answer: Sendable {
        var answer: ProviderAnswer
        var reading: AnswerReading
        var provider: any Provider
        var sentAt: MonotonicTime
        var failedAttempts: [ProviderAttempt]
    }
    enum Outcome: Sendable {
        case answered(Answer)
        case failed([ProviderAttempt], isTimeout: Bool, retryAfter: MonotonicTime?)
        case cancelled
    }
    let providers: [String: any Provider]
    let timeSource: any TimeSource
    init(
        _ providers: [any Provider],
        limits: [String: ProviderLimits],
        hedgeAfter: Duration,
        attemptLimit: Duration,
        timeSource: any TimeSource,
        random: @escaping @Sendable (UInt64) -> UInt64
    ) {
        self.providers = Dictionary(providers.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        self.timeSource = timeSource
    }
    func mayAsk(_ providers: [String]) -> Bool { true }
    func ask(_ assignment: Assignment) async -> Outcome {
        var attempts: [ProviderAttempt] = []
        var isTimeout = false
        for (index, name) in assignment.providers.enumerated() {
            guard let provider = providers[name] else { continue }
            let sentAt = timeSource.now()
            let left = assignment.deadline - sentAt
            guard left > .zero else { break }
            var query = assignment.query
            query.timeLimit = left / (assignment.providers.count - index)
            let asked = query
            switch await LimitedWork.run(
                until: sentAt + query.timeLimit,
                on: timeSource,
                operation: { try await provider.resolve(asked) }
            ) {
            case .cancelled: return .cancelled
            case .timedOut:
                isTimeout = true
                attempts.append(
                    ProviderAttempt(provider: name, failure: "no answer", elapsed: timeSource.now() - sentAt)
                )
            case .failed(let error):
                isTimeout = (error as? ProviderError)?.code == .timedOut
                attempts.append(
                    ProviderAttempt(provider: name, failure: "\(error)", elapsed: timeSource.now() - sentAt)
                )
            case .succeeded(let answer):
                let reading = AnswerReading(answer, families: query.families)
                if case .failed(let failure) = reading {
                    isTimeout = false
                    attempts.append(
                        ProviderAttempt(provider: name, failure: failure, elapsed: timeSource.now() - sentAt)
                    )
                    continue
                }
                return .answered(
                    Answer(
                        answer: answer,
                        reading: reading,
                        provider: provider,
                        sentAt: sentAt,
                        failedAttempts: attempts
                    )
                )
            }
        }
        return .failed(attempts, isTimeout: isTimeout, retryAfter: nil)
    }
}
