// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine && NIO && YAML
internal import Foundation
internal import HTTPDNSPrimitives

/// The question to an agent whether it still works, through its own socket.
///
/// libnss-resolve waits 120 s for an agent that is stopped or hangs, and a moment for one that is gone: a process that does not
/// reply is better killed.
enum AgentWatchdog {
    /// The time between two questions, and the limit of each.
    static let interval = Duration.seconds(1)
    /// The time that an agent has to open its socket.
    static let startLimit = Duration.seconds(60)

    enum Answer {
        case replied
        /// Nobody listens, or the connection was closed: the agent ends, or has ended, or has its limit of connections.
        case closed
        /// It hangs.
        case silent
    }

    /// Asks an agent. Blocks for the limit at most.
    static func ask(_ path: String) -> Answer {
        guard let address = UnixSocketAddress(path: path),
            let descriptor = try? UnixSocketAddress.newSocket(isBlocking: true)
        else { return .closed }
        defer { close(descriptor) }
        var limit = timeval(tv_sec: 1, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        do throws(SystemErrorNumber) {
            try address.connect(descriptor)
        } catch {
            return error.number == EAGAIN ? .silent : .closed
        }
        let question = Array(#"{"method":"org.varlink.service.GetInfo"}"#.utf8) + [0]
        _ = send(descriptor, question, question.count, Int32(MSG_NOSIGNAL))
        var reply: UInt8 = 0
        let count = recv(descriptor, &reply, 1, 0)
        return count == 1 ? .replied : count < 0 && errno == EAGAIN ? .silent : .closed
    }

    /// Asks at the interval, on a thread of its own, until the agent does not reply or `continues` returns false.
    /// - Parameters:
    ///   - path: The path of its socket; without one nothing is asked, and the agent counts as alive.
    ///   - onReply: Called after each reply, on that thread.
    /// - Returns: Whether the agent did not reply.
    static func watch(
        _ path: String?,
        while continues: @escaping @Sendable () -> Bool,
        onReply: @escaping @Sendable () -> Void = {}
    ) async -> Bool {
        let result = OneShot<Bool>()
        let hasThread = DetachedThread.start {
            while continues() {
                if let path, ask(path) == .silent { return _ = result.deliver(continues()) }
                onReply()
                usleep(UInt32(interval.wholeNanoseconds / 1_000))
            }
            result.deliver(false)
        }
        return hasThread ? await result.value() : false
    }
}
#endif
