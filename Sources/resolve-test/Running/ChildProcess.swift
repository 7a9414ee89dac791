// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine && NIO && YAML
internal import Foundation
internal import HTTPDNSPrimitives

/// A program that this one has started: in its process group, with its standard streams.
final class ChildProcess: Sendable {
    /// The number of the process.
    let identifier: Int32
    private let ended: OneShot<End>
    private let state = Lock(State())

    private struct State {
        var isOver = false
        var isAskedToEnd = false
    }

    /// The end of a process.
    enum End: Hashable, Sendable {
        case exited(Int32)
        case signal(Int32)
    }

    /// Starts a program.
    /// - Parameter arguments: Its path and its arguments.
    /// - Throws: The number of the system's error.
    static func start(
        _ arguments: [String],
        environment: [String: String]
    ) async throws(SystemErrorNumber) -> ChildProcess {
        let started = OneShot<Result<ChildProcess, SystemErrorNumber>>()
        // One thread starts it and waits for it: a child's signal at the death of its parent, which those of this program ask for,
        // follows the thread that started it.
        let hasThread = DetachedThread.start {
            let result = spawn(arguments, environment).map { ChildProcess($0) }
            started.deliver(result)
            if case .success(let child) = result { child.wait() }
        }
        guard hasThread else { throw SystemErrorNumber(EAGAIN) }
        return try await started.value().get()
    }

    private init(_ identifier: Int32) {
        self.identifier = identifier
        ended = OneShot()
    }

    private func wait() {
        // Its number stays its own until it is reaped, and it gets no signal afterwards.
        var information = siginfo_t()
        while waitid(P_PID, id_t(identifier), &information, WEXITED | WNOWAIT) < 0, errno == EINTR {}
        state.withLock { $0.isOver = true }
        var status: Int32 = 0
        while waitpid(identifier, &status, 0) < 0, errno == EINTR {}
        let signal = status & 0x7f
        ended.deliver(signal == 0 ? .exited((status >> 8) & 0xff) : .signal(signal))
    }

    /// Whether it has ended, or is about to: it was asked to.
    var isEnding: Bool { state.withLock { $0.isOver || $0.isAskedToEnd } }

    /// Asks it to end.
    func terminate() {
        state.withLock { $0.isAskedToEnd = true }
        send(SIGTERM)
    }

    /// Waits for its end.
    func end() async -> End { await ended.value() }

    /// Sends a signal, unless the process has ended: its number may be another one's by then.
    func send(_ signal: Int32) { state.withLock { if !$0.isOver { kill(identifier, signal) } } }

    private static func spawn(_ arguments: [String], _ environment: [String: String]) -> Result<
        Int32, SystemErrorNumber
    > {
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        var defaults = sigset_t()
        sigemptyset(&defaults)
        // This program ignores some of them.
        for signal in Interruption.changedSignals where !Interruption.ignoredAtStart.contains(signal) {
            sigaddset(&defaults, signal)
        }
        posix_spawnattr_setsigdefault(&attributes, &defaults)
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK))
        let texts = [arguments, environment.map { "\($0)=\($1)" }].map { $0.map { strdup($0) } + [nil] }
        defer { for text in texts.joined() { free(text) } }
        var identifier: Int32 = 0
        let error = posix_spawn(&identifier, arguments[0], nil, &attributes, texts[0], texts[1])
        return error == 0 ? .success(identifier) : .failure(SystemErrorNumber(error))
    }
}
#endif
