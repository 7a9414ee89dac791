internal import Glibc

/// The threads that others wait for: those of loops, and those that do the work of blocking calls. A blocking wait on such a
/// thread, for work that only this thread can do, never ends.
package enum BlockingCallGuard {
    /// The key; `nil` when the process has none left (PTHREAD_KEYS_MAX, 1024 with glibc). No thread is then known to be one
    /// of these.
    private static let key: pthread_key_t? = {
        var key = pthread_key_t()
        return pthread_key_create(&key, nil) == 0 ? key : nil
    }()

    /// Whether others wait for the current thread.
    package static var isOnDuty: Bool {
        guard let key else { return false }
        return pthread_getspecific(key) != nil
    }

    /// Marks the current thread as one that others wait for.
    static func begin() {
        // Any non-null pointer marks the thread.
        if let key { pthread_setspecific(key, UnsafeMutableRawPointer(bitPattern: 1)) }
    }
}
