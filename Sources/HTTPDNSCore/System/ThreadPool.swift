// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc
internal import HTTPDNSPrimitives

/// A pool for blocking work of many owners on a limited number of threads, which end when no work waits.
package final class ThreadPool: Sendable {
    private struct State: Sendable {
        var waiting: [@Sendable () -> Void] = []
        var threads = 0
    }

    /// The pool for the files of request and response bodies, of all clients of the process.
    ///
    /// A thread is busy for one read or one write of at most 256 KiB, and never waits for a transfer. 16 threads keep a local
    /// disk busy; a process with a few hundred concurrent downloads stays far from its limit of threads. Tests set another one
    /// for their tasks.
    @TaskLocal package static var files = ThreadPool(limit: 16)

    private let limit: Int
    private let state = Lock(State())
    private let startThread: SerialWork.StartThread

    /// - Parameters:
    ///   - limit: The maximum number of threads, at least 1.
    ///   - startThread: A function that runs its argument on a new thread, or returns false.
    package init(limit: Int, startThread: @escaping SerialWork.StartThread = DetachedThread.start) {
        self.limit = max(1, limit)
        self.startThread = startThread
    }

    /// The number of pieces of work that wait for a thread.
    package var waitingCount: Int { state.withLock { $0.waiting.count } }

    /// Runs `work` on a thread of the pool, after all earlier work.
    /// - Returns: False when the pool has no thread and the system has none left; `work` does not run then.
    package func start(_ work: @escaping @Sendable () -> Void) -> Bool {
        state.withLock { state in
            // Under the lock, so that there is always a thread that runs the work. A thread starts in some 20 microseconds.
            if state.threads < limit {
                if startThread({ [self] in run() }) {
                    state.threads += 1
                } else if state.threads == 0 {
                    return false
                }
            }
            state.waiting.append(work)
            return true
        }
    }

    private func run() {
        while let work = next() { work() }
    }

    private func next() -> (@Sendable () -> Void)? {
        state.withLock { state in
            if !state.waiting.isEmpty { return state.waiting.removeFirst() }
            state.threads -= 1
            return nil
        }
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
