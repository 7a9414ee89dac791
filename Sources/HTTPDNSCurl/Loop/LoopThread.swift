internal import CHTTPDNSCurl

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

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
                #if canImport(Darwin)
                pthread_setname_np(name)
                #else
                ccurl_name_thread(name)
                #endif
                body()
            }
        )
        #if canImport(Darwin)
        var thread: pthread_t?
        #else
        var thread = pthread_t()
        #endif
        let result = pthread_create(
            &thread,
            nil,
            { argument in
                #if canImport(Darwin)
                Unmanaged<Box>.fromOpaque(argument).takeRetainedValue().body()
                #else
                if let argument { Unmanaged<Box>.fromOpaque(argument).takeRetainedValue().body() }
                #endif
                return nil
            },
            box.toOpaque()
        )
        guard result == 0 else {
            box.release()
            return false
        }
        #if canImport(Darwin)
        if let thread { pthread_detach(thread) }
        #else
        pthread_detach(thread)
        #endif
        return true
    }
}
