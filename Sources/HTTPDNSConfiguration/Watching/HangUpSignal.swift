#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// A handler for SIGHUP. While it exists, the signal does not end the process.
final class HangUpSignal: Sendable {
    private let source: RunningSource

    init(_ handler: @escaping @Sendable () -> Void) {
        #if canImport(Darwin)
        // On macOS the source is called although the signal is ignored; on Linux it installs its own handler.
        signal(SIGHUP, SIG_IGN)
        #endif
        source = RunningSource.signal(SIGHUP, handler)
    }

    /// Ends the calls. Idempotent.
    func end() { source.cancel() }
}
