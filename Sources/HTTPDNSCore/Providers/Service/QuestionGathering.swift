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

    enum Action: Hashable {
        case keepWaiting
        /// Wait until this moment, and then give up the requests without an outcome.
        case wait(until: MonotonicTime)
        /// Every request has an outcome.
        case done
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
    /// The time to wait for the remaining requests, and the end of that time, as first reached.
    private var patience = Duration.zero
    private var patienceEnd: MonotonicTime?

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

    /// Records the first outcome of a request, and returns the action for the remaining ones.
    mutating func received(_ outcome: Outcome, for question: Question, at now: MonotonicTime) -> Action {
        guard outcomes[question] == nil else { return .keepWaiting }
        outcomes[question] = outcome
        guard !isComplete else { return .done }

        let left = questions.filter { outcomes[$0] == nil }
        guard left == [.httpsRecords] || outcomes.values.contains(where: \.hasAddresses) else { return .keepWaiting }
        let limits = Self.patienceForHTTPSRecords
        let whole =
            left.contains(.httpsRecords)
            ? min(max(now - start, limits.lowerBound), limits.upperBound) : Self.resolutionDelay
        // At most half of the remaining time, so that the available answer is returned before the limit.
        let patience = min(whole, (deadline - now) / 2)
        let end = now + patience
        guard patienceEnd.map({ end < $0 }) ?? true else { return .keepWaiting }
        (self.patience, patienceEnd) = (patience, end)
        return .wait(until: end)
    }

    /// Records that the requests without an outcome are not awaited any longer.
    mutating func giveUp() {
        let message = "no answer within \(patience.shortText) of the addresses"
        for question in questions where outcomes[question] == nil {
            outcomes[question] = .failure(HTTPDNSProviderError(code: .timedOut, message: message))
        }
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
        try Task.checkCancellation()
        let gathering = Lock(
            QuestionGathering(
                families: families,
                wantsHTTPSRecords: httpsRecords != nil,
                since: time.now(),
                deadline: deadline
            )
        )
        let alarms = Lock<[Alarm]>([])
        let end = OneShot<Void>()
        let receive: @Sendable (QuestionGathering.Question, QuestionGathering.Outcome) -> Void = { [time] in
            let (question, outcome) = ($0, $1)
            let now = time.now()
            switch gathering.withLock({ $0.received(outcome, for: question, at: now) }) {
            case .keepWaiting: break
            case .done: end.deliver()
            case .wait(let moment):
                let alarm = time.alarm(at: moment) {
                    gathering.withLock { $0.giveUp() }
                    end.deliver()
                    return nil
                }
                alarms.withLock { $0.append(alarm) }
                if end.isDelivered { alarm.cancel() }
            }
        }
        let tasks = gathering.withLock(\.questions).map { question in
            CallWork.immediate {
                let outcome = await Self.outcome {
                    if question == .httpsRecords, let httpsRecords { return .httpsRecords(try await httpsRecords()) }
                    return .addresses(try await ask(question == .v4 ? .v4 : .v6))
                }
                receive(question, outcome)
            }
        }
        if !gathering.withLock(\.isComplete) { await end.value(orOnCancel: ()) }
        for task in tasks { task.cancel() }
        for alarm in alarms.withLock({ $0 }) { alarm.cancel() }
        if Task.isCancelled { throw CancellationError() }
        return try gathering.withLock { $0 }.answer()
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
