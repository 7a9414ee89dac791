#if TSAN
    #if canImport(Glibc)
        package import Glibc
    #elseif canImport(Musl)
        package import Musl
    #else
        package import Darwin
    #endif
#else
    package import Synchronization
#endif

/// The one lock of this package: a value that can be reached only while the lock is held.
///
/// It stands for `Synchronization.Mutex`. In thread-sanitizer builds (`-Xswiftc -DTSAN`) it is a pthread mutex, because
/// the sanitizer does not see the futex behind `Mutex` on Linux and reports races that do not exist.
/// Never run a caller's code or do I/O inside ``withLock(_:)``: let the state return an action and run it afterwards.
package struct Lock<Value: ~Copyable>: ~Copyable, Sendable {
    #if TSAN
        private let storage: Storage

        /// Safe to share: `value` is read and written only between `pthread_mutex_lock` and `pthread_mutex_unlock`.
        private final class Storage: @unchecked Sendable {
            let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
            var value: Value
            init(_ value: consuming sending Value) {
                self.value = value
                pthread_mutex_init(mutex, nil)
            }
            deinit {
                pthread_mutex_destroy(mutex)
                mutex.deallocate()
            }
        }

        package init(_ value: consuming sending Value) {
            storage = Storage(value)
        }

        package borrowing func withLock<Result: ~Copyable, Failure: Error>(
            _ body: (inout sending Value) throws(Failure) -> sending Result
        ) throws(Failure) -> sending Result {
            pthread_mutex_lock(storage.mutex)
            defer { pthread_mutex_unlock(storage.mutex) }
            return try body(&storage.value)
        }
    #else
        @usableFromInline
        package let mutex: Mutex<Value>

        @inlinable
        package init(_ value: consuming sending Value) {
            mutex = Mutex(value)
        }

        /// Runs `body` with the value while the lock is held.
        @inlinable
        package borrowing func withLock<Result: ~Copyable, Failure: Error>(
            _ body: (inout sending Value) throws(Failure) -> sending Result
        ) throws(Failure) -> sending Result {
            try mutex.withLock(body)
        }
    #endif
}
