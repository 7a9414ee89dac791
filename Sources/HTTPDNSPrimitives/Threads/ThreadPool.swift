// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// A pool for blocking work of many owners on a limited number of threads. A thread without work waits a few seconds for more.
package final class ThreadPool: Sendable {
    /// A function that runs its argument on a new thread, or returns false.
    package typealias StartThread = @Sendable (@escaping @Sendable () -> Void) -> Bool

    private struct State: Sendable {
        var waiting: [@Sendable () -> Void] = []
        var threads = 0
        /// The number of threads that wait for work.
        var idle = 0
    }

    /// The pool for the files of request and response bodies, of all clients of the process. The folder of a response cache
    /// has a pool of its own.
    ///
    /// A thread is busy for one read or one write of at most 256 KiB, and never waits for a transfer. 16 threads keep a local
    /// disk busy; a process with a few hundred concurrent downloads stays far from its limit of threads. Tests set another one
    /// for their tasks.
    @TaskLocal package static var files = ThreadPool(limit: 16)

    /// The pool for the files of settings: secrets, certificates, authorities. Each is read by one thread at a time
    /// (``SharedRead``), so a file system that hangs takes as many threads as there are files on it.
    package static let reads = ThreadPool(limit: 64)

    private let limit: Int
    private let maximumWaiting: Int
    private let rest: Duration
    private let state = Monitor(State())
    private let startThread: StartThread

    /// - Parameters:
    ///   - limit: The maximum number of threads, at least 1.
    ///   - maximumWaiting: The most pieces of work that wait for a thread. Threads that hang would let them grow.
    ///   - rest: The time that a thread waits for more work before it ends. Starting one costs as much as a write of 25 KiB.
    ///   - startThread: A function that runs its argument on a new thread, or returns false.
    package init(
        limit: Int,
        maximumWaiting: Int = .max,
        rest: Duration = .seconds(5),
        startThread: @escaping StartThread = DetachedThread.start
    ) {
        self.limit = max(1, limit)
        self.maximumWaiting = maximumWaiting
        self.rest = rest
        self.startThread = startThread
    }

    /// The number of pieces of work that wait for a thread.
    package var waitingCount: Int { state.read { $0.waiting.count } }

    /// The number of threads that do not wait for work.
    package var threadsAtWork: Int { state.read { $0.threads - $0.idle } }

    /// Runs `work` on a thread of the pool, after all earlier work.
    /// - Returns: False when the pool has no thread and the system has none left, and when too much work waits; `work` does
    ///   not run then.
    package func start(_ work: @escaping @Sendable () -> Void) -> Bool {
        var isTaken = true
        state.changeWakingOne { state in
            guard state.waiting.count < maximumWaiting else {
                isTaken = false
                return false
            }
            // Each piece of work that waits takes one of the idle threads.
            let hasIdleThread = state.idle > state.waiting.count
            // Under the lock, so that there is always a thread that runs the work. A thread starts in some 20 microseconds.
            if !hasIdleThread, state.threads < limit {
                if startThread({ [self] in run() }) {
                    state.threads += 1
                } else if state.threads == 0 {
                    isTaken = false
                    return false
                }
            }
            state.waiting.append(work)
            return hasIdleThread
        }
        return isTaken
    }

    private func run() {
        while let work = next() { work() }
    }

    private func next() -> (@Sendable () -> Void)? {
        var isIdle = false
        let work = state.wait(until: SystemTimeSource().now() + rest) { state -> (@Sendable () -> Void)? in
            guard state.waiting.isEmpty else {
                if isIdle { state.idle -= 1 }
                return state.waiting.removeFirst()
            }
            if !isIdle { state.idle += 1 }
            isIdle = true
            return nil
        } orElse: { state in
            // Still under the lock: no work can arrive for a thread that ends.
            state.idle -= 1
            state.threads -= 1
        }
        return work
    }
}

/// A dedicated thread for blocking calls, outside Swift's cooperative pool, which has one thread per core.
package enum DetachedThread {
    /// Name service plug-ins run on this stack; glibc's own resolver needs less than 100 KiB of it.
    private static let stackBytes = 512 * 1024

    private final class Body: Sendable {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Runs `body` on a new thread; false when the system has no thread left.
    ///
    /// The thread blocks all signals, so that a program's handlers run on its own threads.
    package static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
        var attributes = pthread_attr_t()
        guard pthread_attr_init(&attributes) == 0 else { return false }
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        pthread_attr_setstacksize(&attributes, stackBytes)

        var all = sigset_t()
        var previous = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &previous)
        defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }

        let box = Unmanaged.passRetained(Body(body))
        var thread = pthread_t()
        let result = pthread_create(&thread, &attributes, { Self.enter($0) }, box.toOpaque())
        guard result == 0 else {
            box.release()
            return false
        }
        return true
    }

    private static func enter(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        guard let argument else { return nil }
        Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
        return nil
    }
}
