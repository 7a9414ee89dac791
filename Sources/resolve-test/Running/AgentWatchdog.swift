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

    /// Returns whether an agent replies. Blocks for the limit at most.
    static func isAlive(_ path: String) -> Bool {
        guard let address = UnixSocketAddress(path: path),
            let descriptor = try? UnixSocketAddress.newSocket(isBlocking: true)
        else { return false }
        defer { close(descriptor) }
        var limit = timeval(tv_sec: 1, tv_usec: 0)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &limit, socklen_t(MemoryLayout<timeval>.size))
        }
        guard (try? address.connect(descriptor)) != nil else { return false }
        let question = Array(#"{"method":"org.varlink.service.GetInfo"}"#.utf8) + [0]
        guard send(descriptor, question, question.count, Int32(MSG_NOSIGNAL)) == question.count else { return false }
        var reply: UInt8 = 0
        return recv(descriptor, &reply, 1, 0) == 1
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
                // Without its socket it ends, or nobody can ask it.
                guard path.map({ isAlive($0) || access($0, F_OK) != 0 }) ?? true else {
                    return _ = result.deliver(continues())
                }
                onReply()
                usleep(UInt32(interval.wholeNanoseconds / 1_000))
            }
            result.deliver(false)
        }
        return hasThread ? await result.value() : false
    }
}
#endif
