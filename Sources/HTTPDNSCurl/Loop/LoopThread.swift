internal import CHTTPDNSCurl
internal import Glibc

/// Threads for loops: named, detached, and with all signals blocked except faults; the others are the application's.
enum LoopThread {
    /// - Returns: Whether the system created the thread.
    static func start(named name: String, _ body: @escaping @Sendable () -> Void) -> Bool {
        final class Box {
            let body: @Sendable () -> Void
            init(_ body: @escaping @Sendable () -> Void) { self.body = body }
        }
        let box = Unmanaged.passRetained(
            Box {
                var signals = sigset_t()
                sigfillset(&signals)
                // A blocked fault of the thread itself would end the process without a hint of its location.
                for fault in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT] { sigdelset(&signals, fault) }
                pthread_sigmask(SIG_SETMASK, &signals, nil)
                // The kernel keeps 15 bytes of a name.
                let name = String(decoding: name.utf8.prefix(15), as: UTF8.self)
                ccurl_name_thread(name)
                body()
            }
        )
        var thread = pthread_t()
        let result = pthread_create(
            &thread,
            nil,
            { argument in
                if let argument { Unmanaged<Box>.fromOpaque(argument).takeRetainedValue().body() }
                return nil
            },
            box.toOpaque()
        )
        guard result == 0 else {
            box.release()
            return false
        }
        pthread_detach(thread)
        return true
    }
}
