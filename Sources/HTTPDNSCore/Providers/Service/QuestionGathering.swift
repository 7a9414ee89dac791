// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives

/// The requests of one query: their outcomes, and the time to wait for the remaining ones.
struct QuestionGathering {
    enum Question: Hashable, Sendable {
        case v4, v6, httpsRecords
    }

    enum Outcome: Sendable {
        case addresses(HTTPDNSProviderAnswer.Family)
        case httpsRecords(HTTPDNSProviderAnswer.HTTPSRecords)
        case failure(HTTPDNSProviderError)
        case canceled

        var hasAddresses: Bool {
            if case .addresses(.addresses) = self { true } else { false }
        }
    }

    enum Event: Sendable {
        case outcome(Question, Outcome)
        case patienceEnded
    }

    enum Action: Hashable {
        case keepWaiting
        /// Wait until this moment, and then report ``Event/patienceEnded``.
        case wait(until: MonotonicTime)
        /// Cancel the requests without an outcome.
        case giveUp
    }

    /// The time to wait for the second family once the first has addresses (RFC 8305 section 3). Some name servers never
    /// respond to AAAA queries, and must not delay every request. The resolver queries a family that is late once more.
    static let resolutionDelay: Duration = .milliseconds(50)
    /// The time to wait for HTTPS records once the addresses are there (RFC 9460 section 5.1): as long again as the addresses
    /// took, within these limits. All requests start at the same time, so HTTPS records should need no longer.
    static let patienceForHTTPSRecords: ClosedRange<Duration> = .milliseconds(50) ... .milliseconds(500)

    let questions: [Question]
    private let start: MonotonicTime
    private let deadline: MonotonicTime
    private var outcomes: [Question: Outcome] = [:]
    /// The time to wait for the remaining requests, as last decided.
    private var patience: Duration = .zero
    private var isGivenUp = false

    init(
        families: HTTPDNSAddress.Families,
        wantsHTTPSRecords: Bool,
        since start: MonotonicTime,
        deadline: MonotonicTime
    ) {
        var questions: [Question] = []
        if families.contains(.v4) { questions.append(.v4) }
        if families.contains(.v6) { questions.append(.v6) }
        if wantsHTTPSRecords { questions.append(.httpsRecords) }
        self.questions = questions
        self.start = start
        self.deadline = deadline
    }

    /// Whether every request has an outcome.
    var isComplete: Bool { outcomes.count == questions.count }

    /// Records an event, and returns the action for the remaining requests.
    mutating func received(_ event: Event, at now: MonotonicTime) -> Action {
        guard case .outcome(let question, let outcome) = event else {
            isGivenUp = true
            return .giveUp
        }
        if case .canceled = outcome, isGivenUp {
            let message = "no answer within \(patience.shortText) of the addresses"
            outcomes[question] = .failure(HTTPDNSProviderError(code: .timedOut, message: message))
        } else {
            outcomes[question] = outcome
        }
        guard !isComplete, !isGivenUp else { return .keepWaiting }

        let left = questions.filter { outcomes[$0] == nil }
        guard left == [.httpsRecords] || outcomes.values.contains(where: \.hasAddresses) else { return .keepWaiting }
        let limits = Self.patienceForHTTPSRecords
        patience =
            left.contains(.httpsRecords)
            ? min(max(now - start, limits.lowerBound), limits.upperBound) : Self.resolutionDelay
        // At most half of the remaining time, so that the available answer is returned before the limit.
        patience = min(patience, (deadline - now) / 2)
        return .wait(until: now + patience)
    }

    /// Returns the merged answer of all requests.
    /// - Throws: ``HTTPDNSProviderError`` when no family has a message; `CancellationError`.
    func answer() throws -> HTTPDNSProviderAnswer {
        var answer = HTTPDNSProviderAnswer()
        var failures: [HTTPDNSProviderError] = []
        var isAnswered = false
        for question in questions {
            switch outcomes[question] {
            case nil: continue
            case .canceled: throw CancellationError()
            case .httpsRecords(let httpsRecords): answer.httpsRecords = httpsRecords
            case .addresses(let family):
                answer[question == .v4 ? .v4 : .v6] = family
                isAnswered = true
            case .failure(let error) where question == .httpsRecords:
                answer.httpsRecords = .failed(error)
            case .failure(let error):
                answer[question == .v4 ? .v4 : .v6] = .failed(error)
                failures.append(error)
            }
        }
        if !isAnswered, let failure = failures.first { throw failure }
        return answer
    }
}

/// A query of a provider whose protocol asks for one type of record at a time: one request per type, sent concurrently.
struct FamilyQuestions {
    let families: HTTPDNSAddress.Families
    let deadline: MonotonicTime
    let time: any TimeSource

    /// Asks for every family, and for HTTPS records where the protocol can, and merges the outcomes. A failure of one does not
    /// fail the others.
    /// - Throws: ``HTTPDNSProviderError`` when no family was answered; `CancellationError` when the task is canceled.
    func answers(
        httpsRecords: (@Sendable () async throws -> HTTPDNSProviderAnswer.HTTPSRecords)? = nil,
        _ ask: @escaping @Sendable (HTTPDNSAddress.Family) async throws -> HTTPDNSProviderAnswer.Family
    ) async throws -> HTTPDNSProviderAnswer {
        var gathering = QuestionGathering(
            families: families,
            wantsHTTPSRecords: httpsRecords != nil,
            since: time.now(),
            deadline: deadline
        )
        await withTaskGroup(of: QuestionGathering.Event.self) { group in
            for family in HTTPDNSAddress.Family.allCases where families.contains(family) {
                let question: QuestionGathering.Question = family == .v4 ? .v4 : .v6
                group.addTask { .outcome(question, await Self.outcome { .addresses(try await ask(family)) }) }
            }
            if let httpsRecords {
                group.addTask {
                    .outcome(.httpsRecords, await Self.outcome { .httpsRecords(try await httpsRecords()) })
                }
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
            return .canceled
        } catch {
            return .failure(HTTPDNSProviderError(code: .unreachable, message: "\(error)"))
        }
    }
}
