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
        case waiter(OneShot<Outcome>)
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
            for waiter in table.waiting.withLock({ $0.removeValue(forKey: key) }) ?? [] { waiter.deliver(outcome) }
        }
    }

    private let waiting = Lock<[String: [OneShot<Outcome>]]>([:])

    /// - Parameter mayWait: Whether the caller waits for a leader.
    /// - Returns: Nil when there is a leader and the caller does not wait.
    func join(_ key: String, mayWait: Bool = true) -> Ticket? {
        let waiter = OneShot<Outcome>()
        let leads = waiting.withLock { waiting -> Bool? in
            guard waiting[key] != nil else {
                waiting[key] = []
                return true
            }
            guard mayWait else { return nil }
            waiting[key]?.append(waiter)
            return false
        }
        guard let leads else { return nil }
        return leads ? .leader(Lead(key, self)) : .waiter(waiter)
    }

    /// Returns the outcome of another request, or ``Outcome/notStorable`` at the deadline.
    /// - Throws: `CancellationError`.
    static func outcome(of waiter: OneShot<Outcome>, until deadline: MonotonicTime, on clock: any TimeSource)
        async throws
        -> Outcome
    {
        let timer = CallWork.detached {
            guard (try? await clock.sleep(until: deadline)) != nil else { return }
            waiter.deliver(.notStorable)
        }
        defer { timer.cancel() }
        let outcome = await withTaskCancellationHandler {
            await waiter.value()
        } onCancel: {
            waiter.deliver(.failed)
        }
        try Task.checkCancellation()
        return outcome
    }
}
