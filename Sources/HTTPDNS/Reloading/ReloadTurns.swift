internal import HTTPDNSPrimitives

/// Lets one reload be made after the other, in the order of arrival, so that the last one has the last word about everything.
final class ReloadTurns: Sendable {
    private struct State {
        var isTaken = false
        var waiting: [UnsafeContinuation<Void, Never>] = []
    }

    private let state = Lock(State())

    /// How many wait for the one whose turn it is.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Waits until it is the caller's turn, which ``end()`` ends.
    func begin() async {
        await withUnsafeContinuation { continuation in
            let isFree = state.withLock { state in
                if state.isTaken { state.waiting.append(continuation) }
                defer { state.isTaken = true }
                return !state.isTaken
            }
            if isFree { continuation.resume() }
        }
    }

    func end() {
        let next = state.withLock { state -> UnsafeContinuation<Void, Never>? in
            // The turn is handed on: nobody comes in between.
            if !state.waiting.isEmpty { return state.waiting.removeFirst() }
            state.isTaken = false
            return nil
        }
        next?.resume()
    }
}
