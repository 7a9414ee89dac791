// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

internal import Glibc

/// A pool for blocking work of many owners on a limited number of threads. A thread without work waits a few seconds for more.
/// With one thread it is a queue, in the order of arrival.
package final class ThreadPool: Sendable {
    /// A function that runs its argument on a new thread, or returns false.
    package typealias StartThread = @Sendable (@escaping @Sendable () -> Void) -> Bool

    private typealias Work = @Sendable () -> Void

    private struct State: Sendable {
        /// The work that waits: ``next``, the first of it last, and then ``later``. Taking the first of a long array would move
        /// all others, under the lock.
        var next: [Work] = []
        var later: [Work] = []
        var waitingCount: Int { next.count + later.count }
        /// The work that has a time, the earliest first.
        var timed: [(number: UInt64, deadline: MonotonicTime, work: Work)] = []
        var lastNumber: UInt64 = 0
        var threads = 0
        /// The number of threads that wait for work.
        var idle = 0
        /// Whether threads without work end immediately.
        var isLeaving = false

        mutating func takeFirst() -> Work? {
            if next.isEmpty {
                swap(&next, &later)
                next.reverse()
            }
            return next.popLast()
        }
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

    /// Creates a pool of one named thread.
    /// - Parameters:
    ///   - name: At most 15 bytes.
    ///   - prepare: Called on the thread before its first work.
    package convenience init(
        named name: String,
        rest: Duration = .seconds(5),
        prepare: @escaping @Sendable () -> Void = {}
    ) {
        self.init(limit: 1, rest: rest) { body in
            // The program's code may run on it.
            DetachedThread.start(named: name, hasWholeStack: true) {
                prepare()
                body()
            }
        }
    }

    /// The number of pieces of work that wait for a thread.
    package var waitingCount: Int { state.read { $0.waitingCount } }

    /// The number of threads that do not wait for work.
    package var threadsAtWork: Int { state.read { $0.threads - $0.idle } }

    /// Runs `work` on a thread of the pool, after all earlier work.
    /// - Returns: False when the pool has no thread and the system has none left, and when too much work waits; `work` does
    ///   not run then.
    package func start(_ work: @escaping @Sendable () -> Void) -> Bool {
        var isTaken = false
        state.changeWakingOne { state in
            guard state.waitingCount < maximumWaiting else { return false }
            state.isLeaving = false
            // Each piece of work that waits takes one of the idle threads.
            let hasIdleThread = state.idle > state.waitingCount
            isTaken = hasIdleThread || hasThread(&state)
            if isTaken { state.later.append(work) }
            return hasIdleThread
        }
        return isTaken
    }

    /// Runs `work` immediately, on the calling thread, if ``start(_:)`` refuses it.
    package func run(_ work: @escaping @Sendable () -> Void) {
        if !start(work) { work() }
    }

    /// Runs `work` on a thread of the pool at `deadline` or later.
    /// - Returns: A number for ``cancel(_:)``; `nil` when the pool has no thread and the system has none left.
    package func start(at deadline: MonotonicTime, _ work: @escaping @Sendable () -> Void) -> UInt64? {
        state.change { state in
            state.isLeaving = false
            guard state.threads > 0 || hasThread(&state) else { return nil }
            state.lastNumber += 1
            let index = state.timed.firstIndex { $0.deadline > deadline } ?? state.timed.endIndex
            state.timed.insert((state.lastNumber, deadline, work), at: index)
            return state.lastNumber
        }
    }

    /// Cancels work that has a time, if it has not run yet.
    package func cancel(_ number: UInt64) {
        state.change { $0.timed.removeAll { $0.number == number } }
    }

    /// Lets the threads end as soon as they have no work. They start again with new work.
    package func leave() {
        state.change { $0.isLeaving = true }
    }

    /// Starts a thread if there may be another one.
    /// - Returns: Whether there is one at all. Under the lock, so that there is always a thread that runs the work. A thread
    ///   starts in some 20 microseconds.
    private func hasThread(_ state: inout State) -> Bool {
        if state.threads < limit, startThread({ [self] in while let work = next() { work() } }) { state.threads += 1 }
        return state.threads > 0
    }

    private func next() -> Work? {
        let restEnd = SystemTimeSource().now() + rest
        var (isIdle, isOver) = (false, false)
        while !isOver {
            let work = state.wait { state in
                state.timed.first?.deadline ?? (state.isLeaving ? MonotonicTime(nanoseconds: .min) : restEnd)
            } for: { state -> Work? in
                let isDue = state.timed.first.map { $0.deadline <= SystemTimeSource().now() } ?? false
                if state.waitingCount == 0, !isDue {
                    if !isIdle { state.idle += 1 }
                    isIdle = true
                    return nil
                }
                if isIdle { state.idle -= 1 }
                return isDue ? state.timed.removeFirst().work : state.takeFirst()
            } orElse: { state in
                guard state.timed.isEmpty else { return }
                // Still under the lock: no work can arrive for a thread that ends.
                state.idle -= 1
                state.threads -= 1
                isOver = true
            }
            if let work { return work }
        }
        return nil
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
    package static func start(_ body: @escaping @Sendable () -> Void) -> Bool { start(named: nil, body) }

    /// Runs `body` on a new thread; false when the system has no thread left.
    ///
    /// The thread blocks all signals but those of its own faults, so that a program's handlers run on its own threads. A blocked
    /// fault would end the process without a hint of its location.
    /// - Parameters:
    ///   - name: The kernel keeps 15 bytes of it.
    ///   - hasWholeStack: Whether its stack has the system's own size, usually 8 MiB, and not half of one.
    package static func start(
        named name: String?,
        hasWholeStack: Bool = false,
        _ body: @escaping @Sendable () -> Void
    ) -> Bool {
        var attributes = pthread_attr_t()
        guard pthread_attr_init(&attributes) == 0 else { return false }
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        if !hasWholeStack { pthread_attr_setstacksize(&attributes, stackBytes) }

        var blocked = sigset_t()
        var previous = sigset_t()
        sigfillset(&blocked)
        for fault in [SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGTRAP, SIGABRT] { sigdelset(&blocked, fault) }
        pthread_sigmask(SIG_SETMASK, &blocked, &previous)
        defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }

        let named = Body {
            if let name { _ = setName?(pthread_self(), String(decoding: name.utf8.prefix(15), as: UTF8.self)) }
            body()
        }
        let box = Unmanaged.passRetained(named)
        var thread = pthread_t()
        let result = pthread_create(&thread, &attributes, { Self.enter($0) }, box.toOpaque())
        guard result == 0 else {
            box.release()
            return false
        }
        return true
    }

    /// `pthread_setname_np`, which Swift's module of the C library does not have.
    private static let setName: (@convention(c) (pthread_t, UnsafePointer<CChar>) -> Int32)? =
        dlsym(nil, "pthread_setname_np").map {
            unsafeBitCast($0, to: (@convention(c) (pthread_t, UnsafePointer<CChar>) -> Int32).self)
        }

    private static func enter(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
        guard let argument else { return nil }
        Unmanaged<Body>.fromOpaque(argument).takeRetainedValue().run()
        return nil
    }
}
