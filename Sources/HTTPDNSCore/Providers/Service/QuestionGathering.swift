internal import HTTPDNSPrimitives

/// The questions of one query that are under way: which have their outcomes, and how long the others are waited for.
struct QuestionGathering {
    enum Question: Hashable, Sendable {
        case v4, v6, services
    }

    enum Outcome: Sendable {
        case addresses(HTTPDNSProviderAnswer.Family)
        case services(HTTPDNSProviderAnswer.HTTPSRecords)
        case failure(HTTPDNSProviderError)
        case cancelled

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
        /// Tell when this moment is there, by ``Event/patienceEnded``.
        case wait(until: MonotonicTime)
        /// Cancel the questions that have no outcome yet.
        case giveUp
    }

    /// How long the second family is waited for once the first has addresses. Name servers that leave AAAA queries without
    /// an answer exist, and must not cost every look-up its whole time limit. RFC 8305 section 3 waits 50 ms; this waits
    /// longer, because a family that is given up is missing for seconds.
    static let longestPatience: Duration = .milliseconds(500)
    /// The least time that services are waited for once the addresses are there (RFC 9460 section 5.1). They were asked for
    /// at the same moment, so that they should need no longer than the addresses.
    static let leastPatienceForServices: Duration = .milliseconds(50)

    let questions: [Question]
    private let start: MonotonicTime
    private let deadline: MonotonicTime
    private var outcomes: [Question: Outcome] = [:]
    /// How long the questions that are left were waited for, the last time that was decided.
    private var patience: Duration = .zero
    private var isGivenUp = false

    init(families: HTTPDNSAddress.Families, wantsServices: Bool, since start: MonotonicTime, deadline: MonotonicTime) {
        var questions: [Question] = []
        if families.contains(.v4) { questions.append(.v4) }
        if families.contains(.v6) { questions.append(.v6) }
        if wantsServices { questions.append(.services) }
        self.questions = questions
        self.start = start
        self.deadline = deadline
    }

    /// Whether nothing is waited for any more.
    var isComplete: Bool { outcomes.count == questions.count }

    /// Takes note of what happened, and says what is to be done for the questions that are left.
    mutating func received(_ event: Event, at now: MonotonicTime) -> Action {
        guard case .outcome(let question, let outcome) = event else {
            isGivenUp = true
            return .giveUp
        }
        if case .cancelled = outcome, isGivenUp {
            let message = "no answer within \(patience.shortText) of the addresses"
            outcomes[question] = .failure(HTTPDNSProviderError(code: .timedOut, message: message))
        } else {
            outcomes[question] = outcome
        }
        guard !isComplete, !isGivenUp, question != .services else { return .keepWaiting }

        let left = questions.filter { outcomes[$0] == nil }
        if left == [.services] {
            patience = min(max(now - start, Self.leastPatienceForServices), Self.longestPatience)
        } else if outcome.hasAddresses {
            patience = Self.longestPatience
        } else {
            return .keepWaiting
        }
        // Half of the time at most: the answer that is there must be back before the limit.
        patience = min(patience, (deadline - now) / 2)
        return .wait(until: now + patience)
    }

    /// The answer of all questions.
    /// - Throws: ``HTTPDNSProviderError`` when no family has a message; `CancellationError`.
    func answer() throws -> HTTPDNSProviderAnswer {
        var answer = HTTPDNSProviderAnswer()
        var failures: [HTTPDNSProviderError] = []
        var isAnswered = false
        for question in questions {
            switch outcomes[question] {
            case nil: continue
            case .cancelled: throw CancellationError()
            case .services(let services): answer.services = services
            case .addresses(let family):
                answer[family: question] = family
                isAnswered = true
            case .failure(let error) where question == .services:
                answer.services = .failed(error)
            case .failure(let error):
                answer[family: question] = .failed(error)
                failures.append(error)
            }
        }
        if !isAnswered, let failure = failures.first { throw failure }
        return answer
    }
}

extension HTTPDNSProviderAnswer {
    fileprivate subscript(family question: QuestionGathering.Question) -> HTTPDNSProviderAnswer.Family? {
        get { question == .v4 ? v4 : v6 }
        set { if question == .v4 { v4 = newValue } else { v6 = newValue } }
    }
}
