internal import HTTPDNSPrimitives

/// A caller's wait for a lookup. The first of result, deadline and cancellation ends it, once.
final class Lookup: Sendable {
    typealias Outcome = Result<[HTTPDNSAddress], SystemResolverError>

    private enum State {
        case new
        case waiting(CheckedContinuation<Outcome, Never>)
        case settled(Outcome)
    }

    let id: LookupPool.ID
    let host: HTTPDNSName
    let families: HTTPDNSAddress.Families
    private let state = Lock(State.new)

    init(id: LookupPool.ID, host: HTTPDNSName, families: HTTPDNSAddress.Families) {
        self.id = id
        self.host = host
        self.families = families
    }

    var isSettled: Bool {
        state.withLock { if case .settled = $0 { true } else { false } }
    }

    /// Resumes the continuation with the outcome, now or as soon as there is one.
    func wait(_ continuation: CheckedContinuation<Outcome, Never>) {
        let outcome: Outcome? = state.withLock { state in
            if case .settled(let outcome) = state { return outcome }
            state = .waiting(continuation)
            return nil
        }
        if let outcome { continuation.resume(returning: outcome) }
    }

    /// Ends the wait. The first call decides; later ones have no effect.
    func settle(_ outcome: Outcome) {
        let continuation: CheckedContinuation<Outcome, Never>? = state.withLock { state in
            switch state {
            case .new:
                state = .settled(outcome)
                return nil
            case .waiting(let continuation):
                state = .settled(outcome)
                return continuation
            case .settled:
                return nil
            }
        }
        continuation?.resume(returning: outcome)
    }
}
