internal import HTTPDNSPrimitives

/// The result of a lookup.
enum FlightResult: Sendable {
    /// A definite answer.
    case answer(KnownAnswer)
    /// The system resolver's answer, after all providers failed with the given error.
    case fallback(KnownAnswer, HTTPDNSResolver.Error)
    /// No source had a definite answer. `spared` means that the system resolver was not queried, because a stale answer is
    /// served.
    case failure(HTTPDNSResolver.Error, sentAt: MonotonicTime, spared: Bool)
    /// No query was sent, because there was no thread for the lookup or no provider could send one. Nothing is known about the
    /// name, and nothing is cached.
    case busy(HTTPDNSResolver.Error, sentAt: MonotonicTime)
}

/// The task of a lookup.
struct FlightWork: Sendable {
    let task: Task<Void, Never>
    /// Delivered when the system resolver is to be queried now, for a route with the system resolver as fallback.
    let hurry: OneShot<Void>

    func cancel() { task.cancel() }
}

extension FlightResult {
    /// The answer, if there is one.
    var answer: KnownAnswer? {
        switch self {
        case .answer(let answer), .fallback(let answer, _): answer
        case .failure, .busy: nil
        }
    }
}
