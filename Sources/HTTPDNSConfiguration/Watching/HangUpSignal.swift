internal import Glibc

/// A handler for SIGHUP. While it exists, the signal does not end the process.
final class HangUpSignal: Sendable {
    private let source: RunningSource

    init(_ handler: @escaping @Sendable () -> Void) {
        source = RunningSource.signal(SIGHUP, handler)
    }

    /// Ends the calls. Idempotent.
    func end() { source.cancel() }
}
