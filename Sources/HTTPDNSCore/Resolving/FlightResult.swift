internal import HTTPDNSPrimitives

/// What a flight comes back with.
enum FlightResult: Sendable {
    /// A definite answer.
    case answer(KnownAnswer)
    /// The system's answer after all providers failed as the error says.
    case fallback(KnownAnswer, HTTPDNSResolver.Error)
    /// Nobody had a definite answer. `spared` says that the system resolver was not asked, because a stale answer serves.
    case failure(HTTPDNSResolver.Error, sentAt: MonotonicTime, spared: Bool)
    /// Nobody was asked, because the machine had no thread for the lookup or no provider could send a query: nothing is known
    /// about the name, and nothing is remembered.
    case busy(HTTPDNSResolver.Error, sentAt: MonotonicTime)
}

/// The work of a flight.
struct FlightWork: Sendable {
    let task: Task<Void, Never>
    /// Delivered when the system resolver is to be asked now, where it stands in for providers.
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
