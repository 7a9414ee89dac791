// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import HTTPDNSPrimitives
internal import HTTPTypes

/// The credential of one request, with a field for each try of it. The tries of a hop use it one after the other.
final class RequestAuthorization: Sendable {
    private struct State {
        /// The value of the last field.
        var value: [UInt8]?
        /// The Digest answer in the last field.
        var answer: DigestAnswer?
        var isUsed = false
    }

    /// The origin that the field is for.
    let origin: HTTPDNSClient.Origin
    /// The memory that counts the uses of a nonce; nil for the schemes without one.
    private let memory: AuthenticationMemory?
    private let state: Lock<State>

    /// Creates an authorization whose field is the same for each try.
    init(_ value: String, at origin: HTTPDNSClient.Origin) {
        self.origin = origin
        memory = nil
        state = Lock(State(value: Array(value.utf8)))
    }

    /// Creates an authorization whose later tries count further uses of the answer's nonce.
    init(_ answer: DigestAnswer, countedBy memory: AuthenticationMemory, at origin: HTTPDNSClient.Origin) {
        self.origin = origin
        self.memory = memory
        state = Lock(State(value: answer.fieldValue, answer: answer))
    }

    /// Whether each copy of the request needs a field of its own.
    var isCounted: Bool { memory != nil }

    /// The Digest answer of the last try; nil for other schemes.
    var answer: DigestAnswer? { state.withLock { $0.answer } }

    /// Returns the field of the next try; nil when its nonce cannot be used any more.
    func nextField(_ name: HTTPField.Name = .authorization) -> HTTPField? {
        var (value, answer, isUsed) = state.withLock { state in
            defer { state.isUsed = true }
            return (state.value, state.answer, state.isUsed)
        }
        // An earlier try may have reached the server, which refuses a count that it has seen.
        if isUsed, let memory, let last = answer {
            answer = memory.next(after: last)
            value = answer?.fieldValue
            state.withLock { ($0.value, $0.answer) = (value, answer) }
        }
        return value.map { .authorization($0, name) }
    }

    /// Whether a field is that of the last try.
    func isField(_ field: HTTPField) -> Bool {
        guard field.name == .authorization, let value = state.withLock({ $0.value }) else { return false }
        return field.withUnsafeBytesOfValue { $0.elementsEqual(value) }
    }
}
