// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// A value that threads can wait for.
///
/// Safe to share: `value` is read and written only while `mutex` is held, and the two pointers never change.
package final class Monitor<Value: Sendable>: @unchecked Sendable {
    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var value: Value

    package init(_ value: Value) {
        self.value = value
        pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        pthread_condattr_init(&attributes)
        // The default, the calendar clock, may be set during a wait.
        pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        pthread_cond_init(condition, &attributes)
        pthread_condattr_destroy(&attributes)
    }

    deinit {
        pthread_cond_destroy(condition)
        pthread_mutex_destroy(mutex)
        condition.deallocate()
        mutex.deallocate()
    }

    /// Changes the value, and wakes all waiting threads to check it.
    package func change<Result>(_ body: (inout Value) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer {
            pthread_cond_broadcast(condition)
            pthread_mutex_unlock(mutex)
        }
        return body(&value)
    }

    /// Changes the value, and wakes one waiting thread if `body` returns true: any of them can do what the change asks for.
    func changeWakingOne(_ body: (inout Value) -> Bool) {
        pthread_mutex_lock(mutex)
        if body(&value) { pthread_cond_signal(condition) }
        pthread_mutex_unlock(mutex)
    }

    /// Reads the value.
    package func read<Result>(_ body: (Value) -> Result) -> Result {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return body(value)
    }

    /// Sleeps until `body` returns a result for the value.
    /// - Parameter expire: Called, in the same critical section as the last `body`, when `deadline` comes first.
    /// - Returns: The result; `nil` when `deadline` came first.
    package func wait<Result>(
        until deadline: MonotonicTime,
        for body: (inout Value) -> Result?,
        orElse expire: (inout Value) -> Void = { _ in }
    ) -> Result? {
        wait(until: { _ in deadline }, for: body, orElse: expire)
    }

    /// Sleeps as the other function does, until a time that each change of the value may move.
    func wait<Result>(
        until deadline: (Value) -> MonotonicTime,
        for body: (inout Value) -> Result?,
        orElse expire: (inout Value) -> Void
    ) -> Result? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        while true {
            if let result = body(&value) { return result }
            let left = deadline(value) - SystemTimeSource().now()
            guard left > .zero else {
                expire(&value)
                return nil
            }
            sleep(for: left)
        }
    }

    /// Sleeps on the condition. The clock of ``SystemTimeSource`` continues while the machine sleeps, and a condition's does
    /// not. The remaining time is therefore computed again after each wake-up, which happens at least once an hour.
    private func sleep(for duration: Duration) {
        let nanoseconds = min(duration, .seconds(3600)).wholeNanoseconds
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        let sum = Int64(time.tv_nsec) + nanoseconds
        time.tv_sec += Int(sum / 1_000_000_000)
        time.tv_nsec = Int(sum % 1_000_000_000)
        pthread_cond_timedwait(condition, mutex, &time)
    }
}
