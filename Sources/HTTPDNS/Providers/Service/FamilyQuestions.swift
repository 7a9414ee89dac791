internal import HTTPDNSPrimitives

/// A query of a provider whose protocol asks for one family at a time: one question for each, at the same time.
struct FamilyQuestions {
    let families: AddressFamilies
    let deadline: MonotonicTime
    let time: any TimeSource

    /// How long the second family is waited for once the first has addresses. Name servers that leave AAAA queries without
    /// an answer exist, and must not cost every look-up its whole time limit. RFC 8305 section 3 waits 50 ms; this waits
    /// longer, because a family that is given up is missing for seconds.
    private static let patience: Duration = .milliseconds(500)

    private enum Outcome: Sendable {
        case answer(FamilyAnswer)
        case failure(ProviderError)
        case cancelled

        var hasAddresses: Bool {
            if case .answer(.addresses) = self { true } else { false }
        }
    }

    private enum Event: Sendable {
        case outcome(IPAddress.Family, Outcome)
        case patienceEnded
    }

    /// Asks for every family, and puts the outcomes together. A family that fails does not fail the other.
    /// - Throws: ``ProviderError`` when no family was answered; `CancellationError` when the task is cancelled.
    func answers(
        _ ask: @escaping @Sendable (IPAddress.Family) async throws -> FamilyAnswer
    ) async throws -> ProviderAnswer {
        let outcomes = await withTaskGroup(of: Event.self) { group in
            for family in IPAddress.Family.allCases where families.contains(family) {
                group.addTask { .outcome(family, await Self.outcome(of: family, ask)) }
            }
            return await collect(&group)
        }
        if Task.isCancelled { throw CancellationError() }
        return try Self.combine(outcomes)
    }

    private static func outcome(
        of family: IPAddress.Family,
        _ ask: @Sendable (IPAddress.Family) async throws -> FamilyAnswer
    ) async -> Outcome {
        do {
            return .answer(try await ask(family))
        } catch let error as ProviderError {
            return .failure(error)
        } catch is CancellationError {
            return .cancelled
        } catch {
            return .failure(ProviderError(code: .unreachable, message: "\(error)"))
        }
    }

    /// The outcomes of all families asked for. Once one has addresses, the other has until the end of the patience.
    private func collect(_ group: inout TaskGroup<Event>) async -> [IPAddress.Family: Outcome] {
        let count = IPAddress.Family.allCases.count(where: families.contains)
        var outcomes: [IPAddress.Family: Outcome] = [:]
        var isGivenUp = false
        while outcomes.count < count, let event = await group.next() {
            switch event {
            case .outcome(let family, .cancelled) where isGivenUp:
                let message = "no answer within \(Self.patience.shortText) of the other family's"
                outcomes[family] = .failure(ProviderError(code: .timedOut, message: message))
            case .outcome(let family, let outcome):
                outcomes[family] = outcome
                guard outcome.hasAddresses, outcomes.count < count else { continue }
                let now = time.now()
                // Half of the time at most: the answer that is there must be back before the limit.
                let end = now + min(Self.patience, (deadline - now) / 2)
                group.addTask { [time] in
                    try? await time.sleep(until: end)
                    return .patienceEnded
                }
            case .patienceEnded:
                isGivenUp = true
                group.cancelAll()
            }
        }
        group.cancelAll()
        return outcomes
    }

    private static func combine(_ outcomes: [IPAddress.Family: Outcome]) throws -> ProviderAnswer {
        var answer = ProviderAnswer()
        var failures: [ProviderError] = []
        var isAnswered = false
        for (family, property) in [(IPAddress.Family.v4, \ProviderAnswer.v4), (.v6, \ProviderAnswer.v6)] {
            switch outcomes[family] {
            case nil: continue
            case .cancelled: throw CancellationError()
            case .answer(let familyAnswer):
                answer[keyPath: property] = familyAnswer
                isAnswered = true
            case .failure(let error):
                answer[keyPath: property] = .failed(error)
                failures.append(error)
            }
        }
        if !isAnswered, let failure = failures.first { throw failure }
        return answer
    }
}
