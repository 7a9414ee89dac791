#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// Calls somebody whenever the process gets SIGHUP. While there is one, the signal does not end the process.
final class HangUpSignal: Sendable {
    private let source: RunningSource

    init(_ handler: @escaping @Sendable () -> Void) {
        #if canImport(Darwin)
        // There the source is told although the signal is ignored; on Linux it installs a handler of its own.
        signal(SIGHUP, SIG_IGN)
        #endif
        source = RunningSource.signal(SIGHUP, handler)
    }

    /// Ends the calls. Idempotent.
    func end() { source.cancel() }
}
