// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if CommandLine && NIO && YAML
internal import Foundation
internal import HTTPDNSPrimitives

/// The signals of a program that runs a command: those of the terminal reach both, and others are passed on.
final class ForwardedSignals: Sendable {
    private struct State {
        var child: ChildProcess?
        /// Those that came while there was no child.
        var waiting: [Int32] = []
        var sources: [any DispatchSourceSignal] = []
    }

    private let state = Lock(State())

    init() {
        for number in Interruption.changedSignals
        where number != SIGPIPE && !Interruption.ignoredAtStart.contains(number) {
            signal(number, SIG_IGN)
            state.withLock { state in
                let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
                source.setEventHandler { [self] in pass(number) }
                source.resume()
                state.sources.append(source)
            }
        }
    }

    /// Passes signals on to a child until it ends, also those that have come before it.
    func forwarded(to child: ChildProcess) async -> ChildProcess.End {
        let waiting = state.withLock { state in
            state.child = child
            defer { state.waiting = [] }
            return state.waiting
        }
        for number in waiting { child.send(number) }
        defer { state.withLock { $0.child = nil } }
        return await child.end()
    }

    /// Whether this program is in the foreground of a terminal (tty_ioctl(4)).
    private var hasTerminal: Bool {
        let terminal = open("/dev/tty", O_RDONLY | O_CLOEXEC)
        defer { if terminal >= 0 { close(terminal) } }
        return terminal >= 0 && tcgetpgrp(terminal) == getpgrp()
    }

    private func pass(_ number: Int32) {
        let child = state.withLock { state in
            if state.child == nil { state.waiting.append(number) }
            // The terminal sends these to the command too, if it sends them here.
            return [SIGINT, SIGQUIT].contains(number) && hasTerminal ? nil : state.child
        }
        child?.send(number)
    }

    /// Ends this program by the signal that ended the command, without a second core file.
    static func end(by number: Int32) -> Never {
        var limit = rlimit(rlim_cur: 0, rlim_max: 0)
        setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit)
        signal(number, SIG_DFL)
        var numbers = sigset_t()
        sigemptyset(&numbers)
        sigaddset(&numbers, number)
        pthread_sigmask(SIG_UNBLOCK, &numbers, nil)
        kill(getpid(), number)
        exit(ExitStatus.signal(number))
    }
}
#endif
