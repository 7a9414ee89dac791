// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: Copyright the swift-httpdns contributors

import Testing

@testable import HTTPDNSCore

struct LookUpPoolTests {
    private func pool(threads: Int = 2, growingTo maximum: Int? = nil, abandoned: Int = 1) -> LookupPool {
        LookupPool(threads: threads, maximumThreads: maximum ?? threads, maximumAbandoned: abandoned)
    }

    @Test("Threads start on demand up to their limit, and further lookups wait")
    func demand() {
        var pool = pool()
        #expect(pool.submit(1) == .startThread)
        #expect(pool.next(after: nil) == 1)
        #expect(pool.submit(2) == .startThread)
        #expect(pool.next(after: nil) == 2)
        for id in 3...20_000 { #expect(pool.submit(LookupPool.ID(id)) == .none) }
        #expect(pool.activeThreads == 2 && pool.queuedLookUps == 19_998)
    }

    @Test("Threads double while lookups wait, up to the maximum and the number waiting")
    func growth() {
        var pool = pool(threads: 2, growingTo: 7)
        for id in 1...8 as ClosedRange<LookupPool.ID> {
            if pool.submit(id) == .startThread { _ = pool.next(after: nil) }
        }
        #expect(pool.mayGrow && pool.hasWaited(since: 3) && !pool.hasWaited(since: 2))
        #expect(pool.grow() == 2)
        #expect((pool.next(after: nil), pool.next(after: nil)) == (3, 4))
        #expect(pool.grow() == 3)
        #expect((5...7).map { _ in pool.next(after: nil) } == [5, 6, 7])
        #expect(!pool.mayGrow && pool.grow() == 0)
        #expect(pool.next(after: 1) == 8)
        for id in 2...8 as ClosedRange<LookupPool.ID> { #expect(pool.next(after: id) == nil) }
        #expect(pool.activeThreads == 0)
    }

    @Test("A thread takes waiting lookups in order, and ends when none is left")
    func end() {
        var pool = pool(threads: 1)
        _ = pool.submit(1)
        #expect(pool.next(after: nil) == 1)
        _ = pool.submit(2)
        _ = pool.submit(3)
        #expect(pool.next(after: 1) == 2)
        #expect(pool.next(after: 2) == 3)
        #expect(pool.next(after: 3) == nil)
        #expect(pool.activeThreads == 0)
        #expect(pool.submit(4) == .startThread)
    }

    @Test("An abandoned lookup that waits never runs")
    func abandonQueued() {
        var pool = pool(threads: 1)
        _ = pool.submit(1)
        _ = pool.next(after: nil)
        _ = pool.submit(2)
        _ = pool.submit(3)
        #expect(pool.abandon(2) == .none)
        #expect(pool.queuedLookUps == 1)
        #expect(pool.next(after: 1) == 3)
    }

    @Test("An abandoned lookup frees its slot, and its thread ends when it returns")
    func abandonRunning() {
        var pool = pool(threads: 1)
        _ = pool.submit(1)
        _ = pool.next(after: nil)
        _ = pool.submit(2)
        #expect(pool.abandon(1) == .startThread)
        #expect(pool.abandon(1) == .none)
        #expect(pool.next(after: nil) == 2)
        #expect((pool.activeThreads, pool.abandonedThreads) == (1, 1))
        #expect(pool.next(after: 1) == nil)
        #expect((pool.activeThreads, pool.abandonedThreads) == (1, 0))
    }

    @Test("A thread that returns from an abandoned lookup ends when there is no work")
    func comeBack() {
        var pool = pool(threads: 1)
        _ = pool.submit(1)
        _ = pool.next(after: nil)
        #expect(pool.abandon(1) == .none)
        #expect(pool.activeThreads == 0)
        #expect(pool.next(after: 1) == nil)
        #expect((pool.activeThreads, pool.abandonedThreads) == (0, 0))
    }

    @Test("Threads are bounded by workers plus abandoned threads, whatever hangs")
    func bound() {
        var pool = pool(threads: 2, abandoned: 3)
        var threads = 0
        var hanging: [LookupPool.ID] = []
        func start(_ pool: inout LookupPool) {
            threads += 1
            if let id = pool.next(after: nil) { hanging.append(id) }
        }
        for id in 1...100 as ClosedRange<LookupPool.ID> {
            if pool.submit(id) == .startThread { start(&pool) }
            if hanging.contains(id), pool.abandon(id) == .startThread { start(&pool) }
        }
        #expect(threads == 5)
        #expect((pool.activeThreads, pool.abandonedThreads) == (2, 3))

        // All come back: what waits is run, and every thread ends.
        var running = hanging
        var done: Set<LookupPool.ID> = []
        while let id = running.popLast() {
            done.insert(id)
            if let next = pool.next(after: id) { running.append(next) }
        }
        #expect(done.count == 100)
        #expect((pool.activeThreads, pool.abandonedThreads, pool.queuedLookUps) == (0, 0, 0))
    }

    @Test("A thread that returns makes room for a stuck one")
    func stuck() {
        var pool = pool(threads: 1, abandoned: 1)
        _ = pool.submit(1)
        _ = pool.next(after: nil)
        _ = pool.abandon(1)
        #expect(pool.submit(2) == .startThread)
        _ = pool.next(after: nil)
        #expect(pool.abandon(2) == .none)
        #expect((pool.activeThreads, pool.abandonedThreads) == (1, 1))
        #expect(pool.submit(3) == .none)
        // 1 comes back: 2 hangs in its place, and 3 is run.
        #expect(pool.next(after: 1) == 3)
        #expect((pool.activeThreads, pool.abandonedThreads) == (1, 1))
        #expect(pool.next(after: 3) == nil)
        #expect(pool.next(after: 2) == nil)
        #expect((pool.activeThreads, pool.abandonedThreads) == (0, 0))
    }

    @Test("Without any thread all waiting lookups are returned")
    func noThread() {
        var pool = pool(threads: 2)
        _ = pool.submit(1)
        #expect(pool.threadDidNotStart() == [1])
        #expect(pool.activeThreads == 0)
        _ = pool.submit(2)
        _ = pool.next(after: nil)
        _ = pool.submit(3)
        #expect(pool.threadDidNotStart() == [])
        #expect(pool.next(after: 2) == 3)
    }

    @Test("The queue keeps its order and its memory through any removals")
    func queue() {
        var queue = ArrivalQueue<LookupPool.ID>()
        for round in 0..<100 as Range<LookupPool.ID> {
            for id in 0..<10 as Range<LookupPool.ID> { queue.append(round * 10 + id) }
            for id in [1, 3, 5, 7, 9] as [LookupPool.ID] { queue.remove(round * 10 + id) }
            for id in [0, 2, 4, 6, 8] as [LookupPool.ID] { #expect(queue.popFirst() == round * 10 + id) }
        }
        #expect(queue.popFirst() == nil)
        #expect(queue.count == 0)
    }
}
