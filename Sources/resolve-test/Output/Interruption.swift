internal import Dispatch
internal import Foundation
internal import HTTPDNSPrimitives

/// The handling of Ctrl-C and similar signals: the first cancels the work, so that temporary files are removed and connections
/// are closed; the second ends the process.
final class Interruption: Sendable {
    private struct State {
        var received: Int32?
        var sources: [any DispatchSourceSignal] = []
    }

    private let state = Lock(State())

    /// The exit status after a signal: 130 for Ctrl-C.
    var exitStatus: Int32? { state.withLock { $0.received.map(ExitStatus.signal) } }

    func cancelOnSignal(_ work: Task<Int32, Never>) {
        for number in [SIGINT, SIGTERM, SIGHUP] {
            // The default action would end the process before the source receives the signal. A signal that was ignored before
            // the program began stays ignored: nohup and shells without job control use that.
            guard !Self.isIgnore(signal(number, SIG_IGN)) else { continue }
            state.withLock { state in
                let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
                source.setEventHandler { [self] in received(number, work) }
                source.resume()
                state.sources.append(source)
            }
        }
    }

    private static func isIgnore(_ action: sighandler_t?) -> Bool {
        unsafeBitCast(action, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    }

    private func received(_ number: Int32, _ work: Task<Int32, Never>) {
        state.withLock { $0.received = $0.received ?? number }
        signal(number, SIG_DFL)
        work.cancel()
    }

    /// Ends the program like others whose reader has gone (`| head`): no message, 141 in the shell.
    static func endAsBrokenPipe() -> Never {
        signal(SIGPIPE, SIG_DFL)
        raise(SIGPIPE)
        exit(ExitStatus.signal(SIGPIPE))
    }
}
