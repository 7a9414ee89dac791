// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNS
internal import HTTPDNSPrimitives

/// The stubs and the history of one scope: those of a set outside all scopes, or those of one ``HTTPDNSStubs/scope(_:)``.
final class StubLayer: Sendable {
    /// A stub as it is asked.
    struct Entry: Sendable {
        let number: UInt64
        let label: String
        let predicate: HTTPDNSClient.RequestPredicate
        var answers = AnswerSequence()
    }

    private struct State {
        /// The stubs, the newest first.
        var entries: [Entry] = []
        var lastNumber: UInt64 = 0
        var requests: [HTTPDNSStubs.ReceivedRequest] = []
        /// The bytes of the bodies in the history.
        var bodyBytes = 0
    }

    /// The maximum number of requests in the history; the oldest ones leave it.
    static let historyLimit = 10_000
    /// The maximum number of bytes of the bodies in the history.
    static let bodyLimit = 64 << 20

    private let state = Lock(State())

    /// The stubs, the newest first.
    var entries: [Entry] { state.withLock { $0.entries } }
    /// The received requests, the oldest first.
    var requests: [HTTPDNSStubs.ReceivedRequest] { state.withLock { $0.requests } }

    /// Adds a stub before all others, and returns its number.
    func add(_ predicate: HTTPDNSClient.RequestPredicate, label: String) -> UInt64 {
        state.withLock { state in
            state.lastNumber += 1
            state.entries.insert(Entry(number: state.lastNumber, label: label, predicate: predicate), at: 0)
            return state.lastNumber
        }
    }

    /// Returns a stub; nil after its removal.
    func entry(_ number: UInt64) -> Entry? { entries.first { $0.number == number } }

    // Predicates, answers and requests have closures of the test: what is removed is released after the lock.

    func remove(_ number: UInt64) { state.change { $0.entries.removeAll { $0.number == number } } }

    func removeAll() { state.change { $0.entries = [] } }

    func forgetRequests() { state.change { ($0.requests, $0.bodyBytes) = ([], 0) } }

    /// Appends to the answers of a stub; has no effect after its removal.
    func append(_ answer: HTTPDNSStubs.Answer?, times: Int?, to number: UInt64) {
        change(number) { $0.answers.append(answer, times: times) }
    }

    /// Takes the answer of a stub to a request that fulfills its predicate.
    func use(_ number: UInt64) -> AnswerSequence.Use { change(number) { $0.answers.next() } ?? .ended }

    /// Records a request.
    func note(_ request: HTTPDNSStubs.ReceivedRequest) {
        _ = state.withLock { state -> [HTTPDNSStubs.ReceivedRequest] in
            state.requests.append(request)
            state.bodyBytes += request.body.count
            // A tenth at a time, so that a long run does not move the list with each request.
            var count = state.requests.count > Self.historyLimit ? Self.historyLimit / 10 : 0
            var bytes = state.requests.prefix(count).reduce(0) { $0 + $1.body.count }
            let room = Self.bodyLimit - (state.bodyBytes > Self.bodyLimit ? Self.bodyLimit / 10 : 0)
            while state.bodyBytes - bytes > room, count < state.requests.count - 1 {
                bytes += state.requests[count].body.count
                count += 1
            }
            let oldest = Array(state.requests.prefix(count))
            state.requests.removeFirst(count)
            state.bodyBytes -= bytes
            return oldest
        }
    }

    @discardableResult
    private func change<Result: Sendable>(
        _ number: UInt64,
        _ change: @Sendable (inout Entry) -> Result
    ) -> Result? {
        state.withLock { state in
            guard let index = state.entries.firstIndex(where: { $0.number == number }) else { return nil }
            return change(&state.entries[index])
        }
    }
}
