// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNSPrimitives

/// A waiter for an event of a ``RawServer``.
struct RawServerWaiter: Sendable {
    let deadline: ContinuousClock.Instant
    let condition: @Sendable ([RawServer.Connection]) -> Bool
    let continuation: CheckedContinuation<[RawServer.Connection], any Error>
}

/// The messages of other threads to the server's thread, and the state that they can read.
final class RawServerInbox: Sendable {
    enum Message: Sendable {
        case stop
        case refuse
        case swallow(RawServer.Packets)
        case restore
        case wake
        case wait(RawServerWaiter)
    }

    private struct State {
        var messages: [Message] = []
        var connections: [RawServer.Connection] = []
        var isStopped = false
    }

    private let state = Lock(State())
    private let bell: FileDescriptor

    init(bell: FileDescriptor) { self.bell = bell }

    var connections: [RawServer.Connection] { state.withLock { $0.connections } }

    func post(_ message: Message) {
        let isTooLate = state.withLock { state in
            if !state.isStopped { state.messages.append(message) }
            return state.isStopped
        }
        if isTooLate {
            if case .wait(let waiter) = message {
                waiter.continuation.resume(throwing: RigError("the server has stopped"))
            }
        } else {
            var byte: UInt8 = 0
            // The server may have ended meanwhile.
            send(bell.number, &byte, 1, Int32(MSG_NOSIGNAL))
        }
    }

    func takeMessages() -> [Message] {
        state.withLock { state in
            let messages = state.messages
            state.messages = []
            return messages
        }
    }

    func publish(_ connections: [RawServer.Connection]) { state.withLock { $0.connections = connections } }

    /// - Returns: The messages that were too late to be handled.
    func close() -> [Message] {
        state.withLock { state in
            state.isStopped = true
            let messages = state.messages
            state.messages = []
            return messages
        }
    }
}
