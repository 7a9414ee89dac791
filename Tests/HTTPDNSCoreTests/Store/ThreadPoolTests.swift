// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Dispatch
import Glibc
import Testing

@testable import HTTPDNSCore

struct ThreadPoolTests {
    /// Threads that a test starts by hand.
    private final class Threads: Sendable {
        private let state = Lock((bodies: [@Sendable () -> Void](), allowed: 0, asked: 0))

        init(allowed: Int) { state.withLock { $0.allowed = allowed } }

        var asked: Int { state.withLock { $0.asked } }

        func start(_ body: @escaping @Sendable () -> Void) -> Bool {
            state.withLock { state in
                state.asked += 1
                guard state.allowed > 0 else { return false }
                state.allowed -= 1
                state.bodies.append(body)
                return true
            }
        }

        func allow(_ count: Int) { state.withLock { $0.allowed += count } }

        /// Lets the oldest thread run to its end.
        func runFirst() { state.withLock { $0.bodies.removeFirst() }() }
    }

    @Test("Work starts a thread each up to the limit, and waits beyond it")
    func limit() {
        let threads = Threads(allowed: .max)
        let pool = ThreadPool(limit: 2, rest: .zero, startThread: threads.start)
        let done = Lock<[Int]>([])
        for number in 0..<5 { #expect(pool.start { done.withLock { $0.append(number) } }) }
        #expect(threads.asked == 2 && pool.waitingCount == 5)
        threads.runFirst()
        #expect(done.withLock { $0 } == [0, 1, 2, 3, 4])
        threads.runFirst()
        // Both have ended: the next work has a thread of its own.
        #expect(pool.start {} && threads.asked == 3)
    }

    /// Moving all that waits for each piece would take minutes.
    @Test("A long backlog is worked off in order, in time that grows with its length", .timeLimit(.minutes(1)))
    func backlog() {
        let threads = Threads(allowed: 1)
        let pool = ThreadPool(limit: 1, rest: .zero, startThread: threads.start)
        let last = Lock(0)
        for number in 1...400_000 { #expect(pool.start { last.withLock { $0 += $0 == number - 1 ? 1 : 0 } }) }
        threads.runFirst()
        #expect(last.withLock { $0 } == 400_000)
    }

    @Test("A thread that has ended its work serves the next one, and no other is started")
    func kept() async {
        let started = Lock(0)
        let pool = ThreadPool(limit: 16, rest: .seconds(600)) { body in
            started.withLock { $0 += 1 }
            return DetachedThread.start(body)
        }
        for _ in 0..<200 {
            await withCheckedContinuation { continuation in
                // The thread waits for work again some microseconds after it has resumed this task.
                while pool.threadsAtWork > 0 { sched_yield() }
                _ = pool.start { continuation.resume() }
            }
        }
        #expect(started.withLock { $0 } == 1)
    }

    @Test("A system without threads refuses work only while the pool has none")
    func noThread() {
        let threads = Threads(allowed: 1)
        let pool = ThreadPool(limit: 2, rest: .zero, startThread: threads.start)
        let done = Lock(0)
        #expect(pool.start { done.withLock { $0 += 1 } })
        #expect(pool.start { done.withLock { $0 += 1 } } && threads.asked == 2)
        threads.runFirst()
        #expect(done.withLock { $0 } == 2)
        #expect(!pool.start { done.withLock { $0 += 1 } } && pool.waitingCount == 0)
        threads.allow(1)
        #expect(pool.start { done.withLock { $0 += 1 } })
        threads.runFirst()
        #expect(done.withLock { $0 } == 3)
    }

    @Test("Work beyond the limit of waiting work is refused until a thread has taken some")
    func maximumWaiting() {
        let threads = Threads(allowed: .max)
        let pool = ThreadPool(limit: 1, maximumWaiting: 2, rest: .zero, startThread: threads.start)
        let done = Lock(0)
        for isTaken in [true, true, false] { #expect(pool.start { done.withLock { $0 += 1 } } == isTaken) }
        threads.runFirst()
        #expect(done.withLock { $0 } == 2 && pool.start {})
    }
}
