internal import HTTPDNSPrimitives

/// A query of a provider whose protocol asks for one type of record at a time: one request per type, sent concurrently.
struct FamilyQuestions {
    let families: HTTPDNSAddress.Families
    let deadline: MonotonicTime
    let time: any TimeSource

    /// Asks for every family, and for HTTPS records where the protocol can, and merges the outcomes. A failure of one does not
    /// fail the others.
    /// - Throws: ``HTTPDNSProviderError`` when no family was answered; `CancellationError` when the task is cancelled.
    func answers(
        services: (@Sendable () async throws -> HTTPDNSProviderAnswer.HTTPSRecords)? = nil,
        _ ask: @escaping @Sendable (HTTPDNSAddress.Family) async throws -> HTTPDNSProviderAnswer.Family
    ) async throws -> HTTPDNSProviderAnswer {
        var gathering = QuestionGathering(
            families: families,
            wantsServices: services != nil,
            since: time.now(),
            deadline: deadline
        )
        await withTaskGroup(of: QuestionGathering.Event.self) { group in
            for family in HTTPDNSAddress.Family.allCases where families.contains(family) {
                let question: QuestionGathering.Question = family == .v4 ? .v4 : .v6
                group.addTask { .outcome(question, await Self.outcome { .addresses(try await ask(family)) }) }
            }
            if let services {
                group.addTask { .outcome(.services, await Self.outcome { .services(try await services()) }) }
            }
            while !gathering.isComplete, let event = await group.next() {
                switch gathering.received(event, at: time.now()) {
                case .keepWaiting: continue
                case .giveUp: group.cancelAll()
                case .wait(let end):
                    group.addTask { [time] in
                        try? await time.sleep(until: end)
                        return .patienceEnded
                    }
                }
            }
            group.cancelAll()
        }
        if Task.isCancelled { throw CancellationError() }
        return try gathering.answer()
    }

    private static func outcome(
        _ ask: () async throws -> QuestionGathering.Outcome
    ) async -> QuestionGathering.Outcome {
        do {
            return try await ask()
        } catch let error as HTTPDNSProviderError {
            return .failure(error)
        } catch is CancellationError {
            return .cancelled
        } catch {
            return .failure(HTTPDNSProviderError(code: .unreachable, message: "\(error)"))
        }
    }
}
