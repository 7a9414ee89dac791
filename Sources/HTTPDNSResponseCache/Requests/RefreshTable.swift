// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSCore
internal import HTTPDNSPrimitives

/// The requests in flight that may store a response, by key: one for each key. Others wait for it.
final class RefreshTable: Sendable {
    /// The end of a wait.
    enum Outcome: Sendable {
        /// The response is stored: the waiter looks for it.
        case stored
        /// The request was canceled, or its body was not read to its end: one of the waiters takes its place.
        case failed
        /// The request failed or its response may not be stored: each waiter sends its own request.
        case notStorable
    }

    enum Ticket: Sendable {
        case leader(Lead)
        case waiter(Waiter)
    }

    /// The place of a request that waits.
    struct Waiter: Sendable {
        fileprivate let key: String
        fileprivate let number: UInt64
        fileprivate let outcome = OneShot<Outcome>()
    }

    /// The right to fetch the response of a key. Its last reference ends it with ``Outcome/failed``.
    final class Lead: Sendable {
        private let key: String
        private let table: RefreshTable
        private let isEnded = Lock(false)

        fileprivate init(_ key: String, _ table: RefreshTable) {
            self.key = key
            self.table = table
        }

        deinit { end(.failed) }

        func end(_ outcome: Outcome) {
            let isFirst = isEnded.withLock { isEnded in
                defer { isEnded = true }
                return !isEnded
            }
            guard isFirst else { return }
            let waiters = table.state.withLock { $0.waiting.removeValue(forKey: key) }
            for waiter in (waiters ?? [:]).values { waiter.deliver(outcome) }
        }
    }

    private struct State: Sendable {
        /// The waiters of each key that has a leader, by number.
        var waiting: [String: [UInt64: OneShot<Outcome>]] = [:]
        var lastNumber: UInt64 = 0
    }

    private let state = Lock(State())

    /// The number of keys whose response is being fetched.
    var leadCount: Int { state.withLock { $0.waiting.count } }

    /// The number of requests that wait.
    var waiterCount: Int { state.withLock { $0.waiting.values.reduce(0) { $0 + $1.count } } }

    /// - Parameter mayWait: Whether the caller waits for a leader.
    /// - Returns: Nil when there is a leader and the caller does not wait.
    func join(_ key: String, mayWait: Bool = true) -> Ticket? {
        let place = state.withLock { state -> Waiter?? in
            guard state.waiting[key] != nil else {
                state.waiting[key] = [:]
                return .some(nil)
            }
            guard mayWait else { return nil }
            state.lastNumber += 1
            let waiter = Waiter(key: key, number: state.lastNumber)
            state.waiting[key]?[waiter.number] = waiter.outcome
            return waiter
        }
        guard let place else { return nil }
        return place.map(Ticket.waiter) ?? .leader(Lead(key, self))
    }

    /// Returns the outcome of another request, or ``Outcome/notStorable`` at the deadline.
    /// - Throws: `CancellationError`.
    func outcome(of waiter: Waiter, until deadline: MonotonicTime, on clock: any TimeSource) async throws -> Outcome {
        let timer = CallWork.detached {
            guard (try? await clock.sleep(until: deadline)) != nil else { return }
            waiter.outcome.deliver(.notStorable)
        }
        defer { timer.cancel() }
        let outcome = await withTaskCancellationHandler {
            await waiter.outcome.value()
        } onCancel: {
            waiter.outcome.deliver(.failed)
        }
        // The leader may need much longer than this request waits.
        state.withLock { _ = $0.waiting[waiter.key]?.removeValue(forKey: waiter.number) }
        try Task.checkCancellation()
        return outcome
    }
}
