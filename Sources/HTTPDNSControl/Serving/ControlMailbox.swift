// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNSPrimitives

/// The messages from request tasks to the socket's thread, with a descriptor that wakes the thread.
///
/// Sharing is safe: the descriptors never change, and the kernel serializes writes to them.
final class ControlMailbox: Sendable {
    enum Message: Sendable {
        /// A line for a connection.
        case line([UInt8], UInt64)
        /// A request of a connection was performed.
        case performed(ControlRequest, UInt64)
        /// The socket shuts down.
        case stop
    }

    private let messages = Lock<[Message]>([])
    /// The descriptor that the thread waits on.
    let descriptor: Int32
    private let writeEnd: Int32

    /// - Throws: The number of the system's error.
    init() throws(SystemErrorNumber) {
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw SystemErrorNumber(errno) }
        for end in ends {
            _ = fcntl(end, F_SETFL, O_NONBLOCK)
            _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        }
        (descriptor, writeEnd) = (ends[0], ends[1])
    }

    func post(_ message: Message) {
        let isFirst = messages.withLock { messages in
            messages.append(message)
            return messages.count == 1
        }
        guard isFirst else { return }
        var one: UInt8 = 1
        _ = write(writeEnd, &one, 1)
    }

    /// Returns all messages since the last call.
    func take() -> [Message] {
        // First the pipe: messages posted in between are returned now, and their wake-up costs one extra turn.
        var octets = [UInt8](repeating: 0, count: 64)
        while read(descriptor, &octets, octets.count) > 0 {}
        return messages.withLock { messages in
            defer { messages = [] }
            return messages
        }
    }

    deinit {
        close(descriptor)
        close(writeEnd)
    }
}
