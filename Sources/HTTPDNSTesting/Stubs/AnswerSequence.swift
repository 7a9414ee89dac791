// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

/// The answers of one stub in their order, and the number of requests that each of them has had.
struct AnswerSequence: Sendable {
    /// A part of the sequence.
    struct Step: Sendable {
        /// The answer; nil for requests that the stub leaves to older ones.
        let answer: HTTPDNSStubs.Answer?
        /// The number of requests that it is for; nil for all further ones.
        var times: Int?
        /// The number of requests that it was used for.
        var used = 0

        var isOpen: Bool { times.map { used < $0 } ?? true }
        /// Whether a request that the test expects has not arrived.
        var isPending: Bool { answer != nil && (times.map { used < $0 } ?? (used == 0)) }
    }

    /// The result for one request.
    enum Use: Sendable {
        case answer(HTTPDNSStubs.Answer)
        /// The stub leaves this request to older stubs.
        case skipped
        /// The stub has no answer, or none is left.
        case ended
    }

    private(set) var steps: [Step] = []

    /// The number of requests that were answered.
    var uses: Int { steps.reduce(0) { $0 + ($1.answer == nil ? 0 : $1.used) } }

    /// Appends an answer, or requests to leave to older stubs. An answer before it that had no number of its own is then for
    /// one request.
    mutating func append(_ answer: HTTPDNSStubs.Answer?, times: Int?) {
        if let last = steps.indices.last, steps[last].times == nil { steps[last].times = max(1, steps[last].used) }
        steps.append(Step(answer: answer, times: times.map { max(0, $0) }))
    }

    /// Takes the answer to the next request.
    mutating func next() -> Use {
        guard let index = steps.firstIndex(where: \.isOpen) else { return .ended }
        steps[index].used += 1
        return steps[index].answer.map { .answer($0) } ?? .skipped
    }

    /// The reason why the next request gets no answer; nil when it gets one.
    var reasonForNone: String? {
        if steps.isEmpty { return "it has no answer, respond(_:times:) is missing" }
        guard let step = steps.first(where: \.isOpen) else { return "its answers were used up by \(uses) requests" }
        guard step.answer == nil else { return nil }
        return "it skips \(step.times ?? 0) requests, and \(step.used) have arrived"
    }

    /// The answers that were used less often than the test expects.
    var pending: [PendingStep] {
        let answers = steps.filter { $0.answer != nil }
        return answers.enumerated().compactMap { index, step in
            guard step.isPending, let answer = step.answer else { return nil }
            return PendingStep(
                answer: answer.description,
                position: index + 1,
                count: answers.count,
                used: step.used,
                times: step.times ?? 1
            )
        }
    }

    /// An answer that was used less often than the test expects.
    struct PendingStep: Sendable {
        let answer: String
        /// The place among the answers of the stub, from 1.
        let position: Int
        let count: Int
        let used: Int
        let times: Int
    }
}
