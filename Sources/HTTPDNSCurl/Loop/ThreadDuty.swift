#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#else
internal import Darwin
#endif

/// Threads that others wait for: those of loops, and those on which the work of blocking calls is done. Whoever waits on one of
/// them for what only it can do waits for ever.
package enum ThreadDuty {
    /// Nil when the process has no key left (PTHREAD_KEYS_MAX, 1024 with glibc); then no thread is known as one of these.
    private static let key: pthread_key_t? = {
        var key = pthread_key_t()
        return pthread_key_create(&key, nil) == 0 ? key : nil
    }()

    /// Whether others wait for the present thread.
    package static var isOnDuty: Bool {
        guard let key else { return false }
        return pthread_getspecific(key) != nil
    }

    /// Others wait for the present thread from here on.
    static func begin() {
        // Any pointer but nil says so.
        if let key { pthread_setspecific(key, UnsafeMutableRawPointer(bitPattern: 1)) }
    }
}
