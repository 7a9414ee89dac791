internal import HTTPDNSPrimitives

/// A serial queue of reloads, in the order of arrival, so that the last reload determines every setting.
final class ReloadSerializer: Sendable {
    private struct State {
        var isTaken = false
        var waiting: [UnsafeContinuation<Void, Never>] = []
    }

    private let state = Lock(State())

    /// The number of reloads that wait for the current one.
    var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Waits for the caller's turn, which ``end()`` ends.
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
            // The turn is passed on directly: no other reload gets in between.
            if !state.waiting.isEmpty { return state.waiting.removeFirst() }
            state.isTaken = false
            return nil
        }
        next?.resume()
    }
}
