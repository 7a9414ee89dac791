// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

#if TSAN
internal import Glibc
#else
public import Synchronization
#endif

/// The only lock type of this package: a value that is accessible only while the lock is held.
///
/// Never run a caller's code or do I/O inside `withLock`: let the state return an action and run it afterwards. To release the
/// last reference to a caller's object is to run its `deinit`: see `change(_:)`.
///
/// A closure that is read more than once is kept in a structure. As the value itself, or in an optional, it gets two more thunks
/// with each access, since the value is passed `inout` as a generic type (Swift 6.3), until a call of it overflows the stack.
package typealias Lock<Value: ~Copyable> = _Lock<Value>

/// A lock around a value. Not for use outside this package.
///
/// It is public only because the compiler specializes generic code across modules for public declarations alone. Called in its
/// unspecialized form, a lock costs several times as much.
///
/// It wraps `Synchronization.Mutex`. In thread-sanitizer builds (`-Xswiftc -DTSAN`) it is a pthread mutex: the sanitizer does
/// not see the futex behind `Mutex` on Linux, and would report races that do not exist.
public struct _Lock<Value: ~Copyable>: ~Copyable, Sendable {
    #if TSAN
    /// Sharing is safe: `value` is accessed only between `pthread_mutex_lock` and `pthread_mutex_unlock`.
    private final class Storage: @unchecked Sendable {
        let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
        nonisolated(unsafe) var value: Value

        init(_ value: consuming sending Value) {
            self.value = value
            pthread_mutex_init(mutex, nil)
        }

        deinit {
            pthread_mutex_destroy(mutex)
            mutex.deallocate()
        }
    }

    private let storage: Storage

    /// Creates a lock around a value.
    public init(_ value: consuming sending Value) {
        storage = Storage(value)
    }

    /// Runs `body` with the value while the lock is held.
    public borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        pthread_mutex_lock(storage.mutex)
        defer { pthread_mutex_unlock(storage.mutex) }
        return try body(&storage.value)
    }
    #else
    @usableFromInline
    let mutex: Mutex<Value>

    /// Creates a lock around a value.
    @inlinable
    public init(_ value: consuming sending Value) {
        mutex = Mutex(value)
    }

    /// Runs `body` with the value while the lock is held.
    @inlinable
    public borrowing func withLock<Result: ~Copyable, Failure: Error>(
        _ body: (inout sending Value) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        try mutex.withLock(body)
    }
    #endif
}

extension _Lock where Value: Sendable {
    /// Changes the value, and releases what it no longer has after the lock is released.
    ///
    /// It is for values with references to objects of callers, whose `deinit` may use this lock. A change copies the collections
    /// that it changes, so values that change often return what they drop instead.
    package borrowing func change<Result: Sendable>(_ body: (inout Value) -> Result) -> Result {
        let (result, former): (Result, Value) = withLock { value in
            let former = value
            return (body(&value), former)
        }
        return withExtendedLifetime(former) { result }
    }
}
